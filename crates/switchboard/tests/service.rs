//! What `#[service]` makes of an impl block, from bytes to bytes.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard::{
    Code, Context, DeclaredError, Engine, ErrorObject, IntoError, Json, Origin, Router, Service, Settings,
    Stream, service,
};

enum Failure {
    NoSuchUser,
    Storage(std::io::Error),
}

impl IntoError for Failure {
    fn into_error(self) -> ErrorObject {
        match self {
            Failure::NoSuchUser => ErrorObject::new(Code(1001), "no such user"),
            Failure::Storage(cause) => ErrorObject::internal(&cause),
        }
    }

    fn declared() -> Vec<DeclaredError> {
        vec![DeclaredError::new(Code(1001), "no such user")]
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Login {
    user: String,
    pins: Vec<u16>,
}

#[derive(Default)]
struct Desk {
    count: AtomicU64,
}

#[service]
impl Desk {
    fn subtract(&self, a: i64, b: i64) -> i64 {
        self.count.fetch_add(1, Ordering::Relaxed);
        a - b
    }

    fn optional(&self, a: u8, b: Option<u8>, c: u8) -> (u8, Option<u8>, u8) {
        (a, b, c)
    }

    fn defaults(
        &self,
        #[arg(default = 10)] limit: u32,
        #[arg(default = "none")] sort: String,
        #[arg(default)] deep: bool,
        #[arg(default = vec![1, 2])] list: Vec<u8>,
    ) -> String {
        format!("{limit} {sort} {deep} {list:?}")
    }

    fn sum(&self, start: f64, #[arg(rest)] numbers: Vec<f64>) -> f64 {
        start + numbers.iter().sum::<f64>()
    }

    fn keyword(&self, #[arg(name = "type")] kind: String, r#ref: String) -> String {
        kind + &r#ref
    }

    #[method(name = "other-name")]
    fn renamed(&self) -> bool {
        true
    }

    fn transport(&self, cx: &Context) -> &'static str {
        cx.origin().transport
    }

    async fn transport_later(&self, before: u8, cx: &Context, mut after: u8) -> String {
        tokio::task::yield_now().await;
        after += before;
        format!("{} {after}", cx.origin().transport)
    }

    async fn find(&self, name: String) -> Result<String, Failure> {
        tokio::task::yield_now().await;
        match name.as_str() {
            "nobody" => Err(Failure::NoSuchUser),
            "broken" => Err(Failure::Storage(std::io::Error::other("disk 7 is on fire"))),
            _ => Ok(name),
        }
    }

    fn alias(&self, fail: bool) -> std::io::Result<u8> {
        if fail { Err(std::io::Error::other("disk 7 is on fire")) } else { Ok(1) }
    }

    fn ticks(&self, n: u32) -> impl Stream<Item = u32> + Send + 'static {
        stream::iter(0..n)
    }

    async fn checked_ticks(
        &self,
        n: u32,
    ) -> Result<impl Stream<Item = Result<u32, Failure>> + Send + 'static, Failure> {
        let end = if n == 3 { vec![Err(Failure::NoSuchUser)] } else { vec![] };
        if n == 0 { Err(Failure::NoSuchUser) } else { Ok(stream::iter((0..n).map(Ok).chain(end))) }
    }

    fn login(&self, login: Login) -> String {
        format!("{} {}", login.user, login.pins.len())
    }

    fn raw(&self, value: Json) -> Json {
        value
    }

    // Names that the expansion uses too.
    fn hygiene(&self, this: u8, call: u8, arguments: u8, error: u8, read: u8, value: u8) -> u8 {
        this + call + arguments + error + read + value
    }

    fn nothing(&self) {}

    #[method(allow_unknown_params)]
    fn open(&self, a: u8) -> u8 {
        a
    }

    fn meta(&self, #[arg(name = "_meta")] meta: Json) -> Json {
        meta
    }

    #[cfg(any())]
    fn absent(&self, a: NoSuchType) {}

    #[method(skip)]
    fn helper(&mut self, (_a, _b): (u8, u8)) {}

    const ANSWER: u8 = 42;
}

#[service(namespace = "deep.space", separator = "::", rename_all = "camelCase", rename_args = "camelCase")]
impl<T: Serialize + JsonSchema + Clone + Send + Sync + 'static> Holder<T> {
    fn held_value(&self) -> T {
        self.0.clone()
    }

    #[method(name = "kept_name")]
    fn shout(&self, long_name: String, #[arg(name = "as_is")] other: Option<String>) -> String {
        long_name + &other.unwrap_or_default()
    }
}

struct Holder<T>(T);

#[service(namespace = "math")]
impl Slashed {
    fn add(&self) -> u8 {
        1
    }
}

struct Slashed;

mod elsewhere {
    pub(crate) use switchboard as renamed;
}

struct Elsewhere;

#[service(namespace = "elsewhere", crate = "crate::elsewhere::renamed")]
impl Elsewhere {
    async fn same(&self, value: Option<u8>) -> Result<Option<u8>, Failure> {
        Ok(value)
    }
}

macro_rules! echo {
    ($name:ident, $namespace:literal, $value:ty) => {
        struct $name;

        #[service(namespace = $namespace)]
        impl $name {
            fn echo(&self, value: $value) -> $value {
                value
            }
        }
    };
}

echo!(Numbers, "numbers", Option<u8>);

fn router() -> Router {
    let mut desk = Desk::default();
    desk.helper((Desk::ANSWER, 0));
    Router::builder().add(desk).add(Holder(7)).add(Slashed).add(Elsewhere).add(Numbers).build().unwrap()
}

async fn ask(service: Arc<Router>, method: &str, params: &str) -> String {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    let cx = Context::new(Origin::new("test"));
    let answer = Engine::new(service, Settings::default()).exchange(body, &cx).await;
    let body = String::from_utf8(answer.body().unwrap().to_vec()).unwrap();
    let answer = body.strip_prefix(r#"{"jsonrpc":"2.0","#).unwrap().strip_suffix(r#","id":1}"#).unwrap();
    answer.strip_prefix(r#""result":"#).unwrap_or(answer).to_owned()
}

async fn check(method: &str, cases: &[(&str, &str)]) {
    let router = Arc::new(router());
    for (params, expected) in cases {
        assert_eq!(ask(Arc::clone(&router), method, params).await, *expected, "{method} {params}");
    }
}

#[tokio::test]
async fn one_declaration_takes_arguments_by_name_and_by_position() {
    check("subtract", &[("[42,23]", "19"), (r#"{"b":23,"a":42}"#, "19")]).await;
}

#[tokio::test]
async fn an_option_can_be_left_out_or_null() {
    check(
        "optional",
        &[
            (r#"{"a":1,"c":3}"#, "[1,null,3]"),
            (r#"{"a":1,"b":null,"c":3}"#, "[1,null,3]"),
            ("[1,null,3]", "[1,null,3]"),
            ("[1,2,3]", "[1,2,3]"),
        ],
    )
    .await;
}

#[tokio::test]
async fn an_argument_can_be_left_out_when_it_has_a_default() {
    check(
        "defaults",
        &[
            ("[]", r#""10 none false [1, 2]""#),
            ("{}", r#""10 none false [1, 2]""#),
            (r#"{"deep":true,"list":[]}"#, r#""10 none true []""#),
            (r#"[5,null,true]"#, r#""5 none true [1, 2]""#),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_variadic_tail_takes_the_positions_that_are_left() {
    check("sum", &[("[1,2,3.5]", "6.5"), ("[1]", "1.0"), (r#"{"start":1,"numbers":[4]}"#, "5.0")]).await;
}

#[tokio::test]
async fn arguments_and_methods_can_be_renamed() {
    check("keyword", &[(r#"{"type":"a","ref":"b"}"#, r#""ab""#)]).await;
    check("other-name", &[("[]", "true")]).await;
    check("deep.space::heldValue", &[("[]", "7")]).await;
    check("deep.space::kept_name", &[(r#"{"longName":"a","as_is":"b"}"#, r#""ab""#)]).await;
}

#[tokio::test]
async fn a_namespace_is_separated_by_a_slash() {
    check("math/add", &[("[]", "1")]).await;
}

#[tokio::test]
async fn a_method_gets_the_context_when_it_asks_for_it() {
    check("transport", &[("[]", r#""test""#)]).await;
    check("transport_later", &[("[1,2]", r#""test 3""#), (r#"{"after":3,"before":1}"#, r#""test 4""#)]).await;
}

#[tokio::test]
async fn an_error_is_mapped_by_its_trait() {
    check(
        "find",
        &[(r#"["ann"]"#, r#""ann""#), (r#"["nobody"]"#, r#""error":{"code":1001,"message":"no such user"}"#)],
    )
    .await;
    for (method, params) in [("find", r#"["broken"]"#), ("alias", "[true]")] {
        let answer = ask(Arc::new(router()), method, params).await;
        assert!(answer.contains("-32603") && !answer.contains("disk"), "{answer}");
    }
}

#[tokio::test]
async fn a_stream_is_a_reply() {
    let failed = r#""error":{"code":1001,"message":"no such user"}"#;
    check("ticks", &[("[3]", "[0,1,2]"), ("[0]", "[]")]).await;
    check("checked_ticks", &[("[2]", "[0,1]"), ("[0]", failed), ("[3]", failed)]).await;
}

#[tokio::test]
async fn a_method_without_result_answers_null() {
    check("nothing", &[("[]", "null"), ("{}", "null"), ("null", "null")]).await;
}

#[tokio::test]
async fn unknown_names_are_ignored_where_they_are_allowed() {
    check("open", &[(r#"{"b":[],"a":1}"#, "1"), ("[1]", "1")]).await;
    let router = Arc::new(router());
    assert!(ask(Arc::clone(&router), "open", "[1,2]").await.contains("-32602"));
    assert!(ask(Arc::clone(&router), "subtract", r#"{"a":1,"b":1,"c":1}"#).await.contains("-32602"));
}

#[tokio::test]
async fn every_method_accepts_meta_and_gets_it_if_it_declares_it() {
    check("nothing", &[(r#"{"_meta":{}}"#, "null")]).await;
    check("subtract", &[(r#"{"a":3,"_meta":{"a":9},"b":1}"#, "2")]).await;
    check("meta", &[(r#"{"_meta":{"token":1}}"#, r#"{"token":1}"#)]).await;
}

#[tokio::test]
async fn json_passes_as_it_is_written() {
    check("raw", &[("[1.50]", "1.50"), (r#"{"value":{"b":1,"a":2}}"#, r#"{"b":1,"a":2}"#)]).await;
}

#[tokio::test]
async fn the_names_of_arguments_do_not_meet_those_of_the_expansion() {
    check("hygiene", &[("[1,2,3,4,5,6]", "21")]).await;
}

#[tokio::test]
async fn a_function_that_is_skipped_or_left_out_is_no_method() {
    for name in ["helper", "absent"] {
        let missing =
            format!(r#""error":{{"code":-32601,"message":"Method not found","data":{{"method":"{name}"}}}}"#);
        check(name, &[("[]", &missing)]).await;
    }
}

#[tokio::test]
async fn the_crate_can_have_another_path() {
    check("elsewhere/same", &[("[7]", "7"), ("[]", "null")]).await;
}

#[tokio::test]
async fn a_service_can_be_written_by_a_macro() {
    check("numbers/echo", &[("[7]", "7"), ("{}", "null")]).await;
}

#[tokio::test]
async fn wrong_params_are_told_by_path_and_expectation_and_never_quoted() {
    // JK-02, SEC-E-03
    let router = Arc::new(router());
    for (method, params, told) in [
        ("subtract", r#"[1,"hunter2"]"#, r#"{"path":"/1","expected":"a whole number"}"#),
        ("subtract", r#"{"a":"hunter2","b":1}"#, r#"{"path":"/a","expected":"a whole number"}"#),
        ("subtract", r#"{"b":1}"#, r#"{"path":"/a","expected":"a value; this parameter is required"}"#),
        ("subtract", r#"{"a":1,"b":1,"hunter2":1}"#, r#"{"details":"expected only the parameters a, b"}"#),
        ("subtract", r#"[1,2,"hunter2"]"#, r#"{"details":"expected at most 2 parameters, found 3"}"#),
        (
            "login",
            r#"[{"user":"x","pins":[1,"hunter2"]}]"#,
            r#"{"path":"/0/pins/1","expected":"a whole number from 0 to 65535"}"#,
        ),
        ("login", r#"{"login":"hunter2"}"#, r#"{"path":"/login","expected":"an object"}"#),
        (
            "defaults",
            r#"{"limit":"hunter2"}"#,
            r#"{"path":"/limit","expected":"a whole number from 0 to 4294967295"}"#,
        ),
        ("find", r#"[["hunter2"]]"#, r#"{"path":"/0","expected":"a string"}"#),
        ("sum", r#"[1,2,"hunter2"]"#, r#"{"path":"/2","expected":"a number"}"#),
        ("nothing", r#"["hunter2"]"#, r#"{"details":"expected at most 0 parameters, found 1"}"#),
    ] {
        let expected = format!(r#""error":{{"code":-32602,"message":"Invalid params","data":{told}}}"#);
        assert_eq!(ask(Arc::clone(&router), method, params).await, expected, "{method} {params}");
        assert!(!expected.contains("hunter2"));
    }
}

#[tokio::test]
async fn the_state_of_a_service_can_be_shared() {
    let desk = Arc::new(Desk::default());
    let router = Arc::new(Router::builder().add(Arc::clone(&desk)).build().unwrap());
    ask(Arc::clone(&router), "subtract", "[1,1]").await;
    assert_eq!(desk.count.load(Ordering::Relaxed), 1);
}

#[test]
fn a_sync_method_and_a_refusal_are_ready_at_once() {
    let router = router();
    for (method, params, is_ready) in
        [("subtract", "[2,1]", true), ("find", "[1]", true), ("find", r#"["ann"]"#, false)]
    {
        let call = switchboard::Call::new(method, Some(Json::parse(params).unwrap()));
        assert_eq!(router.call(&call).into_ready().is_ok(), is_ready, "{method} {params}");
    }
}

struct Ticker;

#[service(namespace = "clock", separator = "_")]
impl Ticker {
    #[method(subscription(item = "ticks", unsubscribe = "unsubscribe_ticks"))]
    fn subscribe_ticks(&self) -> impl Stream<Item = u32> + Send + 'static {
        stream::iter(0..3)
    }
}

#[tokio::test]
async fn a_stream_goes_by_the_names_of_its_subscription() {
    // JSP-01
    let router = Router::builder().add(Ticker).build().unwrap();
    let reply = router.call(&switchboard::Call::new("clock_subscribe_ticks", None)).await;
    let switchboard::Outcome::Stream(items) = reply.outcome else { panic!("no stream") };
    let names = switchboard::Subscription::named("clock_ticks", "clock_unsubscribe_ticks");
    assert_eq!(items.subscription().map(|names| &**names), Some(&names));
    let reply = router.call(&switchboard::Call::new("clock_unsubscribe_ticks", None)).await;
    assert!(matches!(&reply.outcome, switchboard::Outcome::Value(json) if *json == Json::FALSE), "{reply:?}");
}
