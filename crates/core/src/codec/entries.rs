//! The entries of a batch.

use bytes::Bytes;

use crate::call::Call;
use crate::codec::envelope::Envelope;
use crate::codec::message::Message;
use crate::codec::reading::{Asked, Reading, Rules};
use crate::context::Version;
use crate::json::Json;

/// The entries of a batch: all found and checked, each decoded when it is its turn.
#[derive(Debug)]
pub struct Entries {
    frame: Bytes,
    rules: Rules,
    found: Vec<Envelope>,
}

/// A request that was put into a call.
pub(crate) struct Loaded {
    /// The version it is written in.
    pub(crate) version: Version,
    /// Members that the protocol does not define, as one object.
    pub(crate) members: Option<Box<Json>>,
    /// Whether options of the call are among them.
    pub(crate) has_options: bool,
}

impl Entries {
    pub(super) fn new(frame: Bytes, rules: Rules, found: Vec<Envelope>) -> Entries {
        Entries { frame, rules, found }
    }

    /// How many there are; at least one.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a batch without entries is refused as a whole")]
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// The whole text, if the first entry is a call of this method.
    pub(crate) fn text_if_first(&self, method: &str) -> Option<&Bytes> {
        let first = self.found.first()?.method.span();
        // A name with escapes is not recognised, and then means nothing.
        let [b'"', written @ .., b'"'] = self.frame.get(first.start..first.end)? else { return None };
        (written == method.as_bytes()).then_some(&self.frame)
    }

    /// The messages, in order.
    pub fn iter(&self) -> impl Iterator<Item = Message> + '_ {
        self.found.iter().map(|envelope| self.reading(envelope).message())
    }

    /// Makes the call the one that an entry asks for.
    ///
    /// # Errors
    ///
    /// The entry, if it does not ask for a call.
    #[inline(always)]
    pub(crate) fn load(&self, index: usize, call: &mut Call) -> Result<Loaded, Box<Message>> {
        load(&self.reading(&self.found[index]), call)
    }

    #[inline(always)]
    fn reading<'a>(&'a self, envelope: &'a Envelope) -> Reading<'a> {
        Reading { frame: &self.frame, envelope, rules: &self.rules }
    }
}

/// Puts a request into the call that it asks for.
///
/// # Errors
///
/// The message that it is instead.
#[inline(always)]
pub(super) fn load(reading: &Reading<'_>, call: &mut Call) -> Result<Loaded, Box<Message>> {
    let Some(version) = reading.version_of_request() else { return Err(Box::new(reading.other())) };
    let (method, params, id) = call.parts();
    let members = reading.request_into(version, Asked { method, params, id })?;
    let has_options = members.is_some() && reading.has_options();
    Ok(Loaded { version, members, has_options })
}
