//! The members of one request or response object, found in one scan.

use crate::codec::keys::{self, Key};
use crate::codec::scan::{Fault, Refused, Scanner, Span};
use crate::json::Kind;
use crate::limits::Limits;

/// Where the members of an object stand. The default place means that a member is absent.
///
/// A batch has one for each entry while it is checked as a whole, so this fits into a line of the cache.
#[derive(Debug, Default)]
pub(super) struct Envelope {
    pub(super) jsonrpc: ShortSpan,
    pub(super) method: ShortSpan,
    pub(super) params: ShortSpan,
    pub(super) id: ShortSpan,
    pub(super) result: ShortSpan,
    pub(super) error: ShortSpan,
    /// Members that the protocol does not define.
    pub(super) unknown: Option<Box<Unknown>>,
    /// Whether the version is known to be 2.0. If not, `jsonrpc` may still say so.
    pub(super) is_v2: bool,
    /// Whether the method's name is written with escapes.
    pub(super) has_escaped_method: bool,
    /// Whether a name stands twice outside of params and result (J2-64).
    pub(super) has_duplicate: bool,
    /// Whether it is `id` that stands twice.
    pub(super) has_duplicate_id: bool,
    /// Whether a name stands twice somewhere inside params.
    pub(super) has_duplicate_params: bool,
    /// Its kind, if it is not an object.
    pub(super) other: Option<Kind>,
}

const _: () = assert!(size_of::<Envelope>() <= 64);

/// The longest text in which a [`ShortSpan`] can stand.
pub(super) const LONGEST: usize = u32::MAX as usize;

/// A part of a text, in half the room of a [`Span`]. No member starts at byte 0, so the default stands for "absent".
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ShortSpan {
    start: u32,
    end: u32,
}

impl ShortSpan {
    /// Its place, in a text of at most [`LONGEST`] bytes.
    #[inline(always)]
    fn new(start: usize, end: usize) -> ShortSpan {
        let short = |at| u32::try_from(at).unwrap_or(u32::MAX);
        ShortSpan { start: short(start), end: short(end) }
    }

    #[inline(always)]
    pub(super) fn span(self) -> Span {
        Span { start: self.start as usize, end: self.end as usize }
    }

    /// Whether there is something.
    #[inline(always)]
    pub(super) fn is_present(self) -> bool {
        self.start != 0
    }
}

impl Span {
    /// The bytes of `text` it stands for.
    #[inline(always)]
    pub(super) fn of(self, text: &[u8]) -> &[u8] {
        &text[self.start..self.end]
    }
}

/// Names and values of members that the protocol does not define.
#[derive(Debug, Default)]
pub(super) struct Unknown(Vec<(Key, Span)>);

impl Unknown {
    /// Whether a name stands twice.
    fn has_duplicate(&self, text: &[u8]) -> bool {
        if self.0.len() < 2 {
            return false;
        }
        let mut names: Vec<_> = self.0.iter().map(|(key, _)| *key).collect();
        keys::has_duplicate(text, &mut names)
    }

    /// The members as one JSON object.
    pub(super) fn as_object(&self, text: &[u8]) -> Vec<u8> {
        // With the exact size it can become a text without another allocation.
        let sizes = self.0.iter().map(|(key, value)| key.end - key.start + value.end - value.start + 4);
        let mut object = Vec::with_capacity(sizes.sum::<usize>() + 1);
        for (key, value) in &self.0 {
            object.push(if object.is_empty() { b'{' } else { b',' });
            object.extend_from_slice(&text[key.start - 1..=key.end]);
            object.push(b':');
            object.extend_from_slice(value.of(text));
        }
        object.push(b'}');
        object
    }

    /// Whether there is one with such a name.
    pub(super) fn has_any(&self, is_such: fn(&[u8]) -> bool, text: &[u8]) -> bool {
        self.0.iter().any(|(key, _)| is_such(&key.read(text)))
    }

    /// The value of the member of this name.
    pub(super) fn get(&self, name: &[u8], text: &[u8]) -> Option<Span> {
        self.0.iter().find(|(key, _)| &*key.read(text) == name).map(|(_, value)| *value)
    }
}

impl Envelope {
    /// Scans the object that begins here, and tells where it ends.
    #[inline]
    pub(super) fn scan(
        &mut self,
        scanner: &mut Scanner<'_>,
        start: usize,
        limits: &Limits,
    ) -> Result<usize, Refused> {
        let mut at = scanner.skip_space(start + 1);
        if scanner.byte(at) == b'}' {
            return Ok(at + 1);
        }
        for _ in 0..limits.members {
            if scanner.text[at..].starts_with(VERSION) && !self.jsonrpc.is_present() {
                self.jsonrpc = ShortSpan::new(at + VERSION.len() - 6, at + VERSION.len() - 1);
                self.is_v2 = true;
                at = scanner.skip_space(at + VERSION.len());
                continue;
            }
            let (name, key, value) = match usual_name(scanner.text, at) {
                Some(usual) => usual,
                None => {
                    let key = scanner.key(at)?;
                    (Name::of(&key.read(scanner.text)), key, scanner.colon(key.end + 1)?)
                }
            };
            scanner.has_duplicate = false;
            scanner.has_escape = false;
            let end = scanner.value(value)?;
            self.take(name, key, Span { start: value, end }, scanner);
            at = scanner.skip_space(end);
            match scanner.byte(at) {
                b',' => at = scanner.skip_space(at + 1),
                b'}' => {
                    let unknown = self.unknown.as_ref();
                    self.has_duplicate |= unknown.is_some_and(|unknown| unknown.has_duplicate(scanner.text));
                    return Ok(at + 1);
                }
                _ => return Err(scanner.expected("',' or '}'", at)),
            }
        }
        Err(scanner.refuse(Fault::Members(limits.members)))
    }

    #[inline(always)]
    fn take(&mut self, name: Name, key: Key, value: Span, scanner: &Scanner<'_>) {
        let is_nested = scanner.has_duplicate;
        let slot = match name {
            Name::Jsonrpc => &mut self.jsonrpc,
            Name::Method => {
                self.has_escaped_method = scanner.has_escape;
                &mut self.method
            }
            Name::Params => {
                self.has_duplicate_params |= is_nested;
                return fill(&mut self.params, value, &mut self.has_duplicate);
            }
            Name::Id => {
                self.has_duplicate_id |= is_nested | self.id.is_present();
                &mut self.id
            }
            Name::Result => return fill(&mut self.result, value, &mut self.has_duplicate),
            Name::Error => &mut self.error,
            Name::Unknown => {
                self.has_duplicate |= is_nested;
                return self.unknown.get_or_insert_default().0.push((key, value));
            }
        };
        self.has_duplicate |= is_nested;
        fill(slot, value, &mut self.has_duplicate);
    }
}

/// How nearly every message begins, with the comma that follows.
const VERSION: &[u8] = b"\"jsonrpc\":\"2.0\",";

/// The name of a member, as far as the protocol knows it.
#[derive(Clone, Copy)]
enum Name {
    Jsonrpc,
    Method,
    Params,
    Id,
    Result,
    Error,
    Unknown,
}

impl Name {
    fn of(name: &[u8]) -> Name {
        match name {
            b"jsonrpc" => Name::Jsonrpc,
            b"method" => Name::Method,
            b"params" => Name::Params,
            b"id" => Name::Id,
            b"result" => Name::Result,
            b"error" => Name::Error,
            _ => Name::Unknown,
        }
    }
}

/// One of the names that nearly every request has, with its colon, found without looking at each of its bytes; and where
/// its value begins.
#[inline(always)]
fn usual_name(text: &[u8], at: usize) -> Option<(Name, Key, usize)> {
    let rest = text.get(at..)?;
    let (name, len) = match rest.get(1)? {
        b'm' if rest.starts_with(b"\"method\":") => (Name::Method, 6),
        b'p' if rest.starts_with(b"\"params\":") => (Name::Params, 6),
        b'i' if rest.starts_with(b"\"id\":") => (Name::Id, 2),
        _ => return None,
    };
    let key = Key { start: at + 1, end: at + 1 + len, escaped: false };
    // White space is seldom there, and then left to the slower way.
    (*rest.get(len + 3)? > b' ').then_some((name, key, at + len + 3))
}

#[inline(always)]
fn fill(slot: &mut ShortSpan, value: Span, has_duplicate: &mut bool) {
    *has_duplicate |= slot.is_present();
    *slot = ShortSpan::new(value.start, value.end);
}
