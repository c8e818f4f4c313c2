//! From a frame to messages.

use bytes::Bytes;

use crate::call::Call;
use crate::codec::entries::{Entries, Loaded, load};
use crate::codec::envelope::{Envelope, LONGEST};
use crate::codec::message::{Incoming, Message, RequestObject};
use crate::codec::reading::{Reading, Rules, not_an_object};
use crate::codec::scan::{Fault, Refused, Scanner};
use crate::context::Context;
use crate::error::ErrorObject;
use crate::json::Kind;
use crate::profile::{Settings, Versions};

/// What a frame holds, its call put into place.
pub(crate) enum Found {
    /// A call or a notification, which was put into place.
    Call(Loaded),
    /// A batch.
    Batch(Entries),
    /// A message that asks for no call.
    Other(Box<Message>),
}

/// Reads one frame. A request is written into `call`, where it stays: moving it about costs more than reading it.
///
/// # Errors
///
/// As [`decode`].
#[inline]
pub(crate) fn decode_into(frame: &Bytes, settings: &Settings, call: &mut Call) -> Result<Found, ErrorObject> {
    if frame.len() > LONGEST {
        return Err(Fault::Frame(LONGEST).into());
    }
    let mut scanner = Scanner::new(frame, &settings.limits);
    let start = scanner.skip_space(0);
    if scanner.byte(start) != b'{' {
        return decode_other(frame, settings);
    }
    let mut envelope = Envelope::default();
    let end = scan_envelope(&mut envelope, &mut scanner, start, settings, 1);
    match end.and_then(|end| scanner.finish(end)) {
        Ok(()) => {
            let rules = Rules::of(settings);
            let reading = Reading { frame, envelope: &envelope, rules: &rules };
            Ok(match load(&reading, call) {
                Ok(loaded) => Found::Call(loaded),
                Err(message) => Found::Other(message),
            })
        }
        Err(refused) => Err(scanner.fault(refused).into()),
    }
}

/// Reads a frame that does not begin like an object.
#[inline(never)]
fn decode_other(frame: &Bytes, settings: &Settings) -> Result<Found, ErrorObject> {
    let mut scanner = Scanner::new(frame, &settings.limits);
    let start = scanner.skip_space(0);
    let refused = match scanner.byte(start) {
        b'[' if settings.profile.batches && settings.profile.versions != Versions::V1 => {
            match batch(&mut scanner, start, frame, settings) {
                Ok(found) if found.is_empty() => {
                    return Err(ErrorObject::invalid_request("a batch needs at least one entry"));
                }
                Ok(found) => {
                    return Ok(Found::Batch(Entries::new(frame.clone(), Rules::of(settings), found)));
                }
                Err(refused) => refused,
            }
        }
        first => match scanner.value(start).and_then(|end| scanner.finish(end)) {
            Ok(()) => {
                let message = not_an_object(Kind::of(first), &Rules::of(settings));
                return Ok(Found::Other(Box::new(message)));
            }
            Err(refused) => refused,
        },
    };
    Err(scanner.fault(refused).into())
}

/// Decodes one frame.
///
/// # Errors
///
/// When the frame as a whole is invalid: it is not JSON (J2-32, J2-45), it exceeds a limit, or it is a batch
/// without entries (J2-46). The response is one error with a `null` identifier.
pub fn decode(frame: &Bytes, settings: &Settings) -> Result<Incoming, ErrorObject> {
    let mut call = Call::blank(Context::default());
    Ok(match decode_into(frame, settings, &mut call)? {
        Found::Call(loaded) => Incoming::Single(Message::Request(RequestObject::of(call, loaded))),
        Found::Batch(entries) => Incoming::Batch(entries),
        Found::Other(message) => Incoming::Single(*message),
    })
}

/// How many bytes an entry of a batch has, as a rule, at least.
const USUAL_ENTRY: usize = 50;

/// Finds the entries of the batch that begins here.
fn batch(
    scanner: &mut Scanner<'_>,
    start: usize,
    frame: &Bytes,
    settings: &Settings,
) -> Result<Vec<Envelope>, Refused> {
    // A guess, so that the list of a usual batch need not grow.
    let mut found = Vec::with_capacity(settings.limits.batch.min((frame.len() - start) / USUAL_ENTRY));
    let mut at = scanner.skip_space(start + 1);
    if scanner.byte(at) == b']' {
        return scanner.finish(at + 1).map(|()| found);
    }
    loop {
        if found.len() == settings.limits.batch {
            return Err(scanner.refuse(Fault::Batch(settings.limits.batch)));
        }
        // Each is filled where it stays.
        let last = found.len();
        found.push(Envelope::default());
        let envelope = &mut found[last];
        let end = if scanner.byte(at) == b'{' {
            scan_envelope(envelope, scanner, at, settings, 2)?
        } else {
            scanner.outer_depth = 1;
            envelope.other = Some(Kind::of(scanner.byte(at)));
            scanner.value(at)?
        };
        at = scanner.skip_space(end);
        match scanner.byte(at) {
            b',' => at = scanner.skip_space(at + 1),
            b']' => return scanner.finish(at + 1).map(|()| found),
            _ => return Err(scanner.expected("',' or ']'", at)),
        }
    }
}

/// Scans the object that begins here, `depth` levels deep, and tells where it ends.
#[inline]
fn scan_envelope(
    envelope: &mut Envelope,
    scanner: &mut Scanner<'_>,
    start: usize,
    settings: &Settings,
    depth: usize,
) -> Result<usize, Refused> {
    if depth > settings.limits.depth {
        return Err(scanner.refuse(Fault::Depth(settings.limits.depth)));
    }
    scanner.outer_depth = depth;
    envelope.scan(scanner, start, &settings.limits)
}
