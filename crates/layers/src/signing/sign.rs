//! Signing the calls of a client.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};

use switchboard_core::{
    AllowedNames, Call, CallError, MembersOnSend, Metadata, Outcome, Outgoing, Peer, Remote, Reply,
    ReplyFuture, Service, SharedSeal,
};

use super::hex;
use super::http::HttpSeal;
use super::items::{self, Pending, Progress};
use super::member::{Member, is_visible};
use super::replies::{ReplyVerdict, SentCall, verify_reply};
use super::text::{Covered, member_of};
use super::{Key, SigningKeys};
use crate::clock::Clock;

/// Signs the calls of a client, and verifies the signatures of replies. Cheap to clone.
///
/// Each call is signed when it is written, so a call that is sent again has a new nonce. Calls that have a signature already, such as
/// those that a proxy forwards, keep it.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use switchboard_core::Peer;
/// use switchboard_layers::signing::{Key, Sign};
///
/// fn signing(peer: Peer, key: Key) -> Peer {
///     Sign::new(Arc::new(key), "https://bank.example/rpc").peer(peer)
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Sign {
    pub(super) key: Arc<Key>,
    audience: Arc<str>,
    pub(super) servers: SigningKeys,
    pub(super) requires_replies: bool,
    pub(super) clock: Clock,
}

impl Sign {
    /// Signs with this key for this audience: the address of the server, see [`audience_of`].
    #[must_use]
    pub fn new(key: Arc<Key>, audience: &str) -> Sign {
        let (servers, clock) = (SigningKeys::default(), Clock::system());
        Sign { key, audience: audience.into(), servers, requires_replies: false, clock }
    }

    /// Knows these keys of servers, which sign replies.
    #[must_use]
    pub fn with_server_keys(self, servers: SigningKeys) -> Sign {
        Sign { servers, ..self }
    }

    /// Accepts only replies that are signed. Unsigned errors are reported as such; unsigned results and items of streams are errors.
    #[must_use]
    pub fn requiring_signed_replies(self) -> Sign {
        Sign { requires_replies: true, ..self }
    }

    /// Tells the time by this clock.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Sign {
        Sign { clock, ..self }
    }

    /// A peer whose calls are signed.
    #[must_use]
    pub fn peer(self, peer: Peer) -> Peer {
        Peer::new(SigningPeer { sign: self, peer, signs_streams_only: false })
    }

    /// Signs whole HTTP requests, with the header fields of RFC 9421: for the options of an HTTP client. Wrap its peer with
    /// [`peer_over_http`](Sign::peer_over_http).
    #[must_use]
    pub fn seal(&self) -> SharedSeal {
        HttpSeal(self.clone()).into()
    }

    /// A peer over HTTP whose requests are signed as a whole by [`seal`](Sign::seal). Here only calls are signed whose answers are event streams,
    /// because the header fields of a response cannot cover those.
    #[must_use]
    pub fn peer_over_http(self, peer: Peer) -> Peer {
        Peer::new(SigningPeer { sign: self, peer, signs_streams_only: true })
    }

    /// The member for a request that is about to be sent, and what is needed to verify its reply. `None` if it cannot be signed.
    fn sign(&self, outgoing: &Outgoing<'_>, metadata: &Metadata) -> Option<(Member, SentCall)> {
        let covered = Covered::of_outgoing(outgoing, metadata).ok()?;
        let member = self.signed(|member, algorithm| covered.request_text(member, algorithm))?;
        let request = covered.request_text(&member, self.key.algorithm()).sha256();
        let id = covered.id().unwrap_or("").to_owned();
        let sent = SentCall { version: covered.version(), id, nonce: member.nonce.clone(), request };
        Some((member, sent))
    }

    /// Makes a member with a new nonce for a text. `None` if the key cannot sign, the audience cannot be written or there are no random numbers.
    pub(super) fn signed(
        &self,
        text: impl FnOnce(&Member, super::SigningAlgorithm) -> super::SignedText,
    ) -> Option<Member> {
        let mut member = Member {
            kid: self.key.kid().to_owned(),
            aud: is_visible(&*self.audience).then(|| self.audience.as_ref().to_owned())?,
            ts: Some(self.clock.seconds()),
            exp: None,
            nonce: hex::random::<16>().ok()?,
            session: None,
            seq: None,
            items: None,
            sig: Vec::new(),
        };
        member.sig = self.key.sign(text(&member, self.key.algorithm()).as_bytes())?;
        Some(member)
    }

    /// The call with what signs it when it is written; `None` if it has a signature.
    fn prepared(&self, call: &Call) -> Option<(Call, Sent)> {
        if member_of(call).is_some() {
            return None;
        }
        let (pending, progress) = (Pending::default(), Arc::<Progress>::default());
        let (sign, sent) = (self.clone(), Arc::clone(&pending));
        let metadata = call.cx.outgoing_metadata(&AllowedNames::none());
        let mut call = call.clone();
        call.cx.insert(MembersOnSend::new(move |outgoing| {
            let (member, call) = sign.sign(outgoing, &metadata)?;
            *sent.lock().unwrap_or_else(PoisonError::into_inner) = Some(call);
            Some(member.claim().to_members(None, None))
        }));
        call.cx.insert(items::check(self, &pending, &progress));
        Some((call, Sent { pending, progress }))
    }

    /// The reply, if its signature is right or not required.
    fn checked(&self, reply: Reply, Sent { pending, progress }: &Sent) -> Reply {
        if let Outcome::Stream(_) = &reply.outcome {
            let progress = Arc::clone(progress);
            return match self.requires_replies {
                true => reply.map_items(|items| items::required(items, progress)),
                false => reply,
            };
        }
        let sent = pending.lock().unwrap_or_else(PoisonError::into_inner).take();
        // It was not sent, so nobody can have signed the reply.
        let Some(sent) = sent else { return reply };
        match verify_reply(&reply, &sent, &self.key, &self.servers) {
            ReplyVerdict::Signed => reply,
            ReplyVerdict::Unsigned if !self.requires_replies => reply,
            ReplyVerdict::Unsigned => unsigned(reply),
            ReplyVerdict::Wrong => broken("the signature of the response is wrong"),
        }
    }
}

/// A reply without a signature where one is required.
fn unsigned(mut reply: Reply) -> Reply {
    match &mut reply.outcome {
        Outcome::Error(error) if error.is_local() => reply,
        Outcome::Error(error) => {
            error.message =
                format!("unauthenticated error (not signed by the server): {}", error.message).into();
            reply
        }
        Outcome::Value(_) | Outcome::Stream(_) => broken("the response is not signed"),
    }
}

fn broken(why: &'static str) -> Reply {
    Reply::error(CallError::Protocol(why.into()).into())
}

/// What is needed to check the reply to a call.
struct Sent {
    pending: Pending,
    progress: Arc<Progress>,
}

/// A peer whose calls are signed.
struct SigningPeer {
    sign: Sign,
    peer: Peer,
    /// Whether other calls are signed with their whole request.
    signs_streams_only: bool,
}

impl SigningPeer {
    /// The call with what signs it when it is written; `None` if it is not signed here.
    fn prepared(&self, call: &Call) -> Option<(Call, Sent)> {
        let comes_in_parts = call.cx.wants_stream() || call.cx.wants_progress();
        if self.signs_streams_only && !comes_in_parts {
            return None;
        }
        self.sign.prepared(call)
    }
}

impl Service for SigningPeer {
    fn call(&self, call: &Call) -> ReplyFuture {
        let Some((call, pending)) = self.prepared(call) else { return Service::call(&self.peer, call) };
        let reply = Service::call(&self.peer, &call);
        if call.is_notification() {
            return reply;
        }
        let sign = self.sign.clone();
        reply.map(move |reply| sign.checked(reply, &pending))
    }
}

impl Remote for SigningPeer {
    fn batch(&self, calls: Vec<Call>) -> Pin<Box<dyn Future<Output = Vec<Reply>> + Send>> {
        let (mut signed, mut pending) = (Vec::new(), Vec::new());
        for call in calls {
            match self.prepared(&call).filter(|_| !self.signs_streams_only) {
                Some((call, sent)) => {
                    pending.push((!call.is_notification()).then_some(sent));
                    signed.push(call);
                }
                None => {
                    pending.push(None);
                    signed.push(call);
                }
            }
        }
        let (replies, sign) = (Remote::batch(&self.peer, signed), self.sign.clone());
        Box::pin(async move {
            let replies = replies.await.into_iter().zip(pending);
            let checked = replies.map(|(reply, sent)| match sent {
                Some(sent) => sign.checked(reply, &sent),
                None => reply,
            });
            checked.collect()
        })
    }

    fn closed(&self) -> Pin<Box<dyn Future<Output = CallError> + Send>> {
        Remote::closed(&self.peer)
    }

    fn wrapped(&self) -> Option<&Peer> {
        Some(&self.peer)
    }
}

/// The audience of a server at this URL: the URL without user info, query and fragment; `stdio:` for a child process.
///
/// # Examples
///
/// ```
/// use switchboard_layers::signing::audience_of;
///
/// assert_eq!(audience_of("https://me:secret@bank.example/rpc?x=1#top"), "https://bank.example/rpc");
/// assert_eq!(audience_of("exec:bank --serve"), "stdio:");
/// ```
#[must_use]
pub fn audience_of(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or(url);
    let Some((scheme, rest)) = url.split_once("://") else {
        return match url.split_once(':') {
            Some(("exec" | "stdio", _)) | None => "stdio:".to_owned(),
            Some(_) => url.to_owned(),
        };
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}
