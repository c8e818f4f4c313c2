//! The members of one request or response object, found in one scan.

use crate::codec::keys::{self, Key};
use crate::codec::scan::{Fault, Scanner, Span};
use crate::limits::Limits;

/// Where the members of an object stand. The default span means that a member is absent.
#[derive(Default)]
pub(super) struct Envelope {
    pub(super) jsonrpc: Span,
    pub(super) method: Span,
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
    /// Scans the object that begins here.
    pub(super) fn scan(scanner: &mut Scanner<'_>, limits: &Limits) -> Result<Envelope, Fault> {
        let mut envelope = Envelope::default();
        scanner.at += 1;
        scanner.skip_space();
        if scanner.peek() == b'}' {
            scanner.at += 1;
            return Ok(envelope);
        }
        for _ in 0..limits.members {
            scanner.skip_space();
            let key = scanner.key()?;
            scanner.expect(b':', "':'")?;
            scanner.has_duplicate = false;
            let value = scanner.value()?;
            envelope.take(key, value, scanner);
            scanner.skip_space();
            match scanner.peek() {
                b',' => scanner.at += 1,
                b'}' => {
                    scanner.at += 1;
                    envelope.check_unknown(scanner.text);
                    return Ok(envelope);
                }
                _ => return Err(scanner.expected("',' or '}'")),
            }
        }
        Err(Fault::Members(limits.members))
    }

    #[inline]
    fn take(&mut self, key: Key, value: Span, scanner: &Scanner<'_>) {
        let nested = scanner.has_duplicate;
        let name = key.read(scanner.text);
        let slot = match &*name {
            b"jsonrpc" => &mut self.jsonrpc,
            b"method" => &mut self.method,
            b"params" => {
                self.has_duplicate_params |= nested;
                return fill(&mut self.params, value, &mut self.has_duplicate);
            }
            b"id" => {
                self.has_duplicate_id |= nested | self.id.is_present();
                &mut self.id
            }
            b"result" => return fill(&mut self.result, value, &mut self.has_duplicate),
            b"error" => &mut self.error,
            _ => {
                self.has_duplicate |= nested;
                return self.unknown.push((key, value));
            }
        };
        self.has_duplicate |= nested;
        fill(slot, value, &mut self.has_duplicate);
    }

    fn check_unknown(&mut self, text: &[u8]) {
        if self.unknown.len() > 1 {
            let mut names: Vec<_> = self.unknown.iter().map(|(key, _)| *key).collect();
            self.has_duplicate |= keys::has_duplicate(text, &mut names);
        }
    }

    /// The members that the protocol does not define, as one JSON object.
    pub(super) fn unknown_as_object(&self, text: &[u8]) -> Option<Vec<u8>> {
        if self.unknown.is_empty() {
            return None;
        }
        let mut object = Vec::with_capacity(64);
        for (key, value) in &self.unknown {
            object.push(if object.is_empty() { b'{' } else { b',' });
            object.extend_from_slice(&text[key.start - 1..=key.end]);
            object.push(b':');
            object.extend_from_slice(value.of(text));
        }
        object.push(b'}');
        Some(object)
    }

    /// Whether an undefined member of this name is `true`.
    pub(super) fn is_flagged(&self, name: &[u8], text: &[u8]) -> bool {
        self.unknown.iter().any(|(key, value)| &*key.read(text) == name && value.of(text) == b"true")
    }
}

#[inline(always)]
fn fill(slot: &mut Span, value: Span, has_duplicate: &mut bool) {
    *has_duplicate |= slot.is_present();
    *slot = value;
}
