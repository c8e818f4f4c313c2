//! What `#[service]` tells about methods.

#![allow(clippy::unwrap_used)]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard::{
    Code, Context, DeclaredError, Description, ErrorObject, IntoError, Json, MethodDescription,
    ResultDescription, Router, Stream, SubscriptionStyle, service,
};

#[derive(Serialize, Deserialize, JsonSchema)]
struct User {
    name: String,
}

struct Failure;

impl IntoError for Failure {
    fn into_error(self) -> ErrorObject {
        ErrorObject::new(Code(1001), "no such user")
    }

    fn declared() -> Vec<DeclaredError> {
        vec![DeclaredError::new(Code(1001), "no such user").with_data::<User>()]
    }
}

struct Users;

#[service(namespace = "users")]
impl Users {
    /// Finds a user
    /// by name.
    ///
    /// The search ignores case.
    ///
    ///     indented
    #[method(safe, tag = "search", tag = "people")]
    async fn find(
        &self,
        _cx: &Context,
        /// What the user is called.
        name: String,
        /// How many to look at.
        #[arg(default = 10)]
        limit: u32,
        note: Option<String>,
        #[arg(rest)] words: Vec<String>,
    ) -> Result<User, Failure> {
        let _ = (limit, note, words);
        if name.is_empty() { Err(Failure) } else { Ok(User { name }) }
    }

    #[method(notification)]
    fn seen(&self, name: String) -> Result<(), Failure> {
        if name.is_empty() { Err(Failure) } else { Ok(()) }
    }

    #[method(
        example(name = "by position", params = [-2, {"name": "Ann"}], result = {"name": "Ann", "list": [1, -2]}),
        example(name = "by name", params = {"count": 1}),
        example(name = "none", result = null),
    )]
    fn pick(&self, count: i64, user: Option<User>) -> Option<User> {
        user.filter(|_| count > 0)
    }

    #[method(extension("x-cost" = 5), extension("x-limits" = {"daily": [1, 2]}))]
    fn buy(&self) {}

    #[method(idempotent)]
    #[deprecated(since = "1.2.0", note = "use `find`")]
    fn remove(&self) {}

    #[deprecated]
    fn old(&self) {}

    #[method(subscription(item = "user", unsubscribe = "unwatch"))]
    fn watch(&self) -> impl Stream<Item = Result<User, Failure>> + Send + 'static {
        futures_util::stream::empty()
    }
}

fn description() -> Description {
    Router::builder().add(Users).build().unwrap().describe()
}

fn method(name: &str) -> MethodDescription {
    description().methods.into_iter().find(|method| method.name == name).unwrap()
}

#[test]
fn the_doc_comment_is_summary_and_description() {
    let find = method("users/find");
    assert_eq!(find.summary, "Finds a user by name.");
    assert_eq!(find.description, "The search ignores case.\n\n    indented");
    assert_eq!(method("users/watch").summary, "");
}

#[test]
fn each_param_has_its_schema_and_says_when_it_must_be_given() {
    let params = method("users/find").params.unwrap();
    let told: Vec<Value> = params
        .iter()
        .map(|p| json!([p.name, p.description, p.schema["type"], p.is_required, p.is_variadic, p.default]))
        .collect();
    assert_eq!(
        told,
        [
            json!(["name", "What the user is called.", "string", true, false, null]),
            json!(["limit", "How many to look at.", "integer", false, false, 10]),
            json!(["note", "", ["string", "null"], false, false, null]),
            json!(["words", "", "string", false, true, null]),
        ]
    );
    assert!(method("users/remove").params.is_some_and(|params| params.is_empty()));
}

#[test]
fn the_result_is_a_value_or_a_stream_of_values() {
    let user = json!({"$ref": "#/$defs/User"});
    assert!(matches!(method("users/find").result, ResultDescription::Value(schema) if schema == user));
    assert!(matches!(method("users/watch").result, ResultDescription::Stream(schema) if schema == user));
    assert!(
        matches!(method("users/old").result, ResultDescription::Value(schema) if schema["type"] == "null")
    );
    assert_eq!(description().definitions["User"]["required"], json!(["name"]));
}

#[test]
fn declared_errors_are_those_of_the_result_and_of_the_items() {
    for name in ["users/find", "users/watch"] {
        let errors = method(name).errors;
        assert_eq!(errors.iter().map(|error| error.code).collect::<Vec<_>>(), [Code(1001)]);
        assert_eq!(errors[0].message, "no such user");
        assert_eq!(errors[0].data, Some(json!({"$ref": "#/$defs/User"})));
    }
    assert_eq!(method("users/remove").errors, []);
}

#[test]
fn a_notified_method_has_no_result() {
    assert!(matches!(method("users/seen").result, ResultDescription::Nothing));
}

#[test]
fn examples_are_told_as_they_are_written() {
    let examples = method("users/pick").examples;
    let told: Vec<_> = examples.iter().map(|e| (e.name.as_str(), &e.params, e.result.as_ref())).collect();
    assert_eq!(
        told,
        [
            ("by position", &json!([-2, {"name": "Ann"}]), Some(&json!({"name": "Ann", "list": [1, -2]}))),
            ("by name", &json!({"count": 1}), None),
            ("none", &json!([]), Some(&json!(null))),
        ]
    );
}

#[test]
fn the_names_of_a_subscription_are_told() {
    let names = method("users/watch").subscription.unwrap();
    assert_eq!((names.item.as_str(), names.unsubscribe.as_str()), ("users/user", "users/unwatch"));
    assert_eq!(method("users/find").subscription, None);
}

#[test]
fn marks_and_tags_are_told() {
    let marks = |name| {
        let marks = method(name).marks;
        (marks.safe, marks.idempotent)
    };
    assert_eq!(marks("users/find"), (true, true));
    assert_eq!(marks("users/remove"), (false, true));
    assert_eq!(marks("users/watch"), (false, false));
    assert_eq!(method("users/find").tags, ["search", "people"]);
}

struct Open;

#[service(namespace = "open", allow_unknown_params)]
impl Open {
    fn one(&self, a: u8, #[arg(default = 2)] b: u8, #[arg(rest)] more: Vec<u8>) -> u8 {
        a + b + more.iter().sum::<u8>()
    }
}

struct Closed;

#[service(namespace = "closed")]
impl Closed {
    fn one(&self, user: User) -> User {
        user
    }

    #[method(allow_unknown_params)]
    fn two(&self) {}
}

#[test]
fn the_schema_of_all_params_says_whether_unknown_names_are_allowed() {
    let described = Router::builder().add(Open).add(Closed).build().unwrap().describe();
    let schema = |name: &str| {
        described.methods.iter().find(|method| method.name == name).unwrap().params_schema().unwrap()
    };
    let byte = |default: Value| json!({"type": "integer", "format": "uint8", "minimum": 0, "maximum": 255, "default": default});
    let mut a = byte(json!(null));
    a.as_object_mut().unwrap().remove("default");
    assert_eq!(
        schema("open/one"),
        json!({
            "type": "object",
            "properties": {"a": a, "b": byte(json!(2)), "more": {"type": "array", "items": a}},
            "required": ["a"],
            "additionalProperties": true,
        })
    );
    assert_eq!(
        schema("closed/one"),
        json!({
            "type": "object",
            "properties": {"user": {"$ref": "#/$defs/User"}},
            "required": ["user"],
            "additionalProperties": false,
        })
    );
    assert_eq!(
        schema("closed/two"),
        json!({"type": "object", "properties": {}, "additionalProperties": true})
    );
}

/// Of another crate, with serde and without a schema: `SubscriptionStyle`.
struct Foreign;

/// How a foreign type looks.
#[derive(JsonSchema)]
#[allow(dead_code)]
#[serde(rename_all = "snake_case")]
enum Style {
    Ethereum,
    Named,
}

#[service(namespace = "foreign")]
impl Foreign {
    #[method(result_schema = Style)]
    fn described(
        &self,
        #[arg(schema = Style)] style: SubscriptionStyle,
        #[arg(schema = Option<Style>)] other: Option<SubscriptionStyle>,
        #[arg(schema = Style, rest)] more: Vec<SubscriptionStyle>,
    ) -> Result<SubscriptionStyle, Failure> {
        let _ = more;
        Ok(other.unwrap_or(style))
    }

    #[method(result_schema = Json)]
    fn any(
        &self,
        #[arg(schema = Json, default)] style: SubscriptionStyle,
    ) -> impl Stream<Item = SubscriptionStyle> + Send + 'static {
        futures_util::stream::iter([style])
    }
}

#[test]
fn a_type_without_a_schema_can_be_described_by_another() {
    let described = Router::builder().add(Foreign).build().unwrap().describe();
    let style = json!({"$ref": "#/$defs/Style"});
    let [any, named] = &described.methods[..] else { panic!("{described:?}") };
    let schemas: Vec<_> = named.params.iter().flatten().map(|param| param.schema.clone()).collect();
    assert_eq!(schemas, [style.clone(), json!({"anyOf": [style, {"type": "null"}]}), style.clone()]);
    assert!(matches!(&named.result, ResultDescription::Value(schema) if *schema == style));
    assert_eq!(any.params.as_ref().unwrap()[0].schema, json!(true));
    assert_eq!(any.params.as_ref().unwrap()[0].default, Some(json!("named")));
    assert!(matches!(&any.result, ResultDescription::Stream(schema) if *schema == json!(true)));
}

#[tokio::test]
async fn a_foreign_type_is_read_and_written_by_serde() {
    let peer = switchboard::Peer::local(Router::builder().add(Foreign).build().unwrap());
    assert_eq!(peer.call::<String>("foreign/described", ["ethereum"]).await.as_deref(), Ok("ethereum"));
    assert!(peer.call::<String>("foreign/described", [5]).await.is_err());
}

#[test]
fn extensions_are_told_as_they_are_written() {
    let others = method("users/buy").others;
    assert_eq!(Value::from(others), json!({"x-cost": 5, "x-limits": {"daily": [1, 2]}}));
}

#[test]
fn a_deprecated_method_says_why() {
    assert_eq!(method("users/remove").deprecated.as_deref(), Some("use `find`"));
    assert_eq!(method("users/old").deprecated.as_deref(), Some("deprecated"));
    assert_eq!(method("users/find").deprecated, None);
}
