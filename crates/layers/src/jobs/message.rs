//! A job as it waits in the queue.

use std::sync::Arc;

use aws_lc_rs::digest::{Context as Digest, SHA256};
use serde::{Deserialize, Serialize};
use switchboard_core::{AllowedNames, Call, Context, ErrorObject, FromContext as _, Json, Metadata};

use crate::identity::{Identity, Proof};

/// What goes on with a job to its worker: the trace that it belongs to.
const INHERITED: [&str; 2] = ["traceparent", "tracestate"];

/// A job: what to call, and for whom. It says all that a worker needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Message {
    pub(super) job: String,
    pub(super) method: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) params: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    caller: Option<Caller>,
    /// When it was submitted, in milliseconds since 1970.
    pub(super) submitted: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    metadata: Vec<(String, String)>,
}

/// A job that was given up, as the dead letters have it.
#[derive(Serialize)]
pub(super) struct DeadLetter<'a> {
    pub(super) error: &'a Json,
    pub(super) attempts: u32,
    /// When it was given up, in milliseconds since 1970.
    pub(super) died: u64,
    pub(super) message: &'a Json,
}

/// Who submitted a job. When the credential expires does not matter any more.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Caller {
    subject: String,
    proof: Proof,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    roles: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    scopes: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claims: Option<Json>,
}

impl Message {
    /// The job that runs this call.
    pub(super) fn of(
        call: &Call,
        service: &str,
        key: Option<&str>,
        now: u64,
    ) -> Result<Message, ErrorObject> {
        let method = call.method.as_str();
        let job = job_id(service, owner(&call.cx), method, key)?;
        let inherited = call.cx.outgoing_metadata(&AllowedNames::from_iter(INHERITED));
        let text = |value: &[u8]| std::str::from_utf8(value).ok().map(str::to_owned);
        let metadata = inherited.entries().into_iter();
        Ok(Message {
            job,
            method: method.to_owned(),
            params: call.params.clone(),
            caller: Identity::from_context(&call.cx).map(Caller::of),
            submitted: now,
            metadata: metadata.filter_map(|(name, value)| Some((name.to_owned(), text(value)?))).collect(),
        })
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<Message> {
        let message: Message = Json::parse(bytes.to_vec()).ok()?.decode().ok()?;
        is_job_id(&message.job).then_some(message)
    }

    pub(super) fn to_json(&self) -> Result<Json, ErrorObject> {
        Json::encode_ref(self).map_err(|error| ErrorObject::internal(&error))
    }

    pub(super) fn owner(&self) -> &str {
        self.caller.as_ref().map_or("", |caller| &caller.subject)
    }

    pub(super) fn params_digest(&self) -> String {
        hex(&digest(&[self.params.as_ref().map_or(&b""[..], |params| params.as_bytes())]))
    }

    /// The context of the call that runs the job.
    pub(super) fn context(&self, mut cx: Context) -> Context {
        if !self.metadata.is_empty() {
            let mut metadata = Metadata::default();
            for (name, value) in &self.metadata {
                metadata.insert(name, value.clone());
            }
            cx = cx.with_metadata(metadata);
        }
        if let Some(caller) = &self.caller {
            cx.set_caller(Arc::new(caller.identity()));
        }
        cx
    }

    /// The call, as a request.
    pub(super) fn request(&self) -> Result<Json, ErrorObject> {
        #[derive(Serialize)]
        struct Request<'a> {
            jsonrpc: &'static str,
            id: &'a str,
            method: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            params: Option<&'a Json>,
        }
        let Message { job, method, params, .. } = self;
        let request = Request { jsonrpc: "2.0", id: job, method, params: params.as_ref() };
        Json::encode_ref(&request).map_err(|error| ErrorObject::internal(&error))
    }
}

impl Caller {
    fn of(identity: &Identity) -> Caller {
        let Identity { subject, proof, agent, roles, scopes, claims, .. } = identity.clone();
        Caller { subject, proof, agent, roles, scopes, claims }
    }

    fn identity(&self) -> Identity {
        let Caller { subject, proof, agent, roles, scopes, claims } = self.clone();
        let mut identity = Identity::new(subject, proof).with_roles(roles).with_scopes(scopes);
        (identity.agent, identity.claims) = (agent, claims);
        identity
    }
}

/// Whose jobs a caller may ask for.
pub(super) fn owner(cx: &Context) -> &str {
    Identity::from_context(cx).map_or("", |identity| &identity.subject)
}

/// Whether a caller can have got this as the identifier of a job: it becomes part of subjects.
pub(super) fn is_job_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// The identifier of a job: the same for the same caller, method and key, and without a key a random one.
fn job_id(service: &str, owner: &str, method: &str, key: Option<&str>) -> Result<String, ErrorObject> {
    let mut random = [0; 16];
    let (kind, key) = match key {
        Some(key) => (&b"key"[..], key.as_bytes()),
        None => {
            aws_lc_rs::rand::fill(&mut random).map_err(|_| ErrorObject::internal(&"no random numbers"))?;
            (&b"random"[..], &random[..])
        }
    };
    let digest = digest(&[service.as_bytes(), owner.as_bytes(), method.as_bytes(), kind, key]);
    Ok(hex(&digest[..16]))
}

/// The digest of these parts, each with its length.
fn digest(parts: &[&[u8]]) -> Vec<u8> {
    let mut context = Digest::new(&SHA256);
    for part in parts {
        context.update(&(part.len() as u64).to_le_bytes());
        context.update(part);
    }
    context.finish().as_ref().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(subject: Option<&str>) -> Call {
        let mut call = Call::new("math/add", Json::parse("[2, 3]").ok());
        if let Some(subject) = subject {
            Identity::new(subject, Proof::Token).with_roles(["admin"]).attach(&mut call.cx);
        }
        call
    }

    #[test]
    fn a_message_is_read_as_it_was_written() {
        let message = Message::of(&call(Some("alice")), "math", None, 7).unwrap();
        let read = Message::parse(message.to_json().unwrap().as_bytes()).unwrap();
        assert_eq!(read.to_json().unwrap().as_str(), message.to_json().unwrap().as_str());
        let cx = read.context(Context::default());
        let identity = Identity::from_context(&cx).unwrap();
        assert_eq!(
            (identity.subject.as_str(), identity.roles.as_slice()),
            ("alice", &["admin".to_owned()][..])
        );
        assert!(Message::parse(br#"{"job":"a.>","method":"m","submitted":1}"#).is_none());
    }

    #[test]
    fn a_key_belongs_to_its_caller_and_method() {
        let id = |subject, key| Message::of(&call(subject), "math", key, 1).unwrap().job;
        assert_eq!(id(Some("alice"), Some("k")), id(Some("alice"), Some("k")));
        assert_ne!(id(Some("alice"), Some("k")), id(Some("bob"), Some("k")));
        assert_ne!(id(Some("alice"), Some("k")), id(None, Some("k")));
        assert_ne!(id(Some("alice"), None), id(Some("alice"), None));
        assert!(is_job_id(&id(None, None)));
    }
}
