//! Arguments that come from the context of a call.

#![allow(clippy::unwrap_used)]

use switchboard::{Call, Code, Context, ErrorObject, FromContext, Json, Outcome, Router, Service, service};

/// Who calls.
struct User(String);

impl FromContext for User {
    fn missing() -> ErrorObject {
        ErrorObject::unauthorized()
    }
}

/// Something that a layer should attach.
struct Pool(u32);

impl FromContext for Pool {}

struct Desk;

#[service]
impl Desk {
    fn whoami(&self, user: &User, suffix: String) -> String {
        format!("{}{suffix}", user.0)
    }

    fn greet(&self, user: Option<&User>, cx: &Context, _: &Context) -> String {
        format!("{} over {}", user.map_or("nobody", |user| user.0.as_str()), cx.origin().transport)
    }

    async fn later<'a>(&self, n: u32, pool: &'a Pool, user: Option<&'a User>) -> u32 {
        tokio::task::yield_now().await;
        n + pool.0 + u32::from(user.is_some())
    }
}

#[service(namespace = "contract")]
trait Contract {
    async fn whoami(&self, user: &User) -> String;
}

impl Contract for Desk {
    async fn whoami(&self, user: &User) -> String {
        user.0.clone()
    }
}

async fn ask(method: &'static str, params: &str, cx: Context) -> Result<String, Code> {
    let router = Router::builder().add(Desk).add(ContractService(Desk)).build().unwrap();
    let params = Json::parse(params.to_owned()).unwrap();
    match router.call(&Call::new(method, Some(params)).with_context(cx)).await.outcome {
        Outcome::Value(json) => Ok(json.to_string()),
        Outcome::Error(error) => Err(error.code),
        Outcome::Stream(_) => panic!("{method} gives no stream"),
    }
}

fn full() -> Context {
    let mut cx = Context::default();
    cx.insert(User("ann".to_owned()));
    cx.insert(Pool(10));
    cx
}

#[tokio::test]
async fn a_reference_is_what_was_attached_to_the_context() {
    assert_eq!(ask("whoami", r#"["!"]"#, full()).await.as_deref(), Ok("\"ann!\""));
    assert_eq!(ask("greet", "[]", full()).await.as_deref(), Ok("\"ann over inside\""));
    assert_eq!(ask("later", r#"{"n": 1}"#, full()).await.as_deref(), Ok("12"));
    assert_eq!(ask("contract/whoami", "[]", full()).await.as_deref(), Ok("\"ann\""));
}

#[tokio::test]
async fn what_is_absent_is_none_or_the_error_of_its_type() {
    assert_eq!(ask("greet", "[]", Context::default()).await.as_deref(), Ok("\"nobody over inside\""));
    assert_eq!(ask("whoami", r#"["!"]"#, Context::default()).await, Err(Code::UNAUTHORIZED));
    assert_eq!(ask("contract/whoami", "[]", Context::default()).await, Err(Code::UNAUTHORIZED));
    assert_eq!(ask("later", "[1]", Context::default()).await, Err(Code::INTERNAL_ERROR));
}

#[test]
fn callers_do_not_see_what_comes_from_the_context() {
    let described = Router::builder().add(Desk).build().unwrap().describe();
    let params = |name: &str| {
        let method = described.methods.iter().find(|method| method.name == name).unwrap();
        method.params.iter().flatten().map(|param| param.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!((params("whoami"), params("greet")), (vec!["suffix".to_owned()], vec![]));
}
