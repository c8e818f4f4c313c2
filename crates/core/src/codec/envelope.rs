//! The members of one request or response object, found in one scan.

use crate::codec::keys::{self, Key};
use crate::codec::scan::{Fault, Refused, Scanner, Span};
use crate::json::Kind;
use crate::limits::Limits;

/// Where the members of an object stand. The default span means that a member is absent.
#[derive(Debug, Default)]
pub(super) struct Envelope {
    pub(super) jsonrpc: Span,
    /// Whether the version is known to be 2.0. If not, `jsonrpc` may still say so.
    pub(super) is_v2: bool,
    pub(super) method: Span,
    /// Whether the method's name is written with escapes.
    pub(super) has_escaped_method: bool,
    pub(super) params: Span,
    pub(super) id: Span,
    pub(super) result: Span,
    pub(super) error: Span,
    /// Names and values of members that the protocol does not define.
    pub(super) unknown: Vec<(Key, Span)>,
    /// Whether a name stands twice outside of params and result (J2-64).
    pub(super) has_duplicate: bool,
    /// Whether it is `id` that stands twice.
    pub(super) has_duplicate_id: bool,
    /// Whether a name stands twice somewhere inside params.
    pub(super) has_duplicate_params: bool,
    /// What it is, if it is no object.
    pub(super) other: Option<Kind>,
}

impl Span {
    /// Whether there is something.
    #[inline(always)]
    pub(super) fn is_present(self) -> bool {
        self.start != 0
    }

    /// The bytes of `text` it stands for.
    #[inline(always)]
    pub(super) fn of(self, text: &[u8]) -> &[u8] {
        &text[self.start..self.end]
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
                self.jsonrpc = Span { start: at + VERSION.len() - 6, end: at + VERSION.len() - 1 };
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
                    self.check_unknown(scanner.text);
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
                return self.unknown.push((key, value));
            }
        };
        self.has_duplicate |= is_nested;
        fill(slot, value, &mut self.has_duplicate);
    }

    fn check_unknown(&mut self, text: &[u8]) {
        if self.unknown.len() > 1 {
            let mut names: Vec<_> = self.unknown.iter().map(|(key, _)| *key).collect();
            self.has_duplicate |= keys::has_duplicate(text, &mut names);
        }
    }

    /// The members that the protocol does not define, as one JSON object.
    pub(super) fn unknown_as_object(&self, text: &[u8]) -> Vec<u8> {
        let mut object = Vec::with_capacity(64);
        for (key, value) in &self.unknown {
            object.push(if object.is_empty() { b'{' } else { b',' });
            object.extend_from_slice(&text[key.start - 1..=key.end]);
            object.push(b':');
            object.extend_from_slice(value.of(text));
        }
        object.push(b'}');
        object
    }

    /// The value of an undefined member of this name.
    pub(super) fn unknown(&self, name: &[u8], text: &[u8]) -> Option<Span> {
        self.unknown.iter().find(|(key, _)| &*key.read(text) == name).map(|(_, value)| *value)
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
fn fill(slot: &mut Span, value: Span, has_duplicate: &mut bool) {
    *has_duplicate |= slot.is_present();
    *slot = value;
}
