//! The description that a server returns from `rpc.discover`, as far as the command line needs it.
//!
//! Documents are read leniently: missing or invalid parts are left out, since half an answer is better than none. References
//! can expand a short document to a very long one, so the amount that is read is limited.

mod schema;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use switchboard::{Call, CallError, Code, Json, Kind, Outcome};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::Line;
use crate::target::Target;

/// The method that answers with a description.
pub(crate) const METHOD: &str = "rpc.discover";

/// How long to wait for a description that is not essential.
pub(crate) const BRIEFLY: Duration = Duration::from_secs(2);

/// The description of a server.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Its title, with its version.
    pub(crate) title: String,
    pub(crate) methods: Vec<Method>,
    /// Whether it is described as Switchboard servers are, so that it understands their extensions.
    pub(crate) is_ours: bool,
}

/// A method.
#[derive(Debug, Default)]
pub(crate) struct Method {
    pub(crate) name: String,
    pub(crate) summary: String,
    pub(crate) description: String,
    pub(crate) params: Vec<Param>,
    pub(crate) result: Option<Described>,
    /// Code and message of each.
    pub(crate) errors: Vec<(i64, String)>,
    pub(crate) tags: Vec<String>,
    pub(crate) examples: Vec<Example>,
    pub(crate) is_deprecated: bool,
    /// What to use instead, or why, if that is said.
    pub(crate) deprecation: String,
    pub(crate) is_safe: bool,
    pub(crate) is_idempotent: bool,
    pub(crate) is_durable: bool,
    pub(crate) is_stream: bool,
    /// Whether it returns a stream only if the caller asks for one.
    pub(crate) is_stream_optional: bool,
    pub(crate) is_by_position: bool,
    pub(crate) is_by_name: bool,
    /// Whether it takes parameters that are not described.
    pub(crate) takes_others: bool,
}

/// A parameter.
#[derive(Debug)]
pub(crate) struct Param {
    pub(crate) name: String,
    pub(crate) is_required: bool,
    /// Whether it takes all the positions that are left.
    pub(crate) is_variadic: bool,
    pub(crate) value: Described,
}

/// A value.
#[derive(Debug)]
pub(crate) struct Described {
    /// Its type, in a word or a few.
    pub(crate) kind: String,
    pub(crate) text: String,
    /// The only values that it may have, as JSON, if they are few.
    pub(crate) values: Vec<String>,
    /// What else it must be, and what it is if it is left out.
    pub(crate) rules: Vec<String>,
    /// What it holds, where that is described.
    pub(crate) members: Vec<Member>,
}

/// A member of a value, at any depth.
#[derive(Debug)]
pub(crate) struct Member {
    /// Where it is: `.name`, `[].name`, or `.name.inner`. Of a choice it is the value, as JSON.
    pub(crate) path: String,
    pub(crate) is_required: bool,
    pub(crate) kind: String,
    pub(crate) text: String,
    pub(crate) rules: Vec<String>,
}

impl Described {
    /// What is said about it, in one line.
    pub(crate) fn words(&self, is_required: bool) -> String {
        words(is_required, &self.rules, &self.text)
    }
}

impl Member {
    /// What is said about it, in one line.
    pub(crate) fn words(&self) -> String {
        words(self.is_required, &self.rules, &self.text)
    }
}

fn words(is_required: bool, rules: &[String], text: &str) -> String {
    let optional = if is_required { "" } else { "optional" };
    let all = std::iter::once(optional).chain(rules.iter().map(String::as_str)).chain([text]);
    all.filter(|words| !words.is_empty()).collect::<Vec<_>>().join("; ")
}

/// A call that shows how it is done.
#[derive(Debug)]
pub(crate) struct Example {
    pub(crate) name: String,
    /// Names, and values as JSON.
    pub(crate) params: Vec<(String, String)>,
    pub(crate) result: Option<String>,
}

/// Asks for the description, within a short time.
pub(crate) async fn of(line: &Line) -> Result<Found, CallError> {
    within(line, BRIEFLY).await
}

/// Asks for the description, within this time.
pub(crate) async fn within(line: &Line, time: Duration) -> Result<Found, CallError> {
    let document = ask(line, time).await?;
    read(&document).ok_or_else(|| CallError::Protocol(NO_DOCUMENT.into()))
}

pub(crate) const NO_DOCUMENT: &str =
    "rpc.discover returned something that is not an OpenRPC document: it has no list of methods";

/// Asks for the document, within this time.
pub(crate) async fn ask(line: &Line, time: Duration) -> Result<Json, CallError> {
    match line.ask_within(Call::new(METHOD, None).repeatable(), time).await?.outcome {
        Outcome::Value(json) if is_document(&json) => Ok(json),
        _ => Err(CallError::Protocol(NO_DOCUMENT.into())),
    }
}

/// Why there is no document.
pub(crate) fn explain(target: &Target, error: CallError) -> Failure {
    match &error {
        CallError::Rejected(rejection) if rejection.code == Code::METHOD_NOT_FOUND => {
            Failure::new(Exit::Rejected, "the server does not describe its methods: it has no rpc.discover")
                .advise("look them up in its documentation, and call them with `switchboard call`")
        }
        _ => target.explain(error),
    }
}

/// Whether this is a document: it lists methods.
pub(crate) fn is_document(json: &Json) -> bool {
    let members: Option<BTreeMap<String, Json>> = json.decode().ok();
    members.is_some_and(|members| members.get("methods").is_some_and(|methods| methods.kind() == Kind::Array))
}

/// Reads a document; nothing if it is none.
pub(crate) fn read(document: &Json) -> Option<Found> {
    // Read, it takes many times its bytes.
    let text = Some(document.as_bytes()).filter(|text| text.len() <= MOST)?;
    let document: Value = serde_json::from_slice(text).ok()?;
    let methods = document.get("methods")?.as_array()?;
    let reader = Reader { document: &document, left: Cell::new(MOST) };
    let info = |member: &str| reader.text(document.pointer(&format!("/info/{member}")));
    let title = format!("{} {}", info("title"), info("version")).trim().to_owned();
    let is_ours = methods.iter().any(|method| MARKS.iter().any(|mark| method.get(mark).is_some()));
    let methods =
        methods.iter().take_while(|_| reader.spend(THING)).filter_map(|method| reader.method(method));
    Some(Found { title, methods: methods.collect(), is_ours })
}

impl Found {
    /// The method of this name.
    pub(crate) fn method(&self, name: &str) -> Option<&Method> {
        self.methods.iter().find(|method| method.name == name)
    }

    /// Whether a method may be called twice without harm.
    pub(crate) fn is_repeatable(&self, name: &str) -> bool {
        self.method(name).is_some_and(|method| method.is_safe || method.is_idempotent)
    }
}

impl Method {
    /// The method with its parameters: `math/add(a, b)`, with `?` behind those that may be left out and `…` behind one that
    /// takes all that are left.
    pub(crate) fn signature(&self) -> String {
        let mark = |param: &Param| match param {
            param if param.is_variadic => "…",
            param if param.is_required => "",
            _ => "?",
        };
        let names = self.params.iter().map(|param| format!("{}{}", param.name, mark(param)));
        let names: Vec<_> = names.chain(self.takes_others.then(|| "…".to_owned())).collect();
        format!("{}({})", self.name, names.join(", "))
    }
}

/// Members that only Switchboard servers add to their methods.
const MARKS: [&str; 6] =
    ["x-safe", "x-idempotent", "x-durable", "x-stream", "x-subscription", "x-unknown-params"];
/// How often a reference may lead to another.
const HOPS: usize = 8;
/// As many bytes are kept of a document. What exceeds it is left out.
const MOST: usize = 16 << 20;
/// What a method, a parameter, or another element of a list counts for besides its text.
const THING: usize = 256;
/// The longest name, type or title, in bytes. What exceeds it is cut.
const LONGEST_NAME: usize = 1024;

struct Reader<'a> {
    document: &'a Value,
    /// How much may still be read.
    left: Cell<usize>,
}

impl<'a> Reader<'a> {
    /// Notes that so much was read; false if nothing more is to be.
    fn spend(&self, amount: usize) -> bool {
        self.left.set(self.left.get().saturating_sub(amount.saturating_add(1)));
        self.left.get() > 0
    }

    /// A text, on one line; empty if it is none.
    fn text(&self, value: Option<&Value>) -> String {
        let text = value.and_then(Value::as_str).unwrap_or_default();
        if !self.spend(text.len()) {
            return String::new();
        }
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// A value as JSON.
    fn json(&self, value: &Value) -> String {
        if !self.spend(0) {
            return String::new();
        }
        let text = value.to_string();
        if self.spend(text.len()) { text } else { String::new() }
    }

    /// A name as it is written, cut if it is very long; nothing if it is none.
    fn name(&self, value: Option<&Value>) -> Option<String> {
        let name = value?.as_str()?;
        let kept = &name[..name.floor_char_boundary(LONGEST_NAME)];
        if !self.spend(kept.len()) {
            return None;
        }
        // The mark keeps it from being taken for another.
        Some(if kept.len() < name.len() { format!("{kept}…") } else { kept.to_owned() })
    }

    /// What a reference within the document refers to.
    fn resolve(&self, mut value: &'a Value) -> &'a Value {
        for _ in 0..HOPS {
            let target = value.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix('#'));
            match target.and_then(|pointer| self.document.pointer(pointer)) {
                Some(found) => value = found,
                None => break,
            }
        }
        value
    }

    /// The elements of a member that is a list.
    fn list(&self, of: &'a Value, member: &str) -> impl Iterator<Item = &'a Value> {
        let list = of.get(member).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        list.iter().take_while(|_| self.spend(THING)).map(|value| self.resolve(value))
    }

    fn method(&self, method: &'a Value) -> Option<Method> {
        let method = self.resolve(method);
        let name = self.name(method.get("name"))?;
        let structure = self.text(method.get("paramStructure"));
        let is = |member: &str| method.get(member).is_some_and(|value| !matches!(value, Value::Bool(false)));
        let params: Vec<Param> = self.list(method, "params").filter_map(|param| self.param(param)).collect();
        let is_variadic = params.iter().any(|param| param.is_variadic);
        Some(Method {
            name,
            summary: self.text(method.get("summary")),
            description: self.text(method.get("description")),
            params,
            result: method
                .get("result")
                .filter(|_| !is("x-notification"))
                .map(|result| self.described(self.resolve(result))),
            errors: self
                .list(method, "errors")
                .filter_map(|error| Some((error.get("code")?.as_i64()?, self.text(error.get("message")))))
                .collect(),
            tags: self.list(method, "tags").map(|tag| self.text(tag.get("name"))).collect(),
            examples: self.list(method, "examples").map(|example| self.example(example)).collect(),
            is_deprecated: is("deprecated"),
            deprecation: self.text(method.get("x-deprecated-reason")),
            is_safe: is("x-safe"),
            is_idempotent: is("x-idempotent"),
            is_durable: is("x-durable"),
            is_stream: is("x-stream") || is("x-subscription"),
            is_stream_optional: method.pointer("/x-stream/optional") == Some(&Value::Bool(true)),
            // Documents have no other word for a list of positions without end.
            is_by_position: structure != "by-name" || is_variadic,
            is_by_name: structure != "by-position",
            takes_others: is("x-unknown-params"),
        })
    }

    fn param(&self, param: &'a Value) -> Option<Param> {
        let is_required = param.get("required").is_some_and(|required| *required == Value::Bool(true));
        let name = self.name(param.get("name"))?;
        let is_variadic = param.get("x-variadic").is_some_and(|variadic| *variadic == Value::Bool(true));
        Some(Param { name, is_required, is_variadic, value: self.described(param) })
    }

    /// A content descriptor.
    fn described(&self, value: &'a Value) -> Described {
        let schema = value.get("schema").unwrap_or(&Value::Null);
        let own = [value.get("summary"), value.get("description"), self.resolve(schema).get("description")];
        let text =
            own.map(|own| self.text(own)).into_iter().find(|text| !text.is_empty()).unwrap_or_default();
        let members = self.members(schema);
        Described {
            kind: self.kind(schema, 0),
            text,
            values: self.values(schema),
            rules: self.rules(schema),
            members,
        }
    }

    fn example(&self, example: &'a Value) -> Example {
        let params = self.list(example, "params").map(|param| {
            (self.text(param.get("name")), self.json(param.get("value").unwrap_or(&Value::Null)))
        });
        let result = example.get("result").map(|result| self.resolve(result));
        Example {
            name: self.text(example.get("name")),
            params: params.collect(),
            result: result.and_then(|result| result.get("value")).map(|value| self.json(value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::schema::VALUES;
    use super::*;

    fn found(text: &str) -> Found {
        read(&Json::parse(text.to_owned()).unwrap()).unwrap()
    }

    #[test]
    fn what_matters_is_read_through_references() {
        let found = found(
            r##"{"openrpc":"1.3.2","info":{"title":"T","version":"1"},"methods":[
                {"name":"add","summary":"Adds\n two.","params":[{"$ref":"#/components/contentDescriptors/A"},
                  {"name":"b","schema":{"type":["integer","null"]}}],"result":{"name":"sum","schema":{"type":"integer"}},
                  "errors":[{"code":-1,"message":"no"}],"x-safe":true},
                {"name":"b","x-safe":false,"x-idempotent":true,"x-stream":{"item":{}}}],
               "components":{"contentDescriptors":{"A":{"name":"a","required":true,"schema":{"$ref":"#/components/schemas/N"}}},
                 "schemas":{"N":{"type":"array","items":{"type":"number"},"description":"Numbers."}}}}"##,
        );
        assert_eq!(found.title, "T 1");
        let add = found.method("add").unwrap();
        assert_eq!((add.signature().as_str(), add.summary.as_str()), ("add(a, b?)", "Adds two."));
        assert_eq!(
            (add.params[0].value.kind.as_str(), add.params[0].value.text.as_str()),
            ("number[]", "Numbers.")
        );
        assert_eq!(add.params[1].value.kind, "integer | null");
        assert_eq!(add.errors, [(-1, "no".to_owned())]);
        let b = found.method("b").unwrap();
        assert!(!b.is_safe && b.is_idempotent && b.is_stream);
        assert!(found.is_repeatable("add") && found.is_repeatable("b") && !found.is_repeatable("c"));
    }

    #[test]
    fn odd_documents_are_read_as_far_as_they_go() {
        let check = |text: &str, methods: usize| assert_eq!(found(text).methods.len(), methods, "{text}");
        check(r#"{"methods":[]}"#, 0);
        check(r#"{"methods":[1,{"name":2},{"name":"a","params":7,"result":[],"errors":{}}]}"#, 1);
        check(
            r##"{"methods":[{"$ref":"#/methods/0"},{"name":"a","params":[{"$ref":"#/methods/1/params/0"}]}]}"##,
            1,
        );
        for text in ["[]", "5", r#"{"methods":{}}"#, "{}"] {
            assert!(read(&Json::parse(text.to_owned()).unwrap()).is_none(), "{text}");
        }
    }

    #[test]
    fn schemas_are_told_in_a_few_words() {
        let check = |schema: &str, expected: &str| {
            let schema: Value = serde_json::from_str(schema).unwrap();
            assert_eq!(
                Reader { document: &Value::Null, left: Cell::new(MOST) }.kind(&schema, 0),
                expected,
                "{schema}"
            );
        };
        check(r#"{"type":"string"}"#, "string");
        check(r#"{"enum":["a","b"]}"#, r#""a" | "b""#);
        let numbers = |count: usize| (1..=count).map(|number| number.to_string()).collect::<Vec<_>>();
        check(&format!(r#"{{"enum":[{}]}}"#, numbers(VALUES).join(",")), &numbers(VALUES).join(" | "));
        let more = format!("{} | …", numbers(VALUES).join(" | "));
        check(&format!(r#"{{"enum":[{}]}}"#, numbers(VALUES + 1).join(",")), &more);
        check(
            r#"{"anyOf":[{"type":"array","items":{"type":["string","null"]}},{"const":1}]}"#,
            "(string | null)[] | 1",
        );
        check(r#"{"type":"object","title":"User"}"#, "User");
        check("true", "any");
        check("{}", "any");
    }

    #[test]
    fn references_do_not_make_a_short_document_long() {
        let references = |to: &str, count: usize| vec![format!(r##"{{"$ref":"#/{to}"}}"##); count].join(",");
        let text = format!(
            r##"{{"methods":[{{"name":"a","description":"{}","params":[{}]}},{}],"s":{{"anyOf":[{}]}},
               "p":{{"name":"p","description":"{}","schema":{{"$ref":"#/s"}}}}}}"##,
            "x".repeat(100_000),
            references("p", 1000),
            references("methods/0", 1000),
            references("s", 1000),
            "y".repeat(100_000),
        );
        let found = found(&text);
        let length = |method: &Method| {
            let params = method.params.iter().map(|param| param.value.text.len() + param.value.kind.len());
            method.description.len() + params.sum::<usize>()
        };
        let all: usize = found.methods.iter().map(length).sum();
        assert!((1 << 20..=MOST).contains(&all), "{all}");
    }

    #[test]
    fn long_names_and_titles_are_cut_and_many_methods_left_out() {
        let references = |to: &str, count: usize| vec![format!(r##"{{"$ref":"#/{to}"}}"##); count].join(",");
        let text = format!(
            r##"{{"methods":[{{"name":"{}","params":[{}],"result":{{"schema":{{"type":"{}"}}}}}},{}],
               "p":{{"name":"{}","schema":{{"type":["object","{}"],"title":"{}"}}}}}}"##,
            "é".repeat(50_000),
            references("p", 300),
            "r".repeat(100_000),
            references("methods/0", 300),
            "n".repeat(100_000),
            "k".repeat(100_000),
            "t".repeat(100_000),
        );
        let found = found(&text);
        let first = &found.methods[0];
        assert_eq!(first.name, format!("{}…", "é".repeat(LONGEST_NAME / 2)));
        assert_eq!(first.result.as_ref().unwrap().kind, format!("{}…", "r".repeat(LONGEST_NAME)));
        let length = |method: &Method| {
            let params = method.params.iter().map(|param| THING + param.name.len() + param.value.kind.len());
            THING + method.name.len() + params.sum::<usize>()
        };
        let all: usize = found.methods.iter().map(length).sum();
        // The marks of what was cut are not counted.
        assert!((1 << 20..=MOST + MOST / 100).contains(&all), "{all}");
        assert!(size_of::<Param>() <= THING && size_of::<Method>() <= 2 * THING);
    }
}
