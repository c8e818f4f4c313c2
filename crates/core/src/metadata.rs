//! Metadata of calls and replies, on any transport: names and values.

use std::fmt;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use memchr::memchr;

use crate::codec::members;
use crate::json::Json;

/// Names and values that travel beside a call or a reply: HTTP headers, the headers of a message queue, or a member of the message
/// itself. Cheap to clone.
///
/// Names are case-insensitive. Values are bytes, usually text.
///
/// # Examples
///
/// ```
/// use switchboard_core::Metadata;
///
/// let mut metadata = Metadata::default();
/// metadata.insert("Retry-After", "3");
/// assert_eq!(metadata.text("retry-after"), Some("3"));
/// ```
#[derive(Clone, Default)]
pub struct Metadata(Option<Arc<Fields>>);

enum Fields {
    /// The header lines of an HTTP/1 request as they were received, parsed on first use.
    Head(Bytes),
    List(Vec<(Box<str>, Bytes)>),
    Other(Box<dyn MetadataSource>),
}

/// Metadata that a transport stores in its own form.
pub trait MetadataSource: Send + Sync + 'static {
    /// Calls `visit` with each name and value, until it returns false.
    fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'a str, &'a [u8]) -> bool);
}

impl Metadata {
    /// The header lines of an HTTP/1 request as they were received, each ended by CR LF. A line without a colon is ignored.
    #[must_use]
    pub fn from_head(lines: Bytes) -> Metadata {
        Metadata(Some(Arc::new(Fields::Head(lines))))
    }

    /// Replaces its content with these header lines, without an allocation if it is not shared; for transports
    /// that handle one request after another.
    pub fn set_head(&mut self, lines: Bytes) {
        match self.0.as_mut().and_then(Arc::get_mut) {
            Some(fields) => *fields = Fields::Head(lines),
            None => *self = Metadata::from_head(lines),
        }
    }

    /// Metadata that a transport stores in its own form.
    #[must_use]
    pub fn from_source(source: impl MetadataSource) -> Metadata {
        Metadata(Some(Arc::new(Fields::Other(Box::new(source)))))
    }

    /// Whether it has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let mut is_empty = true;
        self.visit(&mut |_, _| {
            is_empty = false;
            false
        });
        is_empty
    }

    /// The first value with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        let mut found = None;
        self.visit_named(name, |_, value| {
            found = Some(value);
            false
        });
        found
    }

    /// The value with this name, for names that must not be repeated: another reader might choose another value.
    ///
    /// # Errors
    ///
    /// If there are several.
    #[inline(always)]
    pub fn single(&self, name: &str) -> Result<Option<&[u8]>, RepeatedName> {
        // Looked at for each call of a connection, and short. Inlined, because callers have fixed names.
        if let Some(Fields::List(list)) = self.0.as_deref() {
            let mut found = None;
            for (entry, value) in list {
                if is_name(entry.as_bytes(), name.as_bytes()) && found.replace(&value[..]).is_some() {
                    return Err(RepeatedName);
                }
            }
            return Ok(found);
        }
        self.single_of_others(name)
    }

    #[inline(never)]
    fn single_of_others(&self, name: &str) -> Result<Option<&[u8]>, RepeatedName> {
        let (mut found, mut is_repeated) = (None, false);
        self.visit_named(name, |_, value| {
            is_repeated = found.replace(value).is_some();
            !is_repeated
        });
        if is_repeated { Err(RepeatedName) } else { Ok(found) }
    }

    /// Whether one of these names is there.
    #[must_use]
    pub fn has_any(&self, names: &[&str]) -> bool {
        let mut is_found = false;
        self.visit(&mut |candidate, _| {
            is_found = names.iter().any(|name| is_name(candidate.as_bytes(), name.as_bytes()));
            !is_found
        });
        is_found
    }

    /// The first value with this name, if it is text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.get(name)?).ok()
    }

    /// All names and values, in order. A name may appear more than once.
    #[must_use]
    pub fn entries(&self) -> Vec<(&str, &[u8])> {
        let mut entries = Vec::new();
        self.visit(&mut |name, value| {
            entries.push((name, value));
            true
        });
        entries
    }

    /// Appends a value.
    pub fn insert(&mut self, name: &str, value: impl Into<Bytes>) {
        let mut list = self.to_list();
        list.push((name.into(), value.into()));
        self.0 = Some(Arc::new(Fields::List(list)));
    }

    /// The entries with allowed names: those that may be forwarded.
    #[must_use]
    pub fn select(&self, allowed: &AllowedNames) -> Metadata {
        let mut selected = Vec::new();
        for name in &*allowed.0 {
            self.visit_named(name, |name, value| {
                let name = String::from_utf8_lossy(name);
                selected.push((name.into(), Bytes::copy_from_slice(value)));
                true
            });
        }
        Metadata((!selected.is_empty()).then(|| Arc::new(Fields::List(selected))))
    }

    /// These entries followed by the others.
    #[must_use]
    pub fn and(&self, other: &Metadata) -> Metadata {
        match (&self.0, &other.0) {
            (None, _) => return other.clone(),
            (_, None) => return self.clone(),
            _ => {}
        }
        let mut list = self.to_list();
        list.extend(other.to_list());
        Metadata(Some(Arc::new(Fields::List(list))))
    }

    /// The members of a JSON object that are strings.
    #[must_use]
    pub(crate) fn from_json(object: &Json) -> Metadata {
        let members = members(object.as_bytes());
        let texts = members.filter_map(|(name, value)| {
            let name = String::from_utf8(name.into_owned()).ok()?;
            Some((name, object.sub(value).decode::<String>().ok()?))
        });
        texts.collect()
    }

    /// All of it as a JSON object of strings; none if there is nothing. Values that are not text are left out.
    pub(crate) fn to_json(&self) -> Option<Json> {
        let mut object = serde_json::Map::new();
        for (name, value) in self.entries() {
            if let Ok(value) = std::str::from_utf8(value) {
                object.entry(name).or_insert_with(|| value.into());
            }
        }
        if object.is_empty() { None } else { Json::encode_ref(&object).ok() }
    }

    fn to_list(&self) -> Vec<(Box<str>, Bytes)> {
        match self.0.as_deref() {
            Some(Fields::List(list)) => list.clone(),
            _ => {
                let entries = self.entries().into_iter();
                entries.map(|(name, value)| (name.into(), Bytes::copy_from_slice(value))).collect()
            }
        }
    }

    /// Visits the values with this name, and how the name is written.
    #[inline]
    fn visit_named<'a>(&'a self, name: &str, mut visit: impl FnMut(&'a [u8], &'a [u8]) -> bool) {
        match self.0.as_deref() {
            None => {}
            Some(Fields::Head(lines)) => visit_lines_named(lines, name, visit),
            Some(Fields::List(list)) => {
                let mut named =
                    list.iter().filter(|(candidate, _)| is_name(candidate.as_bytes(), name.as_bytes()));
                let _ = named.all(|(name, value)| visit(name.as_bytes(), value));
            }
            Some(Fields::Other(source)) => {
                source.visit(&mut |candidate, value| {
                    !is_name(candidate.as_bytes(), name.as_bytes()) || visit(candidate.as_bytes(), value)
                });
            }
        }
    }

    fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'a str, &'a [u8]) -> bool) {
        match self.0.as_deref() {
            None => {}
            Some(Fields::Head(lines)) => visit_lines(lines, visit),
            Some(Fields::List(list)) => {
                let _ = list.iter().all(|(name, value)| visit(name, value));
            }
            Some(Fields::Other(source)) => source.visit(visit),
        }
    }
}

/// A name that occurs more than once in metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the name occurs more than once")]
pub struct RepeatedName;

/// The names of metadata that may be forwarded. Cheap to clone.
///
/// The default is the names of a distributed trace: `traceparent` and `tracestate`.
///
/// # Examples
///
/// ```
/// use switchboard_core::AllowedNames;
///
/// let names: AllowedNames = ["traceparent", "x-tenant"].into_iter().collect();
/// assert!(names.contains("X-Tenant"));
/// assert!(!names.contains("authorization"));
/// ```
#[derive(Clone, Debug)]
pub struct AllowedNames(Arc<[Box<str>]>);

impl AllowedNames {
    /// No names.
    #[must_use]
    pub fn none() -> AllowedNames {
        AllowedNames(Arc::default())
    }

    /// Whether this name is allowed.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|allowed| allowed.eq_ignore_ascii_case(name))
    }
}

impl Default for AllowedNames {
    fn default() -> AllowedNames {
        static TRACE: LazyLock<AllowedNames> =
            LazyLock::new(|| ["traceparent", "tracestate"].into_iter().collect());
        TRACE.clone()
    }
}

impl<N: Into<Box<str>>> FromIterator<N> for AllowedNames {
    fn from_iter<I: IntoIterator<Item = N>>(names: I) -> AllowedNames {
        let mut all: Vec<Box<str>> = Vec::new();
        for name in names.into_iter().map(Into::into) {
            if !all.iter().any(|other| other.eq_ignore_ascii_case(&name)) {
                all.push(name);
            }
        }
        AllowedNames(all.into())
    }
}

/// Whether names are the same but for case. Most are written alike, or with a capital first, which is cheaper to see.
#[inline(always)]
fn is_name(one: &[u8], other: &[u8]) -> bool {
    let (Some((first, one)), Some((initial, other))) = (one.split_first(), other.split_first()) else {
        return one.is_empty() && other.is_empty();
    };
    one.len() == other.len()
        && first.eq_ignore_ascii_case(initial)
        && (one == other || is_same_but_for_case(one, other))
}

#[inline(never)]
fn is_same_but_for_case(one: &[u8], other: &[u8]) -> bool {
    one.eq_ignore_ascii_case(other)
}

fn visit_lines<'a>(lines: &'a [u8], visit: &mut dyn FnMut(&'a str, &'a [u8]) -> bool) {
    for line in lines.split(|byte| *byte == b'\n') {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let Ok(name) = std::str::from_utf8(&line[..colon]) else { continue };
        if !visit(name, line[colon + 1..].trim_ascii()) {
            return;
        }
    }
}

/// Looks for the colon only where it must be.
fn visit_lines_named<'a>(lines: &'a [u8], name: &str, mut visit: impl FnMut(&'a [u8], &'a [u8]) -> bool) {
    let mut rest = lines;
    while !rest.is_empty() {
        let end = memchr(b'\n', rest).unwrap_or(rest.len());
        let line = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        if line.get(name.len()) != Some(&b':') {
            continue;
        }
        let (written, value) = line.split_at(name.len());
        if is_name(written, name.as_bytes()) && !visit(written, value[1..].trim_ascii()) {
            return;
        }
    }
}

impl<N: AsRef<str>, V: Into<Bytes>> FromIterator<(N, V)> for Metadata {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(entries: I) -> Metadata {
        let list: Vec<_> =
            entries.into_iter().map(|(name, value)| (name.as_ref().into(), value.into())).collect();
        Metadata((!list.is_empty()).then(|| Arc::new(Fields::List(list))))
    }
}

/// Shows the names. Values may be secrets.
impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries().iter().map(|(name, _)| name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_when_it_is_asked_for() {
        let head =
            Metadata::from_head(Bytes::from_static(b"Host: a\r\nX-One:  1 \r\nbroken\r\nx-one: 2\r\n\r\n"));
        assert_eq!((head.text("x-one"), head.text("HOST"), head.text("none")), (Some("1"), Some("a"), None));
        assert_eq!(head.entries().len(), 3);
    }

    #[test]
    fn a_name_that_must_be_single_is_not_repeated() {
        let head = Metadata::from_head(Bytes::from_static(b"A: 1\r\nb: 2\r\na: 3\r\n"));
        assert_eq!((head.single("B"), head.single("c")), (Ok(Some(&b"2"[..])), Ok(None)));
        assert_eq!(head.single("a"), Err(RepeatedName));
        assert!(head.has_any(&["c", "B"]) && !head.has_any(&["c", "d"]));
    }

    #[test]
    fn names_are_the_same_in_any_case() {
        let same = |one: &str, other: &str| is_name(one.as_bytes(), other.as_bytes());
        assert!(same("a", "A") && same("Retry-After", "retry-after") && same("x-id", "X-ID") && same("", ""));
        assert!(!same("a", "b") && !same("ab", "a") && !same("", "a") && !same("x-id", "x-ip"));
    }

    #[test]
    fn only_what_is_allowed_is_passed_on() {
        let head = Metadata::from_head(Bytes::from_static(b"authorization: secret\r\ntraceparent: 00-1\r\n"));
        let selected = head.select(&AllowedNames::default());
        assert_eq!(selected.entries(), [("traceparent", &b"00-1"[..])]);
        assert!(head.select(&AllowedNames::none()).is_empty());
    }

    #[test]
    fn a_head_is_replaced_in_place_unless_somebody_holds_it() {
        let mut head = Metadata::from_head(Bytes::from_static(b"a: 1\r\n"));
        let allocation = head.0.as_ref().map(Arc::as_ptr);
        head.set_head(Bytes::from_static(b"a: 2\r\n"));
        assert_eq!((head.text("a"), head.0.as_ref().map(Arc::as_ptr)), (Some("2"), allocation));
        let held = head.clone();
        head.set_head(Bytes::new());
        assert_eq!((held.text("a"), head.text("a")), (Some("2"), None));
    }

    #[test]
    fn values_are_not_shown() {
        let shown = format!("{:?}", Metadata::from_iter([("authorization", "secret")]));
        assert_eq!(shown, r#"["authorization"]"#);
    }
}
