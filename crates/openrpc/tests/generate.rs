//! What documents are made of methods, and that they are valid by the official schemas.

#![allow(clippy::unwrap_used)]

mod official;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard::{
    Code, DeclaredError, ErrorObject, IntoError, Json, MethodDescription, ResultDescription, Router,
    RouterBuilder, Schemas, Stream, layer_fn, service,
};
use switchboard_openrpc::{Document, Generator, Info, MethodEntry, ParamStructure, ServerEntry, SpecVersion};

/// A person, or a robot.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct User {
    name: String,
    age: u8,
    friends: Vec<User>,
}

#[derive(Serialize, JsonSchema)]
#[serde(tag = "kind")]
#[allow(dead_code)]
enum Shape {
    Circle { radius: f64 },
    Square { side: f64 },
}

#[derive(Serialize, JsonSchema)]
#[allow(dead_code)]
struct Details {
    retry_after: u64,
}

struct Failure;

impl IntoError for Failure {
    fn into_error(self) -> ErrorObject {
        ErrorObject::new(Code(1001), "no such user")
    }

    fn declared() -> Vec<DeclaredError> {
        vec![
            DeclaredError::new(Code(1001), "no such user").with_data::<Details>(),
            DeclaredError::new(Code(1002), "no time"),
            DeclaredError::new(Code(1001), "said twice"),
        ]
    }
}

struct Users;

#[service(namespace = "users")]
impl Users {
    /// Finds a user.
    ///
    /// Names are *compared* as they are.
    #[method(safe, tag = "search", tag = "users", example(name = "Ann", params = ["Ann"], result = null))]
    fn find(
        &self,
        /// What the user is called.
        name: String,
        #[arg(default = 10)] limit: u64,
        #[arg(default = User { name: "Bob".into(), age: 1, friends: vec![] })] like: User,
    ) -> Result<Option<User>, Failure> {
        let _ = (name, limit, like);
        Err(Failure)
    }

    /// Adds.
    #[method(
        example(name = "by position", params = [null, 2], result = 5),
        example(name = "by name", params = {"count": 2}, result = 5),
    )]
    fn mixed(
        &self,
        #[arg(default = 3)] first: i64,
        count: i64,
        #[arg(name = "type")] _kind: Option<String>,
    ) -> i64 {
        first + count
    }

    #[method(idempotent, example(name = "three", params = ["x", 1, 2, 3], result = "x123"))]
    fn sum(&self, prefix: String, #[arg(rest)] numbers: Vec<i64>) -> String {
        numbers.iter().fold(prefix, |text, number| format!("{text}{number}"))
    }

    #[method(notification)]
    fn seen(&self, name: String) {
        let _ = name;
    }

    #[deprecated(note = "use `find`")]
    fn old(&self) {}

    fn count(&self, to: u32) -> impl Stream<Item = u32> + Send + 'static {
        futures_util::stream::iter(1..=to)
    }

    #[method(subscription(item = "arrived", unsubscribe = "unwatch"))]
    fn watch(&self) -> impl Stream<Item = User> + Send + 'static {
        futures_util::stream::empty()
    }

    fn shape(&self) -> Shape {
        Shape::Circle { radius: 1.0 }
    }
}

fn routes() -> RouterBuilder {
    let tell =
        switchboard::Method::sync("tell", |(): (), _| Ok::<_, ErrorObject>(true)).described(|schemas| {
            let (value, item) = (schemas.of::<bool>(), schemas.of::<String>());
            MethodDescription::documented("Tells.").result(ResultDescription::Either { value, item })
        });
    Router::builder().method("any", |params: Json, _| Ok::<_, ErrorObject>(params)).add(Users).add(tell)
}

fn generator() -> Generator {
    Generator::new(Info::new("Users", "1.2.3").described("Who is who."))
        .server(ServerEntry::new("here", "http://127.0.0.1:8000/"))
}

fn document() -> Document {
    generator().document(&routes().build().unwrap())
}

fn method(name: &str) -> MethodEntry {
    document().method(name).unwrap().clone()
}

fn params(method: &MethodEntry) -> Vec<(String, bool, Value)> {
    let told = method.params();
    told.map(|param| (param.name.clone(), param.required, param.schema.as_value().clone())).collect()
}

// OR-03, OR-49
#[test]
fn documents_are_valid_by_the_official_schemas() {
    let router = routes().build().unwrap();
    let as_value = |generator: Generator| serde_json::to_value(generator.document(&router)).unwrap();
    let document = as_value(generator());
    assert_eq!(document["openrpc"], "1.3.2");
    official::check(&document, official::V1_3);
    let document = as_value(generator().version(SpecVersion::V1_4));
    assert_eq!(document["openrpc"], "1.4.1");
    official::check(&document, official::V1_4);
}

#[test]
#[should_panic(expected = "/methods/0")]
fn the_official_schema_finds_what_is_wrong() {
    let mut document = serde_json::to_value(document()).unwrap();
    document["methods"][0]["parameters"] = json!([]);
    official::check(&document, official::V1_3);
}

// OR-32, OR-49
#[test]
fn the_same_methods_give_the_same_bytes_and_reading_changes_nothing() {
    let text = serde_json::to_string(&document()).unwrap();
    assert_eq!(serde_json::to_string(&document()).unwrap(), text);
    let read = Document::parse(text.clone()).unwrap();
    assert_eq!(read, document());
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
    let names: Vec<_> = read.methods().map(|method| method.name.as_str()).collect();
    assert!(names.is_sorted(), "{names:?}");
}

// OR-04, OR-05
#[test]
fn title_version_and_servers_are_told() {
    let document = serde_json::to_value(document()).unwrap();
    assert_eq!(document["info"], json!({"title": "Users", "version": "1.2.3", "description": "Who is who."}));
    assert_eq!(document["servers"], json!([{"url": "http://127.0.0.1:8000/", "name": "here"}]));
}

// OR-10, OR-15, OR-40, OR-46
#[test]
fn every_method_is_there_with_its_documentation_and_its_tags() {
    let names: Vec<_> = document().methods().map(|method| method.name.clone()).collect();
    let expected = "any tell users/count users/find users/mixed users/old users/seen users/shape users/sum users/unwatch users/watch";
    assert_eq!(names.join(" "), expected);
    let find = method("users/find");
    assert_eq!(find.summary.as_deref(), Some("Finds a user."));
    assert_eq!(find.description.as_deref(), Some("Names are *compared* as they are."));
    assert_eq!(find.tags().map(|tag| tag.name.as_str()).collect::<Vec<_>>(), ["users", "search"]);
    assert_eq!(method("any").tags().count(), 0);
    let old = method("users/old");
    assert!(old.deprecated && !find.deprecated);
    assert_eq!(old.deprecated_reason(), Some("use `find`"));
}

// OR-16, OR-17, OR-41, OR-47
#[test]
fn params_have_names_schemas_and_defaults() {
    let find = method("users/find");
    assert_eq!(find.param_structure, ParamStructure::Either);
    let params = params(&find);
    assert_eq!(params[0], ("name".to_owned(), true, json!({"type": "string"})));
    let limit = json!({"type": "integer", "format": "uint64", "minimum": 0, "default": 10});
    assert_eq!(params[1], ("limit".to_owned(), false, limit));
    assert_eq!(params[2].2["default"], json!({"name": "Bob", "age": 1, "friends": []}));
    assert_eq!(find.params().next().unwrap().description.as_deref(), Some("What the user is called."));
    let schemas = document().components.unwrap().schemas;
    let age = &schemas["User"].as_value()["properties"]["age"];
    assert_eq!(*age, json!({"type": "integer", "format": "uint8", "minimum": 0, "maximum": 255}));
}

// OR-11, OR-13, OR-42
#[test]
fn params_in_another_order_than_the_document_allows_are_given_by_name() {
    let mixed = method("users/mixed");
    assert_eq!(mixed.param_structure, ParamStructure::ByName);
    let names: Vec<_> =
        params(&mixed).into_iter().map(|(name, is_required, _)| (name, is_required)).collect();
    assert_eq!(names, [("count".into(), true), ("first".into(), false), ("type".into(), false)]);
}

// OR-42
#[test]
fn a_variadic_param_is_an_array_by_name() {
    let sum = method("users/sum");
    assert_eq!(sum.param_structure, ParamStructure::ByName);
    let numbers = sum.params().nth(1).unwrap();
    assert!(numbers.is_variadic());
    assert_eq!(
        *numbers.schema.as_value(),
        json!({"type": "array", "items": {"type": "integer", "format": "int64"}})
    );
}

#[test]
fn what_is_not_known_about_a_method_is_not_told() {
    let any = method("any");
    assert!(any.has_unknown_params());
    assert_eq!(*any.result().unwrap().schema.as_value(), json!({}));
    assert!(!method("users/find").has_unknown_params());
}

#[test]
fn a_method_says_that_it_ignores_unknown_params() {
    let described = |_: &mut Schemas| MethodDescription::default().no_more_params().allow_unknown_params();
    let open = switchboard::Method::sync("open", |_: Json, _| Ok::<_, ErrorObject>(())).described(described);
    let router = Router::builder().add(open).build().unwrap();
    let document = Generator::new(Info::new("Open", "1")).document(&router);
    assert!(document.method("open").unwrap().allows_additional_params());
    assert!(!method("users/find").allows_additional_params());
}

#[test]
fn mounted_and_layered_services_are_part_of_the_document() {
    let inner = routes().build().unwrap().layered(layer_fn(async |call, next| next.run(&call).await));
    let router = routes().mount_described("more/", inner).build().unwrap();
    let generator = Generator::new(Info::new("Users", "1"));
    let document = generator.document(&router.layered(layer_fn(async |call, next| next.run(&call).await)));
    let once = generator.document(&routes().build().unwrap());
    assert_eq!(
        document.method("more/users/find").unwrap().params,
        document.method("users/find").unwrap().params
    );
    assert_eq!(document.methods().count(), 2 * once.methods().count());
    let schemas =
        |document: Document| document.components.unwrap().schemas.keys().cloned().collect::<Vec<_>>();
    assert_eq!(schemas(document), schemas(once), "types that both have are defined once");
}

#[test]
fn extensions_of_a_method_stand_in_its_entry() {
    let described = |_: &mut Schemas| {
        MethodDescription::documented("Buys.")
            .safe()
            .extension("x-cost", 5)
            .extension("x-safe", "no")
            .extension("name", "y")
    };
    let buy = switchboard::Method::sync("buy", |(): (), _| Ok::<_, ErrorObject>(())).described(described);
    let router = Router::builder().add(buy).build().unwrap();
    let document = Generator::new(Info::new("Shop", "1")).document(&router);
    let buy = document.method("buy").unwrap();
    assert_eq!(buy.others["x-cost"], 5);
    assert!(buy.is_safe(), "our own members go before");
    assert_eq!(buy.others.get("name"), None);
}

#[test]
fn a_generator_adds_extensions_to_methods() {
    let described = |_: &mut Schemas| {
        MethodDescription::documented("Buys.").extension("x-mcp", json!({"title": "Buy", "tool": true}))
    };
    let buy = switchboard::Method::sync("buy", |(): (), _| Ok::<_, ErrorObject>(())).described(described);
    let router = Router::builder().add(buy).build().unwrap();
    let generator = Generator::new(Info::new("Shop", "1"))
        .extension("buy", "x-mcp", json!({"tool": "buy_it"}))
        .extension("buy", "x-cost", 5)
        .extension("sell", "x-cost", 6);
    let document = generator.document(&router);
    let others = &document.method("buy").unwrap().others;
    assert_eq!(others["x-mcp"], json!({"title": "Buy", "tool": "buy_it"}), "members are added");
    assert_eq!(others["x-cost"], 5);
}

// OR-12, OR-43
#[test]
fn results_are_values_null_or_nothing() {
    let schema = |name| method(name).result().map(|result| result.schema.as_value().clone());
    assert_eq!(schema("users/old"), Some(json!({"type": "null"})));
    assert_eq!(schema("users/seen"), None);
    assert_eq!(schema("users/mixed").unwrap()["type"], "integer");
}

// OR-21, OR-44
#[test]
fn named_types_stand_once_among_the_components_and_may_hold_themselves() {
    let schemas = document().components.unwrap().schemas;
    let names: Vec<_> = schemas.keys().map(String::as_str).collect();
    assert_eq!(names, ["Details", "Shape", "User"]);
    let friends = &schemas["User"].as_value()["properties"]["friends"];
    assert_eq!(friends["items"], json!({"$ref": "#/components/schemas/User"}));
    // OR-47
    let kind = &schemas["Shape"].as_value()["oneOf"][0]["properties"]["kind"];
    assert_eq!(kind["const"], "Circle");
}

// OR-14, OR-45
#[test]
fn errors_stand_once_and_the_schemas_of_their_details_beside_them() {
    let find = method("users/find");
    let codes: Vec<_> = find.errors().map(|error| (error.code, error.message.as_str())).collect();
    assert_eq!(codes, [(1001, "no such user"), (1002, "no time")]);
    let schemas: Vec<_> = find.errors().map(|error| find.data_schema(error)).collect();
    assert_eq!(schemas, [Some(&json!({"$ref": "#/components/schemas/Details"})), None]);
}

// OR-18
#[test]
fn examples_are_in_the_order_of_the_document() {
    let told = |name| {
        let method = serde_json::to_value(method(name)).unwrap();
        method["examples"].clone()
    };
    assert_eq!(
        told("users/find"),
        json!([{"name": "Ann", "params": [{"name": "name", "value": "Ann"}], "result": {"name": "result", "value": null}}])
    );
    let mixed = told("users/mixed");
    let by_position = json!([{"name": "count", "value": 2}, {"name": "first", "value": null}]);
    assert_eq!(mixed[0]["params"], by_position);
    assert_eq!(mixed[1]["params"], json!([{"name": "count", "value": 2}]));
    let sum = json!([{"name": "prefix", "value": "x"}, {"name": "numbers", "value": [1, 2, 3]}]);
    assert_eq!(told("users/sum")[0]["params"], sum);
}

// OR-48
#[test]
fn streams_and_subscriptions_are_told_beside_the_standard() {
    let count = method("users/count");
    let item = json!({"type": "integer", "format": "uint32", "minimum": 0, "maximum": u32::MAX});
    assert_eq!(count.stream_item(), Some(&item));
    assert_eq!(*count.result().unwrap().schema.as_value(), json!({"type": "array", "items": item}));
    let tell = method("tell");
    assert_eq!(tell.stream_item(), Some(&json!({"type": "string"})));
    assert!(tell.is_stream_optional() && !count.is_stream_optional());
    assert_eq!(*tell.result().unwrap().schema.as_value(), json!({"type": "boolean"}));
    let watch = method("users/watch");
    let names = watch.subscription().unwrap();
    assert_eq!((names.notification, names.unsubscribe), ("users/arrived", "users/unwatch"));
    assert_eq!(names.item, Some(&json!({"$ref": "#/components/schemas/User"})));
    assert_eq!(*watch.result().unwrap().schema.as_value(), json!({"type": "integer"}));
    let unwatch = method("users/unwatch");
    assert_eq!(unwatch.param_structure, ParamStructure::ByPosition);
    assert_eq!(unwatch.params().count(), 1);
}

#[test]
fn marks_are_told_beside_the_standard() {
    let marks = |name| (method(name).is_safe(), method(name).is_idempotent());
    assert_eq!(marks("users/find"), (true, true));
    assert_eq!(marks("users/sum"), (false, true));
    assert_eq!(marks("users/mixed"), (false, false));
}

// OR-20
#[test]
fn every_reference_leads_somewhere() {
    assert_eq!(document().resolved().unwrap(), document());
    let resolver = switchboard_openrpc::Resolver::new(&document());
    fn walk(resolver: &switchboard_openrpc::Resolver, value: &Value) {
        resolver.follow(value).unwrap();
        match value {
            Value::Array(values) => values.iter().for_each(|value| walk(resolver, value)),
            Value::Object(members) => members.values().for_each(|value| walk(resolver, value)),
            _ => {}
        }
    }
    walk(&resolver, resolver.document());
}
