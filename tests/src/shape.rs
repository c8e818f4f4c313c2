//! What every response must look like, whatever it says.

use crate::tree::Tree;

/// One response, or the responses to a batch, each in the shape of a version.
///
/// # Errors
///
/// Which part is in neither shape.
pub fn answer(found: &Tree) -> Result<(), String> {
    match found {
        Tree::Array(responses) if responses.is_empty() => Err("an empty array is no answer".to_owned()),
        Tree::Array(responses) => responses.iter().try_for_each(response),
        single => response(single),
    }
}

fn response(found: &Tree) -> Result<(), String> {
    if found.member("jsonrpc").is_some() { v2(found) } else { v1(found) }
}

/// Exactly one of result and error, a version and an identifier, and nothing else (J2-24 to J2-27).
///
/// # Errors
///
/// That it is not so.
pub fn v2(found: &Tree) -> Result<(), String> {
    let names: Vec<_> = found.members().iter().map(|(name, _)| name.as_str()).collect();
    let has = |name: &str| names.contains(&name);
    let is_v2 = matches!(found.member("jsonrpc"), Some(Tree::String(version)) if version == "2.0");
    let fits = names.len() == 3 && is_v2 && has("id") && has("result") != has("error");
    order(found)?;
    match found.member("error") {
        _ if !fits => Err(format!("{found} is not in the shape of 2.0")),
        Some(failure) => error(failure),
        None => Ok(()),
    }
}

/// All three members, and at least one of result and error null (J1-06, J1-08).
///
/// # Errors
///
/// That it is not so.
pub fn v1(found: &Tree) -> Result<(), String> {
    let is_null = |name| matches!(found.member(name), Some(Tree::Null));
    let all = ["result", "error", "id"].iter().all(|name| found.member(name).is_some());
    let fits = found.members().len() == 3 && all && (is_null("result") || is_null("error"));
    order(found)?;
    if fits { Ok(()) } else { Err(format!("{found} is not in the shape of 1.0")) }
}

/// The members of every response in this message stand in the order in which the specification prints them.
///
/// # Errors
///
/// That they do not.
pub fn order(found: &Tree) -> Result<(), String> {
    const ORDER: [&str; 5] = ["jsonrpc", "result", "error", "stream", "id"];
    if let Tree::Array(messages) = found {
        return messages.iter().try_for_each(order);
    }
    let place = |(name, _): &(String, Tree)| ORDER.iter().position(|known| known == name);
    let places: Vec<_> = found.members().iter().filter_map(place).collect();
    if places.is_sorted() { Ok(()) } else { Err(format!("{found} is not in the order {ORDER:?}")) }
}

/// An integer code, a string message, and perhaps data (J2-38).
///
/// # Errors
///
/// That it is not so.
pub fn error(found: &Tree) -> Result<(), String> {
    let is_integer = matches!(found.member("code"), Some(Tree::Number(code)) if code.parse::<i64>().is_ok());
    let has_message = matches!(found.member("message"), Some(Tree::String(_)));
    let known = ["code", "message", "data"];
    let only_known = found.members().iter().all(|(name, _)| known.contains(&name.as_str()));
    if is_integer && has_message && only_known { Ok(()) } else { Err(format!("{found} is no error object")) }
}
