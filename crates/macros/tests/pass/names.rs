//! Names that the expansion uses too, or that mean something else in most programs.

#![allow(non_camel_case_types, unused)]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard::{Peer, Router, service};

#[service]
trait T {
    fn t(&self, call: u8, cx: u8, this: u8, params: u8, peer: u8, schemas: u8, arguments: u8) -> u8;
}

#[service]
trait E {
    async fn e(&self, self_: u8, error: u8, read: u8, value: u8, values: u8) -> u8;
}

#[service]
trait S {
    fn methods(&self) -> u8;
    fn shared_methods(&self) -> u8;
    fn clone(&self) -> u8;
}

#[service]
trait Service {
    fn call(&self);
}

struct All;

impl T for All {
    fn t(&self, call: u8, cx: u8, this: u8, params: u8, peer: u8, schemas: u8, arguments: u8) -> u8 {
        call + cx + this + params + peer + schemas + arguments
    }
}

impl E for All {
    async fn e(&self, self_: u8, error: u8, read: u8, value: u8, values: u8) -> u8 {
        self_ + error + read + value + values
    }
}

impl S for All {
    fn methods(&self) -> u8 {
        1
    }

    fn shared_methods(&self) -> u8 {
        2
    }

    fn clone(&self) -> u8 {
        3
    }
}

impl Service for All {
    fn call(&self) {}
}

/// Types of the program's own with the names of others.
mod shadowed {
    use super::*;

    macro_rules! own {
        ($($name:ident)*) => {
            $(
                #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
                pub struct $name {
                    pub a: u8,
                }
            )*
        };
    }

    own! { String Vec Option Result Json Call Reply Context Method Box Arc Ok Err Some None }

    pub struct Own;

    #[service(namespace = "own")]
    impl Own {
        fn string(&self, a: String) -> String {
            a
        }

        fn vec(&self, a: Vec) -> Vec {
            a
        }

        fn option(&self, a: Option) -> Option {
            a
        }

        fn result(&self, a: Result) -> Result {
            a
        }

        fn json(&self, a: Json, b: Call, c: Context) -> (Reply, Method) {
            (Reply { a: a.a + b.a + c.a }, Method { a: 0 })
        }

        async fn prelude(&self, a: Ok, b: Err, c: Some, d: None, e: Box, f: Arc) -> u8 {
            a.a + b.a + c.a + d.a + e.a + f.a
        }
    }

    #[service(namespace = "own_trait")]
    pub trait Owned {
        fn result(&self, a: Result, b: Option, c: Context) -> Result;
        async fn option(&self, a: Option) -> Option;
    }

    impl Owned for Own {
        fn result(&self, a: Result, b: Option, c: Context) -> Result {
            Result { a: a.a + b.a + c.a }
        }

        async fn option(&self, a: Option) -> Option {
            a
        }
    }
}

/// Well-known types by other names.
mod renamed {
    use switchboard::ErrorObject;

    use super::*;

    type Maybe<T> = Option<T>;
    type Answer<T> = Result<T, ErrorObject>;
    type Nothing = Answer<()>;

    pub struct Renamed;

    #[service(namespace = "renamed")]
    impl Renamed {
        fn maybe(&self, a: Maybe<u8>) -> Answer<u8> {
            a.ok_or_else(|| ErrorObject::validation_failed("a is missing"))
        }

        async fn nothing(&self) -> Nothing {
            Err(ErrorObject::unauthorized())
        }
    }

    #[service(namespace = "renamed_trait")]
    pub trait RenamedToo {
        fn maybe(&self, a: Maybe<u8>) -> bool;
    }

    impl RenamedToo for Renamed {
        fn maybe(&self, a: Maybe<u8>) -> bool {
            a.is_some()
        }
    }
}

/// An error that serde can write must still be an error.
mod writable_error {
    use switchboard::{ErrorObject, IntoError};

    use super::*;

    #[derive(Serialize, JsonSchema)]
    pub struct Failure;

    impl IntoError for Failure {
        fn into_error(self) -> ErrorObject {
            ErrorObject::new(1001, "failed")
        }
    }

    pub type Outcome = Result<u8, Failure>;

    pub struct Failing;

    #[service(namespace = "failing")]
    impl Failing {
        fn fail(&self) -> Outcome {
            Err(Failure)
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    use shadowed::OwnedClient;

    let router = Router::builder()
        .add(TService(All))
        .add(EService(All))
        .add(SService(All))
        .add(ServiceService(All))
        .add(shadowed::Own)
        .add(shadowed::OwnedService(shadowed::Own))
        .add(renamed::Renamed)
        .add(renamed::RenamedTooService(renamed::Renamed))
        .add(writable_error::Failing)
        .build()?;
    let description = router.describe();
    let is_required = |name: &str| {
        let method = description.methods.iter().find(|method| method.name == name).unwrap();
        method.params.as_ref().unwrap()[0].is_required
    };
    assert!(is_required("own/option"));
    assert!(!is_required("renamed/maybe"));

    let peer = Peer::local(router);
    assert_eq!(TClient::new(peer.clone()).t(1, 2, 3, 4, 5, 6, 7).await?, 28);
    assert_eq!(EClient::new(peer.clone()).e(1, 2, 3, 4, 5).await?, 15);
    let s = SClient::new(peer.clone());
    assert_eq!((s.methods().await?, s.shared_methods().await?, s.clone().await?), (1, 2, 3));

    let own = shadowed::Option { a: 7 };
    assert_eq!(OwnedClient::new(peer.clone()).option(own.clone()).await?, own);
    let sum = OwnedClient::new(peer.clone())
        .result(shadowed::Result { a: 1 }, own, shadowed::Context { a: 2 })
        .await?;
    assert_eq!(sum, shadowed::Result { a: 10 });

    assert_eq!(peer.call::<u8>("renamed/maybe", [5]).await?, 5);
    assert!(peer.call::<u8>("renamed/maybe", ()).await.is_err());
    assert!(peer.call::<()>("renamed/nothing", ()).await.is_err());
    assert!(!renamed::RenamedTooClient::new(peer.clone()).maybe(None).await?);
    assert!(peer.call::<u8>("failing/fail", ()).await.is_err());
    Ok(())
}
