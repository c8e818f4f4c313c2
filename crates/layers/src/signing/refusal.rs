//! The answers to calls that are not accepted. They look alike, whatever failed (SEC-S-06).

use std::time::Duration;

use serde::Serialize;
use switchboard_core::{Call, Code, ErrorObject, Reply};

use super::hex;
use super::http::ACCEPT_SIGNATURE;
use super::member::{Malformed, Member};
use super::verifier::Reason;
use crate::audit::{Audit, AuditEvent, AuditKind};

/// What the log says about a message that was refused.
pub(super) struct Refused<'a> {
    pub(super) reason: Reason,
    pub(super) call: &'a Call,
    pub(super) member: Option<&'a Member>,
    /// Seconds since 1970.
    pub(super) now: u64,
    /// How long to wait, if the store is full.
    pub(super) wait: Duration,
    /// Whether the method takes signatures, and not only timestamps and nonces.
    pub(super) is_signed: bool,
    /// The subject of the key, if the signature was right.
    pub(super) who: Option<&'a str>,
    pub(super) audit: &'a Audit,
}

impl Refused<'_> {
    /// Logs the refusal and answers it.
    pub(super) fn reply(&self) -> Reply {
        let reference = hex::random::<8>().unwrap_or_default();
        self.log(&reference);
        self.record(&reference);
        match self.reason {
            Reason::Malformed(malformed) => invalid(malformed),
            Reason::OutOfScope => forbidden(self.call.method.as_str(), &reference),
            Reason::StoreFull | Reason::StoreDown => unavailable(self.wait),
            reason if !self.is_signed => repeated(reason, self.now, &reference),
            _ => unauthorized(self.call, self.now, &reference),
        }
    }

    /// Never the key, the signature, the params or the text.
    fn log(&self, reference: &str) {
        let Refused { reason, call, member, now, .. } = self;
        let age = member.and_then(|member| member.ts).map(|ts| i128::from(*now) - i128::from(ts));
        let nonce = member.map_or("", |member| member.nonce.get(..8).unwrap_or(&member.nonce));
        tracing::warn!(
            target: "switchboard::signing",
            reason = reason.name(),
            reference,
            kid = member.map_or("", |member| &member.kid),
            method = %shortened(call.method.as_str()),
            id = %call.id().map(|id| shortened(id.as_str())).unwrap_or_default(),
            aud = %member.map(|member| shortened(&member.aud)).unwrap_or_default(),
            age = age.map(|age| age.to_string()).unwrap_or_default(),
            nonce,
            peer = %call.cx.origin().address.map(|address| address.to_string()).unwrap_or_default(),
            "refused a call"
        );
    }

    /// Records the refusal in the audit log (SEC-E-06).
    fn record(&self, reference: &str) {
        let kind = match self.reason {
            Reason::Replay => AuditKind::REPLAYED,
            Reason::OutOfScope => AuditKind::DENIED,
            Reason::StoreFull | Reason::StoreDown => AuditKind::SHED,
            _ => AuditKind::SIGNATURE_FAILED,
        };
        let mut event = AuditEvent::new(kind).by(&self.call.cx).method(self.call.method.as_str());
        if let Some(who) = self.who {
            event = event.who(who);
        }
        if let Some(member) = self.member.filter(|member| !member.kid.is_empty()) {
            event = event.key(&member.kid);
        }
        self.audit.record(&event.reason(self.reason.name()).incident(reference));
    }
}

/// Text of a caller, safe for a log.
fn shortened(text: &str) -> String {
    text.chars().take(128).flat_map(char::escape_debug).collect()
}

fn unauthorized(call: &Call, now: u64, reference: &str) -> Reply {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Data<'a> {
        reason: &'static str,
        server_time: u64,
        #[serde(rename = "ref")]
        reference: &'a str,
    }
    let data = Data { reason: "signature", server_time: now, reference };
    let mut error = ErrorObject::unauthorized();
    error.data = switchboard_core::Json::encode_ref(&data).ok();
    let reply = Reply::error(error).with_status(401).with_metadata("www-authenticate", "Signature");
    match call.cx.origin().transport {
        "http" | "https" => reply.with_metadata("accept-signature", ACCEPT_SIGNATURE),
        _ => reply,
    }
}

/// The answer where no signature is required: there is no secret to protect.
fn repeated(reason: Reason, now: u64, reference: &str) -> Reply {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Data<'a> {
        details: &'static str,
        server_time: u64,
        #[serde(rename = "ref")]
        reference: &'a str,
    }
    let details = match reason {
        Reason::Replay => "the nonce was used before",
        Reason::Expired => "the timestamp is too old",
        Reason::NotYetValid => "the timestamp is in the future",
        _ => "the params need a timestamp and a nonce",
    };
    let mut error = ErrorObject::unauthorized();
    error.data = switchboard_core::Json::encode_ref(&Data { details, server_time: now, reference }).ok();
    Reply::error(error).with_status(401)
}

fn forbidden(method: &str, incident: &str) -> Reply {
    #[derive(Serialize)]
    struct Data<'a> {
        method: &'a str,
        incident: &'a str,
    }
    let mut error = ErrorObject::unauthorized();
    error.data = switchboard_core::Json::encode_ref(&Data { method, incident }).ok();
    Reply::error(error).with_status(403)
}

fn invalid(malformed: Malformed) -> Reply {
    #[derive(Serialize)]
    struct Data {
        details: &'static str,
        at: &'static str,
    }
    let data = Data { details: "the signature is malformed", at: malformed.at };
    Reply::error(ErrorObject::from_code(Code::INVALID_REQUEST).with_data(&data)).with_status(400)
}

fn unavailable(wait: Duration) -> Reply {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Data {
        limit: &'static str,
        details: &'static str,
        retry_after_ms: u128,
    }
    let details = "signed calls cannot be accepted now; sign again and retry later";
    let data = Data { limit: "signing.nonces", details, retry_after_ms: wait.as_millis() };
    let seconds = wait.as_millis().div_ceil(1000).max(1);
    Reply::error(ErrorObject::from_code(Code::OVER_LIMIT).with_data(&data))
        .with_status(503)
        .with_metadata("retry-after", seconds.to_string())
}
