//! Test vectors: one message, and what may come back.
//!
//! The files are lists of `{name, input, expect, basis, req}`, with `mode` in those of 1.0. `input` is exactly one
//! message. `expect` is read by the rules given at each kind.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde::Deserialize;

use crate::carrier::Heard;
use crate::shape;
use crate::tree::Tree;

/// One vector.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vector {
    /// What it is about; unique in its file.
    pub name: String,
    /// Which kind of server or client it is for; 2.0 vectors have none.
    pub mode: Option<Mode>,
    input: String,
    input_encoding: Option<String>,
    /// What may come back.
    pub expect: Expect,
    /// Where the expectation comes from.
    pub basis: String,
    /// The rules it tests.
    pub req: Vec<String>,
    /// More about it.
    pub note: Option<String>,
}

/// Which kind of server or client a vector is for.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// A server of 1.0.
    V1,
    /// A server of both versions.
    Mixed,
    /// A server of 2.0 only.
    Strict2,
    /// A client that hears the input as an answer.
    Client,
}

/// What may come back.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Expect {
    /// Nothing at all.
    None,
    /// Exactly one object of 2.0.
    Single(Single),
    /// An array of exactly these, in any order.
    Batch {
        /// The responses.
        responses: Vec<Tree>,
    },
    /// Any of these; the first is the default of a strict server.
    OneOf {
        /// The options.
        options: Vec<Expect>,
    },
    /// Several messages of 2.0, in this order.
    Sequence {
        /// The responses.
        responses: Vec<Tree>,
    },
    /// Exactly one object with the three members of 1.0.
    V1(Single),
    /// A failure in the shape of 1.0.
    V1Error {
        /// The identifier.
        id: Tree,
        /// The code, where it matters.
        code: Option<i64>,
    },
    /// An array of exactly these, each in the shape of its own version, in any order.
    MixedBatch {
        /// The responses.
        responses: Vec<Tree>,
    },
    /// A refusal by the carrier's own means.
    CloseOrError {},
    /// A client takes this as the result.
    ClientAccepts {
        /// The result.
        value: Tree,
    },
    /// A client takes this as the failure.
    ClientError {
        /// The error.
        value: Tree,
    },
    /// A client does not take it as the answer.
    ClientIgnoresOrCloses,
}

/// What one response must be like.
#[derive(Debug, Deserialize)]
pub struct Single {
    /// Members that are there with these values. Of an error only the code counts, unless `exact_error`.
    pub response: Tree,
    #[serde(default)]
    exact_error: bool,
    #[serde(default)]
    has_members: Vec<String>,
    #[serde(default)]
    lacks_members: Vec<String>,
    /// What must stand nowhere in the raw text.
    #[serde(default)]
    must_not_contain: Vec<String>,
    /// The identifier, spelled like this.
    id_raw: Option<String>,
    /// The result, spelled like this.
    result_raw: Option<String>,
}

impl Vector {
    /// All vectors of a file.
    #[must_use]
    pub fn read_all(file: &str) -> Vec<Vector> {
        serde_json::from_str(file).expect("the file holds vectors")
    }

    /// The message to send.
    #[must_use]
    pub fn input(&self) -> Bytes {
        match self.input_encoding.as_deref() {
            None => Bytes::copy_from_slice(self.input.as_bytes()),
            Some("base64") => BASE64_STANDARD.decode(&self.input).expect("the input is base64").into(),
            Some(other) => panic!("{}: unknown encoding {other}", self.name),
        }
    }
}

impl Expect {
    /// Says why this is not what came back, or which option of several it is.
    ///
    /// # Errors
    ///
    /// What is wrong with what was heard.
    pub fn check(&self, heard: &Heard) -> Result<usize, String> {
        if let Expect::OneOf { options } = self {
            let fits = options.iter().position(|option| option.check(heard).is_ok());
            return fits.ok_or_else(|| format!("none of the options fits {heard:?}"));
        }
        let messages = match heard {
            Heard::Messages(messages) => messages,
            Heard::Refused if matches!(self, Expect::CloseOrError {}) => return Ok(0),
            _ => return Err(format!("the carrier gave {heard:?}")),
        };
        let trees = messages.iter().map(Tree::of_message).collect::<Result<Vec<_>, _>>()?;
        self.check_messages(&trees, messages).map(|()| 0)
    }

    fn check_messages(&self, trees: &[Tree], raw: &[Bytes]) -> Result<(), String> {
        match (self, trees) {
            (Expect::None, []) => Ok(()),
            (Expect::Single(expected), [tree]) => {
                shape::v2(tree)?;
                expected.check(tree, &String::from_utf8_lossy(&raw[0]))
            }
            (Expect::V1(expected), [tree]) => {
                shape::v1(tree)?;
                expected.check(tree, &String::from_utf8_lossy(&raw[0]))
            }
            (Expect::V1Error { id, code }, [tree]) => v1_error(tree, id, *code),
            (Expect::Batch { responses } | Expect::MixedBatch { responses }, [Tree::Array(found)]) => {
                multiset(found, responses)
            }
            (Expect::Sequence { responses }, found) if found.len() == responses.len() => {
                found.iter().zip(responses).try_for_each(|(found, expected)| response(found, expected))
            }
            _ => Err(format!("expected {self:?}, found {} messages", trees.len())),
        }
    }
}

impl Single {
    fn check(&self, found: &Tree, raw: &str) -> Result<(), String> {
        let holds = |name: &String| found.member(name).is_some();
        if let Some(missing) = self.has_members.iter().find(|name| !holds(name)) {
            return Err(format!("{missing} is missing in {raw}"));
        }
        if let Some(surplus) = self.lacks_members.iter().find(|name| holds(name)) {
            return Err(format!("{surplus} does not belong into {raw}"));
        }
        if let Some(secret) = self.must_not_contain.iter().find(|secret| raw.contains(*secret)) {
            return Err(format!("{secret:?} must not stand in {raw}"));
        }
        for (name, expected) in [("id", &self.id_raw), ("result", &self.result_raw)] {
            let found = found.member(name).map(Tree::to_string);
            if expected.is_some() && *expected != found {
                return Err(format!("{name} is {found:?}, and not {expected:?}"));
            }
        }
        if self.exact_error {
            let error = self.response.member("error").expect("an exact error is given");
            let is_exact = found.member("error").is_some_and(|found| found.matches(error));
            return if is_exact { Ok(()) } else { Err(format!("the error is not exactly that: {raw}")) };
        }
        members(found, &self.response)
    }
}

/// Every list element is answered by one response and the other way round, in any order.
fn multiset(found: &[Tree], expected: &[Tree]) -> Result<(), String> {
    let mut left: Vec<_> = found.iter().collect();
    for one in expected {
        let place = left.iter().position(|found| response(found, one).is_ok());
        let place = place.ok_or_else(|| format!("{one} is not among {found:?}"))?;
        left.remove(place);
    }
    if left.is_empty() { Ok(()) } else { Err(format!("nobody expects {left:?}")) }
}

/// A response of either version, told by what is expected.
fn response(found: &Tree, expected: &Tree) -> Result<(), String> {
    match expected.member("jsonrpc") {
        Some(_) => shape::v2(found)?,
        None => shape::v1(found)?,
    }
    members(found, expected)
}

/// All expected members are there. Of an error object only the code is compared.
fn members(found: &Tree, expected: &Tree) -> Result<(), String> {
    for (name, expected) in expected.members() {
        let Some(found) = found.member(name) else { return Err(format!("{name} is missing in {found}")) };
        let fits = match (name.as_str(), expected) {
            ("error", Tree::Object(_)) => {
                let code = expected.member("code").expect("an expected error has a code");
                found.member("code").is_some_and(|found| found.matches(code))
            }
            _ => found.matches(expected),
        };
        if !fits {
            return Err(format!("{name} is {found}, and not {expected}"));
        }
    }
    Ok(())
}

fn v1_error(found: &Tree, id: &Tree, code: Option<i64>) -> Result<(), String> {
    shape::v1(found)?;
    let error = found.member("error").filter(|error| !matches!(error, Tree::Null));
    let Some(error) = error else { return Err(format!("{found} is no failure")) };
    shape::error(error)?;
    let code_fits = code.is_none_or(
        |code| matches!(error.member("code"), Some(Tree::Number(found)) if *found == code.to_string()),
    );
    let id_fits = found.member("id").is_some_and(|found| found.matches(id));
    if code_fits && id_fits { Ok(()) } else { Err(format!("{found} has another code or id")) }
}
