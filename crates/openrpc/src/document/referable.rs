//! Values that are embedded or referenced (OR-20).

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, IgnoredAny, IntoDeserializer, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const REF: &str = "$ref";

/// An embedded value, or a reference to one. Members beside a reference are dropped.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Referable<T> {
    /// An embedded value.
    Here(T),
    /// A reference, such as `#/components/errors/NotFound`.
    Ref(String),
}

impl<T> Referable<T> {
    /// The embedded value, if it is not a reference.
    #[must_use]
    pub fn here(&self) -> Option<&T> {
        match self {
            Referable::Here(value) => Some(value),
            Referable::Ref(_) => None,
        }
    }

    pub(super) fn here_mut(&mut self) -> Option<&mut T> {
        match self {
            Referable::Here(value) => Some(value),
            Referable::Ref(_) => None,
        }
    }
}

impl<T> From<T> for Referable<T> {
    fn from(value: T) -> Referable<T> {
        Referable::Here(value)
    }
}

impl<T: Serialize> Serialize for Referable<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Referable::Here(value) => value.serialize(serializer),
            Referable::Ref(reference) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry(REF, reference)?;
                map.end()
            }
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Referable<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Referable<T>, D::Error> {
        deserializer.deserialize_map(Either(PhantomData))
    }
}

/// Decides by the first member, so that nothing has to be kept aside and an error still knows its place. Documents are
/// read from values whose members are sorted, and `$ref` comes before every name of a member.
struct Either<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
    type Value = Referable<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Referable<T>, A::Error> {
        let first: Option<String> = map.next_key()?;
        if first.as_deref() != Some(REF) {
            return T::deserialize(MapAccessDeserializer::new(Again { first, map })).map(Referable::Here);
        }
        let reference = map.next_value()?;
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Referable::Ref(reference))
    }
}

/// A map whose first key was taken, and is given again.
struct Again<A> {
    first: Option<String>,
    map: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Again<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        match self.first.take() {
            Some(first) => seed.deserialize(first.into_deserializer()).map(Some),
            None => self.map.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}
