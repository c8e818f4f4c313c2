//! From references to what they name, inside of one document (OR-20).
//!
//! Nothing is fetched. Chains of references are followed a bounded number of times, so cycles end, and what is copied is
//! bounded too: a small document cannot be made to grow without end.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::parse::{ParseError, read};
use super::{Document, ExamplePairing, Method, Referable};

/// How many references may lead to one thing.
const HOPS: usize = 32;

/// How many bytes a document may grow by, when what is named takes the place of references.
const COPIES: usize = 64_000_000;

/// Why a reference leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RefError {
    /// It leads out of the document, and nothing is fetched.
    #[error("the reference {0:?} leads out of the document; put what it names into `components`")]
    Outside(String),
    /// Nothing stands where it leads.
    #[error("the reference {0:?} leads to nothing in the document")]
    Missing(String),
    /// It leads to other references, and those perhaps in a circle.
    #[error("the reference {0:?} leads to more than {HOPS} others, one after another")]
    Endless(String),
    /// What it leads to is not what has to stand there.
    #[error("what the reference {reference:?} leads to does not fit: {error}")]
    Unfit {
        /// The reference.
        reference: String,
        /// What does not fit.
        error: ParseError,
    },
    /// With what references name in their place, the document would be too large.
    #[error("the references of the document stand for more than {COPIES} bytes")]
    TooMuch,
    /// What is made of the document would be too large.
    #[error("the document is too large: its schemas stand for more than {0} bytes when they are written out")]
    TooLarge(usize),
}

/// A document to look things up in.
#[derive(Clone, Debug)]
pub struct Resolver {
    root: Value,
}

impl Resolver {
    /// Looks things up in this document.
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

    /// What a value stands for: itself, or what its `$ref` leads to, in the end.
    ///
    /// Of schemas use this one step at a time: they may hold themselves.
    ///
    /// # Errors
    ///
    /// When the reference leads nowhere.
    pub fn follow<'a>(&'a self, value: &'a Value) -> Result<&'a Value, RefError> {
        let Some(first) = reference(value) else { return Ok(value) };
        let mut value = value;
        for _ in 0..=HOPS {
            let Some(reference) = reference(value) else { return Ok(value) };
            value = self.lookup(reference)?;
        }
        Err(RefError::Endless(first.to_owned()))
    }

    /// What stands where a reference such as `#/components/schemas/User` leads.
    ///
    /// # Errors
    ///
    /// When it leads out of the document, or nothing stands there.
    pub fn lookup(&self, reference: &str) -> Result<&Value, RefError> {
        let outside = || RefError::Outside(reference.to_owned());
        let pointer = decoded(reference.strip_prefix('#').ok_or_else(outside)?);
        self.root.pointer(&pointer).ok_or_else(|| RefError::Missing(reference.to_owned()))
    }
}

impl Document {
    /// The same document with what references name in their place, except inside of schemas, which may hold themselves:
    /// [`Resolver::follow`] leads through those.
    ///
    /// # Errors
    ///
    /// When a reference leads nowhere, or to something that does not fit; or when all that they name would be too much.
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
    fn place_in(&mut self, method: &mut Method) -> Result<(), RefError> {
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

/// A fragment without its percent signs; one that is no text stays as it is, and leads nowhere.
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
