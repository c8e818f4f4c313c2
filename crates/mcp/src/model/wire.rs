//! Serialization in the shape of a revision.
//!
//! A wire type has the members of all revisions. It does not implement `Serialize`; only [`At`], a value with a revision, does.
//! So the compiler rejects code that writes a value without naming the revision.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use switchboard_core::Json;

use super::Revision;

/// A value whose JSON depends on the revision.
pub trait Wire {
    /// Writes the value in the shape of `revision`, without members that the revision lacks.
    ///
    /// # Errors
    ///
    /// Errors of the serializer.
    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error>;

    /// Whether the value is omitted where it is optional: `None`, `false`, an empty list or map.
    fn is_absent(&self) -> bool {
        false
    }

    /// The value in the shape of `revision`, as a `Serialize`.
    fn at(&self, revision: Revision) -> At<'_, Self>
    where
        Self: Sized,
    {
        At(self, revision)
    }

    /// The value as JSON in the shape of `revision`.
    fn to_json(&self, revision: Revision) -> Json
    where
        Self: Sized,
    {
        Json::encode_ref(&self.at(revision)).expect("wire types have string keys and write into memory")
    }
}

/// A value in the shape of a revision.
///
/// # Examples
///
/// ```
/// use switchboard_mcp::model::{At, Implementation, Revision};
///
/// let mut server = Implementation::new("desk", "1.0.0");
/// server.title = Some("Travel desk".to_owned());
/// let written = serde_json::to_string(&At(&server, Revision::V2025_03_26))?;
/// assert_eq!(written, r#"{"name":"desk","version":"1.0.0"}"#); // titles came later
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// Serializing a wire type without a revision does not compile:
///
/// ```compile_fail,E0277
/// use switchboard_mcp::model::Implementation;
///
/// let _ = serde_json::to_string(&Implementation::new("desk", "1.0.0"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct At<'a, T>(pub &'a T, pub Revision);

impl<T: Wire> Serialize for At<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(self.1, serializer)
    }
}

/// A member of a wire type: its name, and the revisions that have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member {
    /// The name on the wire.
    pub name: &'static str,
    /// The first revision that has it.
    pub first: Revision,
    /// The last revision that has it.
    pub last: Revision,
    /// Whether the member is required.
    pub is_required: bool,
}

impl Member {
    pub(super) const fn required(name: &'static str) -> Member {
        Member { name, first: Revision::V2024_11_05, last: Revision::V2026_07_28, is_required: true }
    }

    pub(super) const fn optional(name: &'static str) -> Member {
        Member { is_required: false, ..Member::required(name) }
    }

    pub(super) const fn since(self, first: Revision) -> Member {
        Member { first, ..self }
    }

    pub(super) const fn until(self, last: Revision) -> Member {
        Member { last, ..self }
    }

    /// Whether the revision has it.
    #[must_use]
    pub fn is_in(&self, revision: Revision) -> bool {
        (self.first..=self.last).contains(&revision)
    }
}

/// Defines a wire type: a struct whose members have a name on the wire and an optional range of revisions (`since`, `until`).
/// A member whose shape changed is written `via` a function of the value and the revision.
///
/// Generates the struct, a `Deserialize` that ignores unknown members and treats `null` as absent, an implementation of
/// [`Wire`], and the table `MEMBERS`.
macro_rules! wire {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            required {
                $(
                    $(#[$required_meta:meta])*
                    $required:ident: $required_ty:ty = $required_wire:literal $(via $required_via:path)?,
                )*
            }
            optional {
                $(
                    $(#[$optional_meta:meta])*
                    $optional:ident: $optional_ty:ty = $optional_wire:literal
                        $(since $since:ident)? $(until $until:ident)? $(via $via:path)?,
                )*
            }
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Deserialize)]
        #[non_exhaustive]
        pub struct $name {
            $( $(#[$required_meta])* #[serde(rename = $required_wire)] pub $required: $required_ty, )*
            $(
                $(#[$optional_meta])*
                #[serde(
                    rename = $optional_wire,
                    default,
                    deserialize_with = "crate::model::wire::null_is_absent"
                )]
                pub $optional: $optional_ty,
            )*
        }

        impl $name {
            /// All members, with their revisions.
            pub const MEMBERS: &'static [$crate::model::Member] = &[
                $( $crate::model::Member::required($required_wire), )*
                $(
                    $crate::model::Member::optional($optional_wire)
                        $( .since($crate::model::Revision::$since) )?
                        $( .until($crate::model::Revision::$until) )?,
                )*
            ];

            /// Writes the members into an open object.
            #[allow(dead_code, reason = "only some objects have members beside these")]
            pub(in crate::model) fn write_members<M: serde::ser::SerializeMap>(
                &self,
                revision: $crate::model::Revision,
                map: &mut M,
            ) -> Result<(), M::Error> {
                let mut members = $name::MEMBERS.iter();
                $(
                    let value = &self.$required;
                    $( let value = &$required_via(value, revision); )?
                    $crate::model::wire::write_member(value, members.next(), revision, map)?;
                )*
                $(
                    let value = &self.$optional;
                    $( let value = &$via(value, revision); )?
                    $crate::model::wire::write_member(value, members.next(), revision, map)?;
                )*
                Ok(())
            }
        }

        impl $crate::model::Wire for $name {
            fn write<S: serde::Serializer>(
                &self,
                revision: $crate::model::Revision,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                self.write_members(revision, &mut map)?;
                serde::ser::SerializeMap::end(map)
            }
        }
    };
}

/// Defines an enum whose values are strings on the wire.
macro_rules! tokens {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $( $(#[$variant_meta:meta])* $variant:ident = $wire:literal, )+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize)]
        #[non_exhaustive]
        pub enum $name {
            $( $(#[$variant_meta])* #[serde(rename = $wire)] $variant, )+
        }

        impl $name {
            /// All values, in order.
            pub const ALL: &'static [$name] = &[$( $name::$variant, )+];

            /// The value on the wire.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $( $name::$variant => $wire, )+ }
            }
        }

        impl $crate::model::Wire for $name {
            fn write<S: serde::Serializer>(
                &self,
                _: $crate::model::Revision,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(super) use {tokens, wire};

/// Writes a member, unless the revision lacks it or the value is absent. `member` is its row in `MEMBERS`.
pub(super) fn write_member<T: Wire, M: serde::ser::SerializeMap>(
    value: &T,
    member: Option<&Member>,
    revision: Revision,
    map: &mut M,
) -> Result<(), M::Error> {
    match member {
        Some(member) if member.is_in(revision) && (member.is_required || !value.is_absent()) => {
            map.serialize_entry(member.name, &At(value, revision))
        }
        _ => Ok(()),
    }
}

/// Treats `null` as absent, because some peers write absent members as `null`.
pub(super) fn null_is_absent<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

impl Wire for Json {
    /// Writes the text unchanged, including the order of members.
    fn write<S: Serializer>(&self, _: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize(serializer)
    }
}

impl Wire for String {
    fn write<S: Serializer>(&self, _: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl Wire for bool {
    fn write<S: Serializer>(&self, _: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(*self)
    }

    fn is_absent(&self) -> bool {
        !self
    }
}

impl Wire for u64 {
    fn write<S: Serializer>(&self, _: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(*self)
    }
}

impl Wire for f64 {
    /// Writes whole numbers without a fraction: `1`, not `1.0`.
    fn write<S: Serializer>(&self, _: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        let whole = *self as i32;
        if f64::from(whole) == *self {
            serializer.serialize_i32(whole)
        } else {
            serializer.serialize_f64(*self)
        }
    }
}

impl<T: Wire> Wire for Option<T> {
    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Some(value) => value.write(revision, serializer),
            None => serializer.serialize_unit(),
        }
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(|element| At(element, revision)))
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl<T: Wire + Clone> Wire for Cow<'_, [T]> {
    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(|element| At(element, revision)))
    }
}

impl<T: Wire> Wire for BTreeMap<String, T> {
    fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(name, value)| (name, At(value, revision))))
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}
