//! Parameters as they are written on a command line.

use switchboard::{Json, Kind};

use crate::failure::Failure;
use crate::text;

/// Reads the parameters of a call. Without words, no params are sent.
///
/// - one JSON array or object is all of them;
/// - `name=value` gives each by name, other values by position: as JSON if they are, as strings otherwise;
/// - `-` is one JSON array or object from stdin.
pub(crate) fn read(words: &[String]) -> Result<Option<Json>, Failure> {
    match words {
        [only] if only == "-" => whole(text::read(only)?.into_bytes()).map(Some),
        _ if words.iter().any(|word| word == "-") => {
            Err(Failure::usage("`-` reads all parameters from stdin, so it cannot be combined with others")
                .advise("leave the others out, or write `'\"-\"'` for the string"))
        }
        _ => of_words(words),
    }
}

/// The parameters that these words stand for, as for [`read`] but without stdin.
pub(crate) fn of_words(words: &[String]) -> Result<Option<Json>, Failure> {
    match words {
        [] => Ok(None),
        [only] if only.starts_with(['[', '{']) => whole(only.clone().into_bytes()).map(Some),
        _ => listed(words).map(Some),
    }
}

/// All parameters as one JSON text.
fn whole(text: Vec<u8>) -> Result<Json, Failure> {
    let json = Json::parse(text).map_err(|error| {
        Failure::usage(format!("the parameters are not JSON: {error}"))
            .advise("write them as `'[2, 3]'`, `'{\"a\": 2}'` or `a=2`")
    })?;
    match json.kind() {
        Kind::Array | Kind::Object => Ok(json),
        other => Err(Failure::usage(format!("the parameters are {}", other.with_article()))
            .advise("give an array or an object")),
    }
}

/// Parameters one by one, all by name or all by position.
fn listed(words: &[String]) -> Result<Json, Failure> {
    let named: Vec<(&str, &str)> = words.iter().filter_map(|word| name_and_value(word)).collect();
    if named.is_empty() {
        let values: Vec<Json> = words.iter().map(|word| value(word)).collect();
        return Ok(encode(&values));
    }
    if named.len() < words.len() {
        let bare = words.iter().find(|word| name_and_value(word).is_none()).map_or("", String::as_str);
        let what = format!("{bare:?} has no name, but {:?} has one", named[0].0);
        return Err(Failure::usage(what).advise(
            "pass all parameters by name, or all by position; quote a string that contains `=`: `'\"a=b\"'`",
        ));
    }
    let mut text = String::from("{");
    for (index, (name, word)) in named.iter().enumerate() {
        if named[..index].iter().any(|(earlier, _)| earlier == name) {
            return Err(
                Failure::usage(format!("the parameter {name:?} is given twice")).advise("leave one out")
            );
        }
        let comma = if index > 0 { "," } else { "" };
        text.push_str(&format!("{comma}{}:{}", encode(name), value(word)));
    }
    text.push('}');
    whole(text.into_bytes())
}

/// The parts of `name=value`. If the text before the `=` does not look like a name, the word is a value that contains a `=`.
pub(crate) fn name_and_value(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let begins = name.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$'));
    let is_name = begins && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '-' | '.'));
    is_name.then_some((name, value))
}

/// A value: JSON if it is, a string otherwise.
fn value(word: &str) -> Json {
    Json::parse(word.to_owned()).unwrap_or_else(|_| encode(word))
}

fn encode<T: serde::Serialize + ?Sized>(value: &T) -> Json {
    Json::encode_ref(value).expect("strings and JSON are JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn parameters_are_json_names_or_positions() {
        let check = |given: &[&str], expected: &str| {
            assert_eq!(read(&words(given)).unwrap().unwrap().as_str(), expected, "{given:?}");
        };
        check(&["[2, 3]"], "[2, 3]");
        check(&[r#"{"a":2}"#], r#"{"a":2}"#);
        check(&["a=2", "b=x y", "c=\"5\"", "d=[1]", "e="], r#"{"a":2,"b":"x y","c":"5","d":[1],"e":""}"#);
        check(&["a=b=c"], r#"{"a":"b=c"}"#);
        check(&["n=12345678901234567890123"], r#"{"n":12345678901234567890123}"#);
        check(&["2", "3"], "[2,3]");
        check(&["hello"], r#"["hello"]"#);
        check(&["[1]", "true"], "[[1],true]");
        check(&["http://x/?a=b", "\"a=b\""], r#"["http://x/?a=b","a=b"]"#);
        check(&["é=1"], r#"{"é":1}"#);
        assert_eq!(read(&[]).unwrap(), None);
    }

    #[test]
    fn wrong_parameters_are_explained() {
        let check = |given: &[&str], expected: &str| {
            let Failure::Trouble(trouble) = read(&words(given)).unwrap_err() else { panic!("{given:?}") };
            assert!(trouble.what.contains(expected), "{given:?}: {}", trouble.what);
        };
        check(&["a=1", "2"], "\"2\" has no name");
        check(&["a=1", "a=2"], "given twice");
        check(&["[1,]"], "not JSON: expected a value at byte 3");
        check(&["-", "a=1"], "stdin");
    }

    #[test]
    fn parameters_from_stdin_are_an_array_or_an_object() {
        assert_eq!(whole(b" [1] \n".to_vec()).unwrap().as_str(), "[1]");
        assert!(whole(b"5".to_vec()).is_err());
        assert!(whole(Vec::new()).is_err());
    }
}
