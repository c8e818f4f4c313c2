//! A call in the query of a URL.

use switchboard_core::{Id, Json};

/// Makes a request object of a query. Its limits are those of any other request object: they are applied when it is read.
///
/// # Errors
///
/// What is wrong with the query.
pub(in super::super) fn request(query: &str) -> Result<Vec<u8>, &'static str> {
    let (mut method, mut id) = (None, None);
    let mut params = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (decode(name)?, decode(value)?);
        match &*name {
            "method" if method.is_some() => return Err("`method` appears more than once in the query"),
            "method" => method = Some(string(&value)),
            "id" if id.is_some() => return Err("`id` appears more than once in the query"),
            "id" => id = Some(identifier(&value)),
            _ => {
                params.push(if params.is_empty() { b'{' } else { b',' });
                params.extend_from_slice(string(&name).as_bytes());
                params.push(b':');
                params.extend_from_slice(json(&value).as_bytes());
            }
        }
    }
    let method = method.ok_or("the query needs a method, as in `?method=add&a=2&b=3`")?;
    let mut text = br#"{"jsonrpc":"2.0","method":"#.to_vec();
    text.extend_from_slice(method.as_bytes());
    if !params.is_empty() {
        text.extend_from_slice(b",\"params\":");
        text.extend_from_slice(&params);
        text.push(b'}');
    }
    text.extend_from_slice(b",\"id\":");
    text.extend_from_slice(id.unwrap_or_else(|| Id::from(1)).as_bytes());
    text.push(b'}');
    Ok(text)
}

/// The name of the method that a query calls, if it is well formed.
pub(in super::super) fn method(query: &str) -> Option<String> {
    let mut pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.find(|(name, _)| decode(name).as_deref() == Ok("method")).and_then(|(_, value)| decode(value).ok())
}

/// A number or a string in quotes as it is; anything else is a string.
fn identifier(value: &str) -> Id {
    let is_id = matches!(value.as_bytes().first(), Some(b'-' | b'0'..=b'9' | b'"'));
    match parse(value).filter(|_| is_id) {
        Some(json) => Id::from_json(&json),
        None => Id::from(value),
    }
}

fn json(value: &str) -> Json {
    parse(value).unwrap_or_else(|| string(value))
}

fn parse(value: &str) -> Option<Json> {
    Json::parse(value.to_owned()).ok().filter(|json| json.as_str().len() == value.len())
}

fn string(value: &str) -> Json {
    Json::encode_ref(value).expect("a string can be written")
}

/// Undoes the encoding of a form: `%20` and `+` are spaces.
fn decode(text: &str) -> Result<String, &'static str> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        bytes.push(match first {
            b'+' => b' ',
            b'%' => {
                let [high, low, after @ ..] = rest else { return Err(CUT) };
                rest = after;
                digit(*high)? << 4 | digit(*low)?
            }
            byte => *byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| "the query is not UTF-8")
}

const CUT: &str = "in the query a `%` must be followed by two hexadecimal digits";

fn digit(byte: u8) -> Result<u8, &'static str> {
    match byte {
        b'0'..=b'9' => Ok(byte - b'0'),
        b'a'..=b'f' => Ok(byte - b'a' + 10),
        b'A'..=b'F' => Ok(byte - b'A' + 10),
        _ => Err(CUT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // JH-27
    #[test]
    fn a_query_is_a_call_with_named_parameters() {
        let check = |query: &str, expected: &str| {
            let text = request(query).map(|text| String::from_utf8(text).unwrap());
            assert_eq!(text.as_deref(), Ok(expected), "{query}");
        };
        check("method=m", r#"{"jsonrpc":"2.0","method":"m","id":1}"#);
        check("id=7&method=a%2Fb&", r#"{"jsonrpc":"2.0","method":"a/b","id":7}"#);
        check("method=m&id=-1.5", r#"{"jsonrpc":"2.0","method":"m","id":-1.5}"#);
        check("method=m&id=x7", r#"{"jsonrpc":"2.0","method":"m","id":"x7"}"#);
        check("method=m&id=%227%22", r#"{"jsonrpc":"2.0","method":"m","id":"7"}"#);
        check("method=m&id=[1]", r#"{"jsonrpc":"2.0","method":"m","id":"[1]"}"#);
        check("method=m&id=null", r#"{"jsonrpc":"2.0","method":"m","id":"null"}"#);
        check(
            "method=m&a=1&b=x+y&c=%221%22&d=[1,{}]&e=true&f=null&g=&h",
            r#"{"jsonrpc":"2.0","method":"m","params":{"a":1,"b":"x y","c":"1","d":[1,{}],"e":true,"f":null,"g":"","h":""},"id":1}"#,
        );
        check("method=m&a=+1&b=01", r#"{"jsonrpc":"2.0","method":"m","params":{"a":" 1","b":"01"},"id":1}"#);
        check("method=%22", r#"{"jsonrpc":"2.0","method":"\"","id":1}"#);
    }

    #[test]
    fn a_query_that_can_be_read_in_two_ways_is_refused() {
        for query in
            ["", "a=1", "method=a&method=b", "method=a&id=1&id=2", "method=%4", "method=%zz", "method=%ff"]
        {
            assert!(request(query).is_err(), "{query}");
        }
        assert_eq!(method("id=1&m%65thod=a+b").as_deref(), Some("a b"));
        assert_eq!(method("id=1"), None);
        // As `request` has it: a name without a value is an empty one.
        assert_eq!(method("id=1&method").as_deref(), Some(""));
    }
}
