//! Errors that are declared once, and read back by callers.

#![allow(clippy::unwrap_used)]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard::{CallError, Code, ErrorObject, FromError, IntoError, Router, RpcError, Stream, service};

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Quota {
    left: u32,
}

/// A variant `Quota` beside a type `Quota`.
#[derive(Debug, PartialEq, RpcError)]
enum Failure {
    #[error_code(1001, "closed")]
    Closed,
    #[error_code(1002, "over quota")]
    Quota(Quota),
    #[error_code(-32010, "no such user")]
    NoSuchUser {
        /// Who was looked for.
        #[serde(rename = "userName")]
        name: String,
        #[allow(dead_code)]
        quota: Option<Quota>,
    },
    #[error_code(1004, "out of range")]
    Range(i64, i64),
    #[error_code(internal)]
    Storage(String),
    #[error_code(internal)]
    Broken,
}

#[derive(Debug, PartialEq, RpcError)]
#[error_code(7, "only one")]
struct Only {
    reason: String,
}

#[derive(Debug, PartialEq, RpcError)]
#[error_code(8, "nothing to say")]
struct Silent;

/// What goes over the wire.
fn wire(error: impl IntoError) -> Value {
    let error = error.into_error();
    let data: Option<Value> = error.data.as_ref().map(|data| data.decode().unwrap());
    json!([error.code.0, error.message, data])
}

#[test]
fn each_variant_has_its_code_message_and_data() {
    assert_eq!(wire(Failure::Closed), json!([1001, "closed", null]));
    assert_eq!(wire(Failure::Quota(Quota { left: 3 })), json!([1002, "over quota", {"left": 3}]));
    let missing = Failure::NoSuchUser { name: "ann".into(), quota: None };
    assert_eq!(wire(missing), json!([-32010, "no such user", {"userName": "ann", "quota": null}]));
    assert_eq!(wire(Failure::Range(1, 5)), json!([1004, "out of range", [1, 5]]));
    assert_eq!(wire(Only { reason: "x".into() }), json!([7, "only one", {"reason": "x"}]));
    assert_eq!(wire(Silent), json!([8, "nothing to say", null]));
}

#[test]
fn an_internal_error_keeps_its_cause() {
    for error in [Failure::Storage("disk 7 is on fire".into()), Failure::Broken] {
        let error = error.into_error();
        assert_eq!(error.code, Code::INTERNAL_ERROR);
        assert!(!format!("{error:?}").contains("disk"), "{error:?}");
        assert_eq!(error.typed::<Failure>(), None);
    }
}

#[test]
fn what_was_written_is_read_back() {
    let errors = || {
        [
            Failure::Closed,
            Failure::Quota(Quota { left: 3 }),
            Failure::NoSuchUser { name: "ann".into(), quota: Some(Quota { left: 0 }) },
            Failure::Range(1, 5),
        ]
    };
    for (error, same) in errors().into_iter().zip(errors()) {
        assert_eq!(error.into_error().typed(), Some(same));
    }
    assert_eq!(Only { reason: "x".into() }.into_error().typed(), Some(Only { reason: "x".into() }));
    assert_eq!(Silent.into_error().typed(), Some(Silent));
}

#[test]
fn other_codes_and_other_data_are_other_errors() {
    for error in [
        ErrorObject::new(Code(1), "closed"),
        ErrorObject::new(Code(1002), "over quota"),
        ErrorObject::new(Code(1002), "over quota").with_data(&"much"),
        ErrorObject::internal(&"x"),
    ] {
        assert_eq!(Failure::from_error(&error), None, "{error:?}");
    }
    assert_eq!(CallError::TimedOut.typed::<Failure>(), None);
}

struct Desk;

#[service]
trait Users {
    async fn find(&self, name: String) -> Result<u32, Failure>;
    fn watch(&self) -> impl Stream<Item = Result<u32, Failure>> + Send + 'static;
}

impl Users for Desk {
    async fn find(&self, name: String) -> Result<u32, Failure> {
        Err(Failure::NoSuchUser { name, quota: None })
    }

    fn watch(&self) -> impl Stream<Item = Result<u32, Failure>> + Send + 'static {
        futures_util::stream::iter([Ok(1), Err(Failure::Closed)])
    }
}

#[tokio::test]
async fn a_caller_gets_the_error_as_its_type() {
    let users = UsersClient::new(Router::builder().add(UsersService(Desk)).build().unwrap());
    let error = users.find("ann".into()).await.unwrap_err();
    assert_eq!(error.typed(), Some(Failure::NoSuchUser { name: "ann".into(), quota: None }));
    let items: Vec<_> = futures_util::StreamExt::collect(users.watch().await.unwrap()).await;
    assert_eq!(items[1].as_ref().unwrap_err().typed(), Some(Failure::Closed));
}

#[test]
fn errors_are_described_with_the_schemas_of_their_data() {
    let described = Router::builder().add(UsersService(Desk)).build().unwrap().describe();
    let find = &described.methods[0];
    let told: Vec<Value> =
        find.errors.iter().map(|error| json!([error.code.0, error.message, error.data])).collect();
    assert_eq!(told[0], json!([1001, "closed", null]));
    assert_eq!(told[1], json!([1002, "over quota", {"$ref": "#/$defs/Quota"}]));
    let missing = &told[2][2];
    assert_eq!(missing["properties"]["userName"]["description"], "Who was looked for.");
    assert_eq!(missing["required"], json!(["userName"]));
    assert_eq!(told[3][2]["minItems"], 2);
    assert_eq!(told.len(), 4, "internal errors are not promised");
}
