//! Resolving references inside one document (OR-20).
//!
//! Nothing is fetched. Chains of references are followed a limited number of times, so cycles end, and copies are
//! limited too: a small document cannot grow without bound.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::parse::{ParseError, read};
use super::{Document, ExamplePairing, MethodEntry, Referable};

/// How many references may lead to one thing.
const HOPS: usize = 32;

/// How many bytes a document may grow by, when what is named takes the place of references.
const COPIES: usize = 64_000_000;

/// Why a reference cannot be resolved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RefError {
    /// It points outside the document, and nothing is fetched.
    #[error("the reference {0:?} points outside the document; move its target into `components`")]
    Outside(String),
    /// Its target does not exist.
    #[error("the reference {0:?} points to nothing in the document")]
    Missing(String),
    /// It leads to too many other references, perhaps in a cycle.
    #[error("the reference {0:?} leads through more than {HOPS} other references")]
    Endless(String),
    /// Its target is invalid.
    #[error("the target of the reference {reference:?} is invalid: {error}")]
    Unfit {
        /// The reference.
        reference: String,
        /// What is wrong with the target.
        error: ParseError,
    },
    /// With all references replaced, the document would be too large.
    #[error("the references of the document expand to more than {COPIES} bytes")]
    TooMuch,
    /// The generated output would be too large.
    #[error("the document is too large: its schemas expand to more than {0} bytes")]
    TooLarge(usize),
}

/// Looks up references in a document.
#[derive(Clone, Debug)]
pub struct Resolver {
    root: Value,
}

impl Resolver {
    /// Looks up references in this document.
    #[must_use]
    pub fn new(document: &Document) -> Resolver {
        // Its parts are JSON, so it cannot fail to be.
        Resolver { root: serde_json::to_value(document).unwrap_or_default() }
    }

    /// The document as a value.
    #[must_use]
    pub fn document(&self) -> &Value {
        &self.root
    }

    /// The target of a value: itself, or what its `$ref` finally leads to.
    ///
    /// For schemas use this one step at a time: they may be recursive.
    ///
    /// # Errors
    ///
    /// When the reference cannot be resolved.
    pub fn follow<'a>(&'a self, value: &'a Value) -> Result<&'a Value, RefError> {
        let Some(first) = reference(value) else { return Ok(value) };
        let mut value = value;
        for _ in 0..=HOPS {
            let Some(reference) = reference(value) else { return Ok(value) };
            value = self.lookup(reference)?;
        }
        Err(RefError::Endless(first.to_owned()))
    }

    /// The target of a reference such as `#/components/schemas/User`.
    ///
    /// # Errors
    ///
    /// When it points outside the document, or to nothing.
    pub fn lookup(&self, reference: &str) -> Result<&Value, RefError> {
        let outside = || RefError::Outside(reference.to_owned());
        let pointer = decoded(reference.strip_prefix('#').ok_or_else(outside)?);
        self.root.pointer(&pointer).ok_or_else(|| RefError::Missing(reference.to_owned()))
    }
}

impl Document {
    /// Replaces references with their targets, except inside schemas, which may be recursive:
    /// use [`Resolver::follow`] for those.
    ///
    /// # Errors
    ///
    /// When a reference cannot be resolved, its target is invalid, or the result would be too large.
    pub fn resolved(mut self) -> Result<Document, RefError> {
        let mut copies = Copies { resolver: Resolver::new(&self), left: COPIES };
        for method in &mut self.methods {
            copies.place(method)?;
            if let Referable::Here(method) = method {
                copies.place_in(method)?;
            }
        }
        Ok(self)
    }
}

/// Puts copies in the place of references, as long as there are not too many.
struct Copies {
    resolver: Resolver,
    left: usize,
}

impl Copies {
    fn place_in(&mut self, method: &mut MethodEntry) -> Result<(), RefError> {
        self.place_all(&mut method.tags)?;
        self.place_all(&mut method.params)?;
        method.result.as_mut().map_or(Ok(()), |result| self.place(result))?;
        self.place_all(&mut method.errors)?;
        self.place_all(&mut method.links)?;
        self.place_all(&mut method.examples)?;
        for example in &mut method.examples {
            if let Referable::Here(ExamplePairing { params, result, .. }) = example {
                self.place_all(params)?;
                result.as_mut().map_or(Ok(()), |result| self.place(result))?;
            }
        }
        Ok(())
    }

    fn place_all<T: DeserializeOwned>(&mut self, places: &mut [Referable<T>]) -> Result<(), RefError> {
        places.iter_mut().try_for_each(|place| self.place(place))
    }

    fn place<T: DeserializeOwned>(&mut self, place: &mut Referable<T>) -> Result<(), RefError> {
        let Referable::Ref(reference) = place else { return Ok(()) };
        let first = self.resolver.lookup(reference)?;
        let named = self.resolver.follow(first)?;
        self.left = self.left.checked_sub(weight(named)).ok_or(RefError::TooMuch)?;
        let unfit = |error| RefError::Unfit { reference: reference.clone(), error };
        let value = read(named.clone(), "").map_err(unfit)?;
        *place = Referable::Here(value);
        Ok(())
    }
}

/// The `$ref` of a value.
fn reference(value: &Value) -> Option<&str> {
    value.as_object()?.get("$ref")?.as_str()
}

/// What a value counts for, besides its texts.
pub(crate) const NODE: usize = 32;

/// How many bytes a value has in memory, more or less. It was read within the limit of nesting, so this does not go deep.
pub(crate) fn weight(value: &Value) -> usize {
    NODE + match value {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(weight).sum(),
        Value::Object(members) => members.iter().map(|(name, value)| name.len() + weight(value)).sum(),
        _ => 0,
    }
}

/// A fragment, percent-decoded; one that is not text stays as it is, and matches nothing.
pub(crate) fn decoded(fragment: &str) -> Cow<'_, str> {
    if !fragment.contains('%') {
        return Cow::Borrowed(fragment);
    }
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = |at: usize| after.get(at).and_then(|digit| char::from(*digit).to_digit(16));
        let byte = match (first, hex(0), hex(1)) {
            (b'%', Some(high), Some(low)) => u8::try_from(high * 16 + low).ok(),
            _ => None,
        };
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(fragment), Cow::Owned)
}
