//! From the members of an object to the message that it is.

use bytes::Bytes;

use crate::call_options::is_option;
use crate::code::Code;
use crate::codec::envelope::{Envelope, ShortSpan};
use crate::codec::message::{Invalid, Message, RequestObject, ResponseObject, ResponseOutcome};
use crate::codec::string::unescape;
use crate::codec::walk::{members, written_members};
use crate::context::Version;
use crate::error::ErrorObject;
use crate::id::Id;
use crate::json::{Json, Kind};
use crate::name::Name;
use crate::profile::{Settings, Versions};
use crate::text::Text;

/// What of the settings decides how an object is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    versions: Versions,
    takes_batches: bool,
    takes_null_params: bool,
    longest_name: usize,
    longest_id: usize,
}

impl Rules {
    #[inline(always)]
    pub(super) fn of(settings: &Settings) -> Rules {
        Rules {
            versions: settings.profile.versions,
            takes_batches: settings.profile.batches,
            takes_null_params: settings.profile.null_params,
            longest_name: settings.limits.name,
            longest_id: settings.limits.id,
        }
    }
}

/// An envelope on its way to becoming a message.
pub(super) struct Reading<'a> {
    pub(super) frame: &'a Bytes,
    pub(super) envelope: &'a Envelope,
    pub(super) rules: &'a Rules,
}

/// Where what a request asks for is put.
pub(super) struct Asked<'a> {
    pub(super) method: &'a mut Name,
    pub(super) params: &'a mut Option<Json>,
    pub(super) id: &'a mut Option<Id>,
}

impl Reading<'_> {
    #[inline(always)]
    pub(super) fn message(&self) -> Message {
        let Some(version) = self.version_of_request() else { return self.other() };
        let mut request =
            RequestObject { version, id: None, method: Name::from_static(""), params: None, members: None };
        let RequestObject { id, method, params, members, .. } = &mut request;
        match self.request_into(version, Asked { method, params, id }) {
            Ok(unknown) => *members = unknown,
            Err(refusal) => return *refusal,
        }
        Message::Request(request)
    }

    /// The version of the message, if it is a request as far as its members tell.
    #[inline(always)]
    pub(super) fn version_of_request(&self) -> Option<Version> {
        let e = self.envelope;
        let is_request = e.method.is_present() && !e.result.is_present() && !e.error.is_present();
        if !is_request || e.has_duplicate {
            return None;
        }
        self.version().ok()
    }

    /// A message that is not a request.
    pub(super) fn other(&self) -> Message {
        if let Some(kind) = self.envelope.other {
            return not_an_object(kind, self.rules);
        }
        let has_method = self.envelope.method.is_present();
        let answers = self.envelope.result.is_present() || self.envelope.error.is_present();
        // An object that says neither its version nor what it answers may be anything.
        let answers = answers && (self.envelope.id.is_present() || self.envelope.jsonrpc.is_present());
        let version = match self.version() {
            Ok(_) if self.envelope.has_duplicate => Err("duplicate member name"),
            version => version,
        };
        match (version, has_method, answers) {
            (version, false, true) => self.response(version),
            (Err(detail), ..) => self.refuse(detail),
            (Ok(_), true, _) => self.refuse("`method` cannot be combined with `result` or `error`"),
            (Ok(_), false, false) => self.refuse("`method` is missing"),
        }
    }

    /// The version in whose shape an invalid message is answered: that of 2.0, unless it is a whole message of 1.0
    /// otherwise, or nothing but 1.0 is spoken (J1-30, J1-36).
    fn shape(&self) -> Version {
        match self.version() {
            Ok(Version::V1) if self.rules.versions == Versions::V1 || self.is_whole_v1() => Version::V1,
            _ => Version::V2,
        }
    }

    /// Whether all members of a request or a response of 1.0 are there (J1-01, J1-06). One that lacks some says nothing about
    /// its version: its author may just have forgotten `jsonrpc`.
    fn is_whole_v1(&self) -> bool {
        let e = self.envelope;
        let starts_with = |place, first| self.bytes(place).first() == Some(&first);
        let (has_result, has_error) = (e.result.is_present(), e.error.is_present());
        let is_request =
            starts_with(e.method, b'"') && starts_with(e.params, b'[') && !has_result && !has_error;
        let is_response = has_result && has_error && !e.method.is_present();
        (is_request || is_response) && e.id.is_present() && !e.has_duplicate
    }

    /// Which rules the message goes by (J1-30, J1-32).
    #[inline(always)]
    fn version(&self) -> Result<Version, &'static str> {
        if self.envelope.is_v2 && self.rules.versions != Versions::V1 {
            return Ok(Version::V2);
        }
        self.version_as_written()
    }

    fn version_as_written(&self) -> Result<Version, &'static str> {
        let is_v2 = match self.bytes(self.envelope.jsonrpc) {
            b"" => None,
            b"\"2.0\"" => Some(true),
            other => Some(other[0] == b'"' && unescape(&other[1..other.len() - 1]) == b"2.0"),
        };
        match (self.rules.versions, is_v2) {
            (Versions::V1, _) => Ok(Version::V1),
            (_, Some(true)) => Ok(Version::V2),
            (Versions::Both, Some(false)) => Err("`jsonrpc` must be \"2.0\", or be left out for 1.0"),
            (_, Some(false)) => Err("`jsonrpc` must be \"2.0\""),
            (Versions::V2, None) => Err("`jsonrpc` is missing; it must be \"2.0\""),
            (Versions::Both, None) => {
                let e = self.envelope;
                let is_v1 = e.method.is_present() || e.result.is_present() || e.error.is_present();
                if is_v1 { Ok(Version::V1) } else { Err("`jsonrpc` and `method` are missing") }
            }
        }
    }

    /// Puts what a request asks for into place, where it stays: moving it about costs more than reading it. Gives the
    /// members that the protocol does not define.
    ///
    /// # Errors
    ///
    /// The message it is instead, because it breaks a rule.
    #[inline(always)]
    pub(super) fn request_into(
        &self,
        version: Version,
        asked: Asked<'_>,
    ) -> Result<Option<Box<Json>>, Box<Message>> {
        let Asked { method, params, id } = asked;
        let refused = |detail| Err(Box::new(self.refuse_request(version, detail)));
        if !self.method_into(method) {
            return refused("`method` must be a string");
        }
        if method.as_bytes().len() > self.rules.longest_name {
            return refused("the method name is too long (limits.name)");
        }
        match self.has_id(version) {
            Ok(true) => match id {
                Some(id) => self.become_text(id.text(), self.envelope.id),
                None => *id = Some(Id::from_text(self.text(self.envelope.id))),
            },
            Ok(false) => *id = None,
            Err(detail) => return refused(detail),
        }
        match self.has_params(version) {
            Ok(true) => match params {
                Some(params) => self.become_text(params.text(), self.envelope.params),
                None => *params = Some(Json::from_text(self.text(self.envelope.params))),
            },
            Ok(false) => *params = None,
            Err(detail) => return refused(detail),
        }
        if self.envelope.has_duplicate_params {
            let error = ErrorObject::invalid_params("duplicate member name in `params`");
            return Err(Box::new(invalid(version, id.take(), error)));
        }
        Ok(self.members())
    }

    /// Whether options of a call are among the members that the protocol does not define.
    #[cold]
    pub(super) fn has_options(&self) -> bool {
        self.envelope.unknown.as_ref().is_some_and(|unknown| unknown.has_any(is_option, self.frame))
    }

    #[inline(always)]
    fn members(&self) -> Option<Box<Json>> {
        let object = self.envelope.unknown.as_ref()?.as_object(self.frame);
        Some(Box::new(Json::from_text(Text::from_vec(object))))
    }

    /// Whether a request has an identifier, and so is not a notification (J2-15, J2-17, J1-11).
    #[inline(always)]
    fn has_id(&self, version: Version) -> Result<bool, &'static str> {
        let raw = self.bytes(self.envelope.id);
        match (version, raw.first()) {
            (Version::V2, None) => return Ok(false),
            (Version::V1, None) => return Err("`id` is missing; a 1.0 notification has `id: null`"),
            (Version::V1, Some(b'n')) => return Ok(false),
            (Version::V2, Some(b't' | b'f' | b'[' | b'{')) => {
                return Err("`id` must be a string, a number or null");
            }
            _ => {}
        }
        if raw.len() > self.rules.longest_id { Err("`id` is too long (limits.id)") } else { Ok(true) }
    }

    /// Whether a request has parameters (J2-10, J2-11, J1-03, J1-05).
    #[inline(always)]
    fn has_params(&self, version: Version) -> Result<bool, &'static str> {
        match (version, self.bytes(self.envelope.params).first()) {
            (_, Some(b'[')) | (Version::V2, Some(b'{')) => Ok(true),
            (Version::V2, None) => Ok(false),
            (Version::V2, Some(b'n')) if self.rules.takes_null_params => Ok(false),
            (Version::V2, _) => Err("`params` must be an array or an object"),
            (Version::V1, None) => Err("`params` is missing; 1.0 requires it, as an array"),
            (Version::V1, _) => Err("in 1.0 `params` must be an array"),
        }
    }

    /// A response, however broken: it is never taken for a request, which would be answered (J2-50, J2-66).
    fn response(&self, version: Result<Version, &'static str>) -> Message {
        let shape = self.shape();
        let (id, is_usable) = match self.id_is_unusable(shape) {
            true => (Id::NULL, false),
            false => (Id::from_text(self.text(self.envelope.id)), true),
        };
        let outcome = match version {
            Err(detail) => ResponseOutcome::Broken(detail),
            Ok(_) if !is_usable && self.envelope.id.is_present() => {
                ResponseOutcome::Broken("the response has an invalid `id`")
            }
            Ok(version) => self.outcome(version),
        };
        let members = self.members().and_then(|members| match outcome {
            ResponseOutcome::Stream(..) => without_stream(&members).map(Box::new),
            _ => Some(members),
        });
        let is_error = members.is_some() && matches!(outcome, ResponseOutcome::Error(_));
        let error = is_error.then(|| Box::new(Json::from_text(self.text(self.envelope.error))));
        Message::Response(ResponseObject { version: shape, id, outcome, members, error })
    }

    /// What a response says (J2-66, J1-08, J1-10).
    fn outcome(&self, version: Version) -> ResponseOutcome {
        let e = self.envelope;
        let has_error = match version {
            Version::V2 => e.error.is_present(),
            Version::V1 => e.error.is_present() && self.bytes(e.error) != b"null",
        };
        let has_result = match version {
            Version::V2 => e.result.is_present(),
            Version::V1 => e.result.is_present() && !(has_error && self.bytes(e.result) == b"null"),
        };
        let json = |place| Json::from_text(self.text(place));
        match (has_result, has_error) {
            (true, false) => match self.stream_flag() {
                Some(flag) => ResponseOutcome::Stream(json(e.result), flag),
                None => ResponseOutcome::Value(json(e.result)),
            },
            (false, true) => error_object(&json(e.error), version),
            (true, true) => ResponseOutcome::Broken("the response has both `result` and `error`"),
            (false, false) => ResponseOutcome::Broken("the response has neither `result` nor `error`"),
        }
    }

    /// What says that a stream follows a result, if something does.
    fn stream_flag(&self) -> Option<Json> {
        let flag = self.envelope.unknown.as_ref()?.get(b"stream", self.frame)?;
        let follows = matches!(flag.of(self.frame), b"true" | [b'{', ..]);
        follows.then(|| Json::from_text(Text::slice(self.frame, flag.start, flag.end)))
    }

    /// Refuses a request that breaks a rule of this version.
    #[cold]
    fn refuse_request(&self, version: Version, detail: &'static str) -> Message {
        if version == Version::V1 && self.shape() == Version::V2 {
            return self.refuse(
                "`jsonrpc` is missing; send \"2.0\", or a complete 1.0 request: \
                 a string `method`, an array `params` and an `id`",
            );
        }
        self.refuse(detail)
    }

    fn refuse(&self, detail: &'static str) -> Message {
        let shape = self.shape();
        let id =
            if self.id_is_unusable(shape) { Id::NULL } else { Id::from_text(self.text(self.envelope.id)) };
        invalid(shape, Some(id), ErrorObject::invalid_request(detail))
    }

    /// Whether there is no identifier that an answer could carry (J2-29).
    fn id_is_unusable(&self, version: Version) -> bool {
        let raw = self.bytes(self.envelope.id);
        let fits = match raw.first() {
            None => false,
            Some(b't' | b'f' | b'[' | b'{') => version == Version::V1,
            Some(_) => true,
        };
        !fits || self.envelope.has_duplicate_id || raw.len() > self.rules.longest_id
    }

    /// Puts the method's name into place, if it is one.
    #[inline(always)]
    fn method_into(&self, method: &mut Name) -> bool {
        let span = self.envelope.method.span();
        if self.frame[span.start] != b'"' {
            return false;
        }
        let (start, end) = (span.start + 1, span.end - 1);
        if self.envelope.has_escaped_method {
            *method = Name::from_text(Text::from_vec(unescape(&self.frame[start..end])));
        } else {
            method.text().become_slice(self.frame, start, end);
        }
        true
    }

    #[inline(always)]
    fn bytes(&self, place: ShortSpan) -> &[u8] {
        place.span().of(self.frame)
    }

    #[inline(always)]
    fn text(&self, place: ShortSpan) -> Text {
        let span = place.span();
        Text::slice(self.frame, span.start, span.end)
    }

    #[inline(always)]
    fn become_text(&self, text: &mut Text, place: ShortSpan) {
        let span = place.span();
        text.become_slice(self.frame, span.start, span.end);
    }
}

/// The members but for the one that says that a stream follows; none if there is no other.
fn without_stream(all: &Json) -> Option<Json> {
    let mut rest = Vec::new();
    for ((name, _), (written, value)) in members(all.as_bytes()).zip(written_members(all.as_bytes())) {
        if *name == *b"stream" {
            continue;
        }
        rest.push(if rest.is_empty() { b'{' } else { b',' });
        rest.extend_from_slice(written);
        rest.push(b':');
        rest.extend_from_slice(value);
    }
    if rest.is_empty() {
        return None;
    }
    rest.push(b'}');
    Some(Json::from_text(Text::from_vec(rest)))
}

/// A text in the place of a message that is not one.
pub(super) fn not_an_object(found: Kind, rules: &Rules) -> Message {
    let version = rules.versions.unsaid();
    let detail = match found {
        Kind::Array if version == Version::V1 || !rules.takes_batches => {
            "batches are not accepted here".to_owned()
        }
        found => format!("a request must be an object, not {}", found.with_article()),
    };
    invalid(version, Some(Id::NULL), ErrorObject::invalid_request(detail))
}

fn invalid(version: Version, id: Option<Id>, error: ErrorObject) -> Message {
    Message::Invalid(Invalid { version, id, error })
}

/// Reads the `error` of a response (J2-38). In 1.0 it may be anything but null (J1-10).
fn error_object(json: &Json, version: Version) -> ResponseOutcome {
    match (structured_error(json), version) {
        (Some(error), _) => ResponseOutcome::Error(error),
        (None, Version::V2) => {
            ResponseOutcome::Broken("`error` must be an object with an integer `code` and a string `message`")
        }
        (None, Version::V1) => {
            let message = json.decode::<String>().unwrap_or_else(|_| "the call failed".to_owned());
            ResponseOutcome::Error(ErrorObject::new(Code::SERVER_ERROR, message).with_data(json))
        }
    }
}

/// Reads an error object; anything else becomes the data of one.
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
