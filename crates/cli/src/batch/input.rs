//! Calls in a file: a JSON array of requests, or one call per line.

use std::collections::BTreeMap;
use std::path::Path;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use switchboard::{Call, Json, Kind};

use crate::failure::Failure;
use crate::{params, text, words};

/// One call of the input.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The identifier that its answer is shown with: its own, or its number.
    pub(crate) id: Json,
    pub(crate) call: Call,
}

/// Reads all calls of a file, or of stdin if it is `-`.
pub(crate) fn read(place: &Path) -> Result<Vec<Entry>, Failure> {
    let entries = parse(&text::read(place)?)?;
    if entries.is_empty() {
        return Err(Failure::usage(format!("{} contains no calls", text::name(place)))
            .advise("write one per line, such as `math/add a=2 b=3`, or a JSON array of requests"));
    }
    Ok(entries)
}

/// Reads calls from a text.
pub(crate) fn parse(text: &str) -> Result<Vec<Entry>, Failure> {
    if text.trim_start().starts_with('[') {
        let list = Json::parse(text.trim().to_owned()).map_err(|error| {
            Failure::usage(format!("the input starts like a JSON array, but is not JSON: {error}"))
        })?;
        let requests: Vec<Json> = list.decode().map_err(|error| Failure::usage(error.to_string()))?;
        return requests.iter().enumerate().map(|(at, json)| request(json, at + 1)).collect();
    }
    // One request may span several lines.
    if text.trim_start().starts_with('{')
        && let Ok(json) = Json::parse(text.trim().to_owned())
    {
        return Ok(vec![request(&json, 1)?]);
    }
    let mut entries = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let number = entries.len() + 1;
        entries.push(parse_line(line, number).map_err(|failure| failure.at(format!("line {}", at + 1)))?);
    }
    Ok(entries)
}

fn parse_line(line: &str, number: usize) -> Result<Entry, Failure> {
    if line.starts_with('{') {
        let json = Json::parse(line.to_owned())
            .map_err(|error| Failure::usage(format!("the request is not JSON: {error}")))?;
        return request(&json, number);
    }
    let (line, is_notification) = line.strip_prefix('!').map_or((line, false), |rest| (rest, true));
    let words = words::split(line)?;
    let (method, params) = words.split_first().ok_or_else(|| {
        Failure::usage("the method is missing").advise("write it as `! logEvent message=hello`")
    })?;
    let params = params::of_words(params)?;
    let call = match is_notification {
        true => Call::notification(method.as_str(), params),
        false => Call::new(method.as_str(), params),
    };
    Ok(Entry { id: numbered(number), call })
}

/// A request as it is written on the wire.
fn request(json: &Json, number: usize) -> Result<Entry, Failure> {
    let wrong = |what: &str| Failure::usage(format!("request {number} {what}"));
    if json.kind() != Kind::Object {
        return Err(wrong("is not a JSON object"));
    }
    let Members(members) = json.decode().map_err(|error| wrong(&format!("cannot be read: {error}")))?;
    let (mut version, mut method, mut params, mut id, mut others) = (None, None, None, None, Vec::new());
    for (name, value) in members {
        let known = match name.as_str() {
            "jsonrpc" => &mut version,
            "method" => &mut method,
            "params" => &mut params,
            "id" => &mut id,
            _ => {
                others.push((name, value));
                continue;
            }
        };
        if known.replace(value).is_some() {
            // Servers refuse it too.
            return Err(wrong(&format!("has the member `{name}` twice")));
        }
    }
    if let Some(version) = version.filter(|version| version.as_str() != "\"2.0\"") {
        return Err(wrong(&format!("has version {version}"))
            .advise("leave `jsonrpc` out; requests are sent as 2.0, or as 1.0 with `--v1`"));
    }
    let method = method.ok_or_else(|| wrong("has no method"))?;
    let method: String = method.decode().map_err(|_| wrong("has a method that is not a string"))?;
    let params = params.filter(|params| params.kind() != Kind::Null);
    if params.as_ref().is_some_and(|params| !matches!(params.kind(), Kind::Array | Kind::Object)) {
        return Err(wrong("has params that are neither an array nor an object"));
    }
    let (id, mut call) = match id {
        Some(id) if !matches!(id.kind(), Kind::String | Kind::Number | Kind::Null) => {
            return Err(wrong("has an id that is neither a string nor a number"));
        }
        Some(id) => (id, Call::new(method, params)),
        None => (numbered(number), Call::notification(method, params)),
    };
    if !others.is_empty() {
        call.cx.insert(switchboard::Members(object(&others)));
    }
    Ok(Entry { id, call })
}

/// All members of a request, as they are written.
struct Members(Vec<(String, Json)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members, D::Error> {
        struct Reading;
        impl<'de> Visitor<'de> for Reading {
            type Value = Members;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Reading)
    }
}

/// Members as an object; the last of one name counts.
fn object(members: &[(String, Json)]) -> Json {
    let members: BTreeMap<&String, &Json> = members.iter().map(|(name, value)| (name, value)).collect();
    Json::encode_ref(&members).expect("names and JSON are JSON")
}

fn numbered(number: usize) -> Json {
    Json::encode_ref(&number).expect("a number is JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let one = |entry: &Entry| {
            let mark = if entry.call.is_notification() { "! " } else { "" };
            let params = entry.call.params.as_ref().map_or(String::new(), |params| format!(" {params}"));
            format!("{} {mark}{}{params}", entry.id, entry.call.method)
        };
        parse(text).unwrap().iter().map(one).collect()
    }

    #[test]
    fn calls_are_read_one_per_line() {
        let text = "# comment\n\nmath/add a=2 b=3\n! logEvent message=\"a b\"\n  sum\n{\"method\":\"x\",\"id\":\"q\"}\n";
        let expected =
            [r#"1 math/add {"a":2,"b":3}"#, r#"2 ! logEvent {"message":"a b"}"#, "3 sum", r#""q" x"#];
        assert_eq!(shown(text), expected);
    }

    #[test]
    fn a_json_array_is_a_list_of_requests() {
        let text = r#" [ {"jsonrpc":"2.0","id":7,"method":"a","params":[1]},
            {"method":"b","params":null} ] "#;
        assert_eq!(shown(text), ["7 a [1]", "2 ! b"]);
        assert_eq!(shown("{\n\"method\": \"a\", \"id\": null\n}\n"), ["null a"]);
        assert!(parse("[]").unwrap().is_empty());
        assert!(parse("\n# nothing\n").unwrap().is_empty());
    }

    #[test]
    fn what_else_a_request_holds_is_sent_with_it() {
        let entries = parse(r#"[{"method":"a","id":1,"trace":"x","b":[1.50]}]"#).unwrap();
        let members = entries[0].call.cx.get::<switchboard::Members>().unwrap();
        assert_eq!(members.0.as_str(), r#"{"b":[1.50],"trace":"x"}"#);
    }

    #[test]
    fn errors_name_their_line() {
        let check = |text: &str, expected: &str| {
            let Failure::Trouble(trouble) = parse(text).unwrap_err() else { panic!("{text}") };
            assert!(trouble.what.contains(expected), "{text}: {}", trouble.what);
        };
        check("sum\nmath/add a=1 2", "line 2: \"2\" has no name");
        check("!", "line 1: the method is missing");
        check("sum [1", "line 1: the [ is not closed");
        check("sum\n{\"method\": 5}", "line 2: request 2 has a method that is not a string");
        check("[1]", "request 1 is not a JSON object");
        check("[{}]", "request 1 has no method");
        check("[{\"method\":\"a\",\"params\":5}]", "neither an array nor an object");
        check("[{\"method\":\"a\",\"id\":{}}]", "has an id that is neither a string nor a number");
        check("[{\"method\":\"a\",\"method\":\"b\"}]", "request 1 has the member `method` twice");
        check("[{\"jsonrpc\":\"3.0\",\"method\":\"a\",\"id\":1}]", "request 1 has version \"3.0\"");
        check("[1", "not JSON");
    }
}
