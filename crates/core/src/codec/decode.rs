//! From a frame to messages.

use bytes::Bytes;

use crate::code::Code;
use crate::codec::envelope::Envelope;
use crate::codec::message::{Incoming, Invalid, Message, Outcome, Request, Response};
use crate::codec::scan::{Fault, Refused, Scanner, Span};
use crate::codec::string::unescape;
use crate::codec::walk::members;
use crate::context::Version;
use crate::error::ErrorObject;
use crate::id::Id;
use crate::json::{Json, Kind};
use crate::name::Name;
use crate::profile::{Settings, Versions};
use crate::text::Text;

/// Reads one frame.
///
/// # Errors
///
/// When the frame as a whole cannot be used: it is not JSON (J2-32, J2-45), it exceeds a limit, or it is a batch
/// without entries (J2-46). The answer is one error with a `null` identifier.
#[inline]
pub fn decode(frame: &Bytes, settings: &Settings) -> Result<Incoming, ErrorObject> {
    let mut scanner = Scanner::new(frame, &settings.limits);
    let start = scanner.skip_space(0);
    let refused = match scanner.byte(start) {
        b'{' => {
            let mut envelope = Envelope::default();
            let end = scan_envelope(&mut envelope, &mut scanner, start, settings, 1);
            match end.and_then(|end| scanner.finish(end)) {
                Ok(()) => {
                    let reading = Reading { frame, envelope: &envelope, settings };
                    return Ok(Incoming::Single(reading.message()));
                }
                Err(refused) => refused,
            }
        }
        b'[' if settings.profile.batches && settings.profile.versions != Versions::V1 => {
            match batch(&mut scanner, start, frame, settings) {
                Ok(entries) if entries.is_empty() => {
                    return Err(ErrorObject::invalid_request("a batch needs at least one entry"));
                }
                Ok(entries) => return Ok(Incoming::Batch(entries)),
                Err(refused) => refused,
            }
        }
        first => match scanner.value(start).and_then(|end| scanner.finish(end)) {
            Ok(()) => return Ok(Incoming::Single(not_an_object(Kind::of(first), settings))),
            Err(refused) => refused,
        },
    };
    Err(scanner.fault(refused).into())
}

/// How many bytes an entry of a batch has, as a rule, at least.
const USUAL_ENTRY: usize = 50;

fn batch(
    scanner: &mut Scanner<'_>,
    start: usize,
    frame: &Bytes,
    settings: &Settings,
) -> Result<Vec<Message>, Refused> {
    // A guess, so that the list of a usual batch need not grow.
    let mut entries = Vec::with_capacity(settings.limits.batch.min((frame.len() - start) / USUAL_ENTRY));
    let mut at = scanner.skip_space(start + 1);
    if scanner.byte(at) == b']' {
        return scanner.finish(at + 1).map(|()| entries);
    }
    loop {
        if entries.len() == settings.limits.batch {
            return Err(scanner.refuse(Fault::Batch(settings.limits.batch)));
        }
        let end = if scanner.byte(at) == b'{' {
            let mut envelope = Envelope::default();
            let end = scan_envelope(&mut envelope, scanner, at, settings, 2)?;
            entries.push(Reading { frame, envelope: &envelope, settings }.message());
            end
        } else {
            scanner.outer_depth = 1;
            let end = scanner.value(at)?;
            entries.push(not_an_object(Kind::of(scanner.byte(at)), settings));
            end
        };
        at = scanner.skip_space(end);
        match scanner.byte(at) {
            b',' => at = scanner.skip_space(at + 1),
            b']' => return scanner.finish(at + 1).map(|()| entries),
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

fn not_an_object(found: Kind, settings: &Settings) -> Message {
    let version = settings.profile.versions.unsaid();
    let detail = match found {
        Kind::Array if version == Version::V1 || !settings.profile.batches => {
            "batches are not accepted here".to_owned()
        }
        found => format!("a request is an object, not {}", found.with_article()),
    };
    invalid(version, Some(Id::NULL), ErrorObject::invalid_request(detail))
}

fn invalid(version: Version, id: Option<Id>, error: ErrorObject) -> Message {
    Message::Invalid(Invalid { version, id, error })
}

/// An envelope on its way to becoming a message.
struct Reading<'a> {
    frame: &'a Bytes,
    envelope: &'a Envelope,
    settings: &'a Settings,
}

impl Reading<'_> {
    #[inline(always)]
    fn message(&self) -> Message {
        let has_method = self.envelope.method.is_present();
        let answers = self.envelope.result.is_present() || self.envelope.error.is_present();
        // An object that says neither its version nor what it answers may be anything.
        let answers = answers && (self.envelope.id.is_present() || self.envelope.jsonrpc.is_present());
        let version = match self.version() {
            Ok(_) if self.envelope.has_duplicate => Err("a member name stands twice"),
            version => version,
        };
        match (version, has_method, answers) {
            (Ok(version), true, false) => self.request(version),
            (version, false, true) => self.response(version),
            (Err(detail), ..) => self.refuse(self.shape(), detail),
            (Ok(version), true, true) => {
                self.refuse(version, "`method` cannot stand beside `result` or `error`")
            }
            (Ok(version), false, false) => self.refuse(version, "`method` is missing"),
        }
    }

    /// The version in whose shape a message is answered that cannot be used.
    fn shape(&self) -> Version {
        self.version().unwrap_or(Version::V2)
    }

    /// Which rules the message goes by (J1-30, J1-32).
    #[inline(always)]
    fn version(&self) -> Result<Version, &'static str> {
        let is_v2 = match self.bytes(self.envelope.jsonrpc) {
            b"" => None,
            b"\"2.0\"" => Some(true),
            other => Some(other[0] == b'"' && unescape(&other[1..other.len() - 1]) == b"2.0"),
        };
        match (self.settings.profile.versions, is_v2) {
            (Versions::V1, _) => Ok(Version::V1),
            (_, Some(true)) => Ok(Version::V2),
            (_, Some(false)) => Err("`jsonrpc` must be \"2.0\""),
            (Versions::V2, None) => Err("`jsonrpc` is missing; it must be \"2.0\""),
            (Versions::Both, None) => {
                let e = self.envelope;
                let is_v1 = e.method.is_present() || e.result.is_present() || e.error.is_present();
                if is_v1 { Ok(Version::V1) } else { Err("`jsonrpc` and `method` are missing") }
            }
        }
    }

    #[inline(always)]
    fn request(&self, version: Version) -> Message {
        let Some(method) = self.method() else {
            return self.refuse(version, "`method` must be a string");
        };
        if method.as_bytes().len() > self.settings.limits.name {
            return self.refuse(version, "the method's name is too long (limits.name)");
        }
        let id = match self.id(version) {
            Ok(id) => id,
            Err(detail) => return self.refuse(version, detail),
        };
        let params = match self.params(version) {
            Ok(params) => params,
            Err(detail) => return self.refuse(version, detail),
        };
        if self.envelope.has_duplicate_params {
            let error = ErrorObject::invalid_params("a member name stands twice in `params`");
            return invalid(version, id, error);
        }
        let members = self.members();
        Message::Request(Request { version, id, method, params, members })
    }

    #[inline(always)]
    fn members(&self) -> Option<Box<Json>> {
        if self.envelope.unknown.is_empty() {
            return None;
        }
        let object = self.envelope.unknown_as_object(self.frame);
        Some(Box::new(Json::from_text(Text::from_vec(object))))
    }

    /// The identifier of a request; none for a notification (J2-15, J2-17, J1-11).
    #[inline(always)]
    fn id(&self, version: Version) -> Result<Option<Id>, &'static str> {
        let raw = self.bytes(self.envelope.id);
        match (version, raw.first()) {
            (Version::V2, None) => return Ok(None),
            (Version::V1, None) => return Err("`id` is missing; a 1.0 notification has `id: null`"),
            (Version::V1, Some(b'n')) => return Ok(None),
            (Version::V2, Some(b't' | b'f' | b'[' | b'{')) => {
                return Err("`id` must be a string, a number or null");
            }
            _ => {}
        }
        if raw.len() > self.settings.limits.id {
            return Err("`id` is too long (limits.id)");
        }
        Ok(Some(Id::from_text(self.text(self.envelope.id))))
    }

    /// The parameters (J2-10, J2-11, J1-03, J1-05).
    #[inline(always)]
    fn params(&self, version: Version) -> Result<Option<Json>, &'static str> {
        let span = self.envelope.params;
        match (version, self.bytes(span).first()) {
            (_, Some(b'[')) | (Version::V2, Some(b'{')) => Ok(Some(Json::from_text(self.text(span)))),
            (Version::V2, None) => Ok(None),
            (Version::V2, Some(b'n')) if self.settings.profile.null_params => Ok(None),
            (Version::V2, _) => Err("`params` must be an array or an object"),
            (Version::V1, None) => Err("`params` is missing; in 1.0 it is always there, as an array"),
            (Version::V1, _) => Err("in 1.0 `params` must be an array"),
        }
    }

    /// A response, however broken: it is never taken for a request, which would be answered (J2-50, J2-66).
    fn response(&self, version: Result<Version, &'static str>) -> Message {
        let shape = version.unwrap_or_else(|_| self.shape());
        let (id, is_usable) = match self.id_is_unusable(shape) {
            true => (Id::NULL, false),
            false => (Id::from_text(self.text(self.envelope.id)), true),
        };
        let outcome = match version {
            Err(detail) => Outcome::Broken(detail),
            Ok(_) if !is_usable && self.envelope.id.is_present() => {
                Outcome::Broken("the `id` of a response cannot be used")
            }
            Ok(version) => self.outcome(version),
        };
        Message::Response(Response { version: shape, id, outcome })
    }

    /// What a response says (J2-66, J1-08, J1-10).
    fn outcome(&self, version: Version) -> Outcome {
        let e = self.envelope;
        let has_error = match version {
            Version::V2 => e.error.is_present(),
            Version::V1 => e.error.is_present() && self.bytes(e.error) != b"null",
        };
        let has_result = match version {
            Version::V2 => e.result.is_present(),
            Version::V1 => e.result.is_present() && !(has_error && self.bytes(e.result) == b"null"),
        };
        let json = |span| Json::from_text(self.text(span));
        match (has_result, has_error) {
            (true, false) => match e.unknown(b"stream", self.frame) {
                Some(flag) if matches!(self.bytes(flag), b"true" | [b'{', ..]) => {
                    Outcome::Stream(json(e.result), json(flag))
                }
                _ => Outcome::Value(json(e.result)),
            },
            (false, true) => error_object(&json(e.error), version),
            (true, true) => Outcome::Broken("a response holds `result` and `error`"),
            (false, false) => Outcome::Broken("a response holds neither `result` nor `error`"),
        }
    }

    fn refuse(&self, version: Version, detail: &'static str) -> Message {
        let id =
            if self.id_is_unusable(version) { Id::NULL } else { Id::from_text(self.text(self.envelope.id)) };
        invalid(version, Some(id), ErrorObject::invalid_request(detail))
    }

    /// Whether there is no identifier that an answer could carry (J2-29).
    fn id_is_unusable(&self, version: Version) -> bool {
        let raw = self.bytes(self.envelope.id);
        let fits = match raw.first() {
            None => false,
            Some(b't' | b'f' | b'[' | b'{') => version == Version::V1,
            Some(_) => true,
        };
        !fits || self.envelope.has_duplicate_id || raw.len() > self.settings.limits.id
    }

    #[inline(always)]
    fn method(&self) -> Option<Name> {
        let span = self.envelope.method;
        if self.frame[span.start] != b'"' {
            return None;
        }
        let (start, end) = (span.start + 1, span.end - 1);
        let text = if self.envelope.has_escaped_method {
            Text::from_vec(unescape(&self.frame[start..end]))
        } else {
            Text::slice(self.frame, start, end)
        };
        Some(Name::from_text(text))
    }

    #[inline(always)]
    fn bytes(&self, span: Span) -> &[u8] {
        span.of(self.frame)
    }

    #[inline(always)]
    fn text(&self, span: Span) -> Text {
        Text::slice(self.frame, span.start, span.end)
    }
}

/// Reads the `error` of a response (J2-38). In 1.0 it may be anything but null (J1-10).
fn error_object(json: &Json, version: Version) -> Outcome {
    match (structured_error(json), version) {
        (Some(error), _) => Outcome::Error(error),
        (None, Version::V2) => {
            Outcome::Broken("`error` must be an object with an integer `code` and a string `message`")
        }
        (None, Version::V1) => {
            let message = json.decode::<String>().unwrap_or_else(|_| "the call failed".to_owned());
            Outcome::Error(ErrorObject::new(Code::SERVER_ERROR, message).with_data(json))
        }
    }
}

/// Reads an error object, whatever it is; what is no error object becomes the data of one.
pub(crate) fn read_error(json: &Json) -> ErrorObject {
    structured_error(json)
        .unwrap_or_else(|| ErrorObject::new(Code::SERVER_ERROR, "the stream failed").with_data(json))
}

fn structured_error(json: &Json) -> Option<ErrorObject> {
    let (mut code, mut message, mut data) = (None, None, None);
    for (name, value) in members(json.as_bytes()) {
        match &*name {
            b"code" => code = json.sub(value).decode::<i64>().ok(),
            b"message" => message = json.sub(value).decode::<String>().ok(),
            b"data" => data = Some(json.sub(value)),
            _ => {}
        }
    }
    let mut error = ErrorObject::new(code?, message?);
    error.data = data;
    Some(error)
}
