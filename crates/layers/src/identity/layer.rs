//! The layer that authenticates callers.

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use switchboard_core::{
    Arguments, Call, Context, ErrorObject, FromContext as _, Json, Layer, Reply, ReplyFuture, Service,
    Session, service_fn,
};

use super::credential::{OwnedCredential, Unreadable};
use super::expiry::{Revocation, close_at_end, until};
use super::failures::Failures;
use super::refusal::{refusal, refused};
use super::{Authenticate, Credential, Identity, Login, Revocations, Verdict};
use crate::audit::{Audit, AuditEvent, AuditKind};

/// The method that authenticates a connection without headers, with the params `{"token": "…"}`.
pub const LOGIN: &str = "rpc.login";

/// The method that tells callers who they are.
pub const WHO_AM_I: &str = "rpc.whoami";

/// How many wrong credentials an address may present in a minute.
const FAILURES: u32 = 10;

/// Authenticates callers, and refuses calls without valid credentials. It is an admission and a layer; use it as both, so that HTTP requests
/// are refused before their bodies are read.
///
/// A wrong credential is always refused with -32002 (401 over HTTP). After ten wrong ones in a minute, an address gets -32005 (429)
/// without a check. Cheap to clone.
///
/// # Examples
///
/// ```
/// use switchboard_core::{ErrorObject, Layer, Router, Settings};
/// use switchboard_layers::identity::{Authentication, Tokens};
///
/// let authentication = Authentication::new(Tokens::parse("alice:2f9c1b7e55a04d13")?);
/// let router = Router::builder().method("ping", |(): (), _| Ok::<_, ErrorObject>("pong")).build()?;
/// let service = router.layered(authentication.clone());
/// let settings = Settings::default().with_admission(Some(authentication.into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Authentication(pub(super) Arc<Inner>);

#[derive(Clone)]
pub(super) struct Inner {
    /// At least one.
    pub(super) authenticators: Vec<Arc<dyn Authenticate>>,
    is_required: bool,
    /// Which callers have which role, beside those that credentials name.
    roles: HashMap<Box<str>, Vec<String>>,
    failures: Arc<Failures>,
    /// What is not accepted any more, if that can change.
    revocations: Option<Revocations>,
    audit: Audit,
}

/// Who makes a call, as far as it is known.
pub(super) enum Caller {
    Known(Arc<Identity>),
    /// No credential was presented.
    Anonymous,
    /// The credential is wrong.
    Wrong,
    /// Too many wrong ones were presented: wait.
    Blocked(Duration),
    /// The credential cannot be checked before this time has passed.
    Unavailable(Duration),
    /// The decision takes time. It is not this one again.
    Later(Pin<Box<dyn Future<Output = Caller> + Send>>),
}

impl Authentication {
    /// Accepts the credentials that this authenticator knows.
    pub fn new(authenticator: impl Authenticate) -> Authentication {
        let failures = Arc::new(Failures::per_minute(FAILURES));
        Authentication(Arc::new(Inner {
            authenticators: vec![Arc::new(authenticator)],
            is_required: true,
            roles: HashMap::new(),
            failures,
            revocations: None,
            audit: Audit::default(),
        }))
    }

    /// Also accepts the credentials that this authenticator knows.
    #[must_use]
    pub fn or(self, authenticator: impl Authenticate) -> Authentication {
        self.changed(|inner| inner.authenticators.push(Arc::new(authenticator)))
    }

    /// Allows calls without credentials; they have no [`Identity`]. Wrong credentials are still refused.
    #[must_use]
    pub fn optional(self) -> Authentication {
        self.changed(|inner| inner.is_required = false)
    }

    /// Shows these additional roles to this caller, in the answers to `rpc.login` and `rpc.whoami`. Rules decide by
    /// the roles of `Access::with_roles`: give both the same.
    #[must_use]
    pub fn with_roles<R: Into<String>>(
        self,
        subject: &str,
        roles: impl IntoIterator<Item = R>,
    ) -> Authentication {
        self.changed(|inner| {
            inner.roles.entry(subject.into()).or_default().extend(roles.into_iter().map(Into::into));
        })
    }

    /// Records wrong credentials, and addresses that presented too many of them.
    #[must_use]
    pub fn with_audit(self, audit: Audit) -> Authentication {
        self.changed(|inner| inner.audit = audit)
    }

    /// Refuses credentials that are revoked, whatever their files and issuers say.
    #[must_use]
    pub fn with_revocations(self, revocations: Revocations) -> Authentication {
        self.changed(|inner| inner.revocations = Some(revocations))
    }

    fn changed(self, change: impl FnOnce(&mut Inner)) -> Authentication {
        let mut inner = Arc::unwrap_or_clone(self.0);
        change(&mut inner);
        Authentication(Arc::new(inner))
    }

    /// Whether calls without credentials are refused.
    #[must_use]
    pub fn is_required(&self) -> bool {
        self.0.is_required
    }

    /// Whose credential this context has.
    #[inline(always)]
    pub(super) fn caller(&self, cx: &Context) -> Caller {
        match Credential::usual_token(cx.metadata()) {
            Some(token) => self.check(&Credential::Bearer(token), cx),
            None => self.caller_by_other(cx),
        }
    }

    #[inline(never)]
    fn caller_by_other(&self, cx: &Context) -> Caller {
        match &Credential::of(cx) {
            Ok(None) => Caller::Anonymous,
            Ok(Some(credential)) => self.check(credential, cx),
            Err(Unreadable) => self.wrong(cx),
        }
    }

    /// Whose this credential is.
    #[inline(always)]
    pub(super) fn check(&self, credential: &Credential<'_>, cx: &Context) -> Caller {
        if self.0.failures.has_any()
            && let Some(blocked) = self.blocked(credential, cx)
        {
            return blocked;
        }
        // Usually there is one, and it knows the credential.
        match self.0.authenticators[0].authenticate(credential) {
            Verdict::Known(identity) => self.known(identity, credential, cx),
            first => self.check_others(first, credential, cx),
        }
    }

    /// Whose a credential is that the first authenticator does not know.
    #[inline(never)]
    fn check_others(&self, first: Verdict, credential: &Credential<'_>, cx: &Context) -> Caller {
        let (mut found, mut verdict, mut next) = (Verdict::Unknown, first, 1);
        loop {
            match verdict {
                Verdict::Known(identity) => return self.known(identity, credential, cx),
                Verdict::Later(_) => return self.later((found, verdict), credential, cx, next),
                _ => found = found.or(verdict),
            }
            let Some(authenticator) = self.0.authenticators.get(next) else {
                return self.conclude(found, credential, cx);
            };
            verdict = authenticator.authenticate(credential);
            next += 1;
        }
    }

    /// Waits for the second of these verdicts, then asks the authenticators from this one on.
    fn later(
        &self,
        (found, decision): (Verdict, Verdict),
        credential: &Credential<'_>,
        cx: &Context,
        next: usize,
    ) -> Caller {
        let (this, credential, cx) = (self.clone(), credential.owned(), cx.clone());
        Caller::Later(Box::pin(async move {
            let found = found.or(decision.resolved().await);
            this.check_later(found, credential, &cx, next).await
        }))
    }

    /// Refuses a credential unseen, if too many wrong ones came from its address.
    #[cold]
    fn blocked(&self, credential: &Credential<'_>, cx: &Context) -> Option<Caller> {
        let wait = self.0.failures.wait(address(cx)).filter(|_| !credential.is_ambient())?;
        let event = AuditEvent::new(AuditKind::BLOCKED).by(cx).reason("too many wrong credentials");
        self.0.audit.record(&event);
        Some(Caller::Blocked(wait))
    }

    /// Whose this credential is, by what was found so far and by the other authenticators, from this one on.
    async fn check_later(
        &self,
        mut found: Verdict,
        credential: OwnedCredential,
        cx: &Context,
        next: usize,
    ) -> Caller {
        for authenticator in &self.0.authenticators[next..] {
            if let Verdict::Known(_) = found {
                break;
            }
            let verdict = authenticator.authenticate(&credential.borrowed());
            found = found.or(verdict.resolved().await);
        }
        self.conclude(found, &credential.borrowed(), cx)
    }

    fn conclude(&self, found: Verdict, credential: &Credential<'_>, cx: &Context) -> Caller {
        match found {
            Verdict::Known(identity) => self.known(identity, credential, cx),
            Verdict::Unavailable(wait) => Caller::Unavailable(wait),
            _ => self.unknown(credential, cx),
        }
    }

    /// The owner of a credential, if it may be used now and over this connection.
    #[inline(always)]
    fn known(&self, identity: Arc<Identity>, credential: &Credential<'_>, cx: &Context) -> Caller {
        if identity.is_expired() || !identity.is_usable_over(cx) {
            return self.unknown(credential, cx);
        }
        if self.is_revoked(&identity, Some(credential)) {
            return self.wrong(cx);
        }
        Caller::Known(identity)
    }

    /// Whether a caller is refused, with this credential if it is known.
    #[inline]
    fn is_revoked(&self, identity: &Identity, credential: Option<&Credential<'_>>) -> bool {
        self.0.revocations.as_ref().is_some_and(|revocations| revocations.has(identity, credential))
    }

    #[cold]
    fn unknown(&self, credential: &Credential<'_>, cx: &Context) -> Caller {
        if credential.is_ambient() { Caller::Anonymous } else { self.wrong(cx) }
    }

    /// Tells callers who they are; `null` to those without an identity.
    fn who_am_i(&self, call: &Call) -> ReplyFuture {
        let identity = Identity::from_context(&call.cx);
        ReplyFuture::ready(identity.map_or(Reply::value(Json::NULL), |identity| self.described(identity)))
    }

    fn logged_in(&self, cx: &Context, identity: Arc<Identity>, token: &str) -> Reply {
        let reply = self.described(&identity);
        let revocation = self.revocation(&Credential::Bearer(token.as_bytes()));
        close_at_end(cx.session(), &identity, revocation);
        cx.session().set(Login(identity));
        reply
    }

    /// What a caller learns about itself.
    fn described(&self, identity: &Identity) -> Reply {
        let granted = self.0.roles.get(identity.subject.as_str()).map(Vec::as_slice).unwrap_or_default();
        let granted = granted.iter().filter(|role| !identity.roles.contains(role));
        let expires =
            identity.expires.and_then(|expires| expires.duration_since(SystemTime::UNIX_EPOCH).ok());
        let described = Described {
            subject: &identity.subject,
            proof: identity.proof,
            agent: identity.agent.as_deref(),
            roles: identity.roles.iter().chain(granted).map(String::as_str).collect(),
            scopes: &identity.scopes,
            expires: expires.map(|expires| expires.as_secs()),
        };
        Json::encode_ref(&described).map_or_else(|error| ErrorObject::internal(&error).into(), Reply::value)
    }

    /// What tells that a credential was revoked, if it can be.
    pub(super) fn revocation(&self, credential: &Credential<'_>) -> Option<Revocation> {
        let can_revoke = self.0.revocations.is_some()
            || self.0.authenticators.iter().any(|authenticator| authenticator.can_revoke());
        can_revoke.then(|| Revocation { authentication: self.clone(), credential: credential.owned() })
    }

    /// Whether a credential is still accepted. One that takes time to check is.
    pub(super) fn accepts(&self, credential: &Credential<'_>) -> bool {
        let mut verdicts =
            self.0.authenticators.iter().map(|authenticator| authenticator.authenticate(credential));
        verdicts.any(|verdict| match verdict {
            Verdict::Unknown => false,
            Verdict::Known(identity) => !self.is_revoked(&identity, Some(credential)),
            Verdict::Unavailable(_) | Verdict::Later(_) => true,
        })
    }

    /// Counts a wrong credential.
    pub(super) fn wrong(&self, cx: &Context) -> Caller {
        self.0.failures.add(address(cx));
        self.0
            .audit
            .record(&AuditEvent::new(AuditKind::AUTHENTICATION_FAILED).by(cx).reason("wrong credentials"));
        Caller::Wrong
    }
}

fn address(cx: &Context) -> Option<std::net::IpAddr> {
    cx.origin().address.map(|address| address.ip())
}

impl fmt::Debug for Authentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authentication").field("is_required", &self.0.is_required).finish_non_exhaustive()
    }
}

impl Layer for Authentication {
    fn layer(&self, inner: Arc<dyn Service>) -> Arc<dyn Service> {
        let authentication = self.clone();
        let who_am_i = Arc::new(service_fn(move |call| authentication.who_am_i(call)));
        Arc::new(Authenticated { authentication: self.clone(), inner, who_am_i })
    }
}

/// A service behind [`Authentication`].
#[derive(Clone)]
struct Authenticated {
    authentication: Authentication,
    inner: Arc<dyn Service>,
    who_am_i: Arc<dyn Service>,
}

impl Service for Authenticated {
    fn call(&self, call: &Call) -> ReplyFuture {
        let inner = match call.method.as_bytes() {
            method if !method.starts_with(b"rpc.") => &self.inner,
            method if method == LOGIN.as_bytes() => return self.login(call),
            method if method == WHO_AM_I.as_bytes() => &self.who_am_i,
            _ => &self.inner,
        };
        self.identified(call, inner)
    }
}

impl Authenticated {
    /// Who makes the call: by the credential sent with it, else by the login of its session, else by what the transport knows.
    fn caller(&self, cx: &Context) -> Caller {
        // A session that is not exclusive carries the calls of many callers.
        let session = Some(cx.session()).filter(|session| session.is_exclusive());
        match session.and_then(Session::get::<Login>) {
            None => self.authentication.caller(cx),
            Some(login) => self.caller_after_login(&login.0, cx),
        }
    }

    #[inline(never)]
    fn caller_after_login(&self, login: &Arc<Identity>, cx: &Context) -> Caller {
        match Credential::is_sent(cx) {
            true => self.authentication.caller(cx),
            false if login.is_expired() || self.authentication.is_revoked(login, None) => Caller::Wrong,
            false => Caller::Known(Arc::clone(login)),
        }
    }

    /// Passes a call on with the identity of its caller, or refuses it.
    #[inline]
    fn identified(&self, call: &Call, inner: &Arc<dyn Service>) -> ReplyFuture {
        // The admission has looked already. A login after that counts more: it may renew an identity that has expired.
        if let Some(identity) = Identity::from_context(&call.cx) {
            if self.authentication.is_revoked(identity, None) {
                return ReplyFuture::ready(refusal());
            }
            let login = Some(call.cx.session()).filter(|session| session.is_exclusive());
            return match (login.and_then(Session::get::<Login>), identity.expires) {
                (Some(login), _) if self.authentication.is_revoked(&login.0, None) => {
                    ReplyFuture::ready(refusal())
                }
                (Some(login), _) => pass(inner, call, Arc::clone(&login.0)),
                (None, None) => inner.call(call),
                (None, Some(expires)) => until(expires, || inner.call(call)),
            };
        }
        match self.caller(&call.cx) {
            Caller::Known(identity) => pass(inner, call, identity),
            caller => self.undecided(caller, call, inner),
        }
    }

    #[inline(never)]
    fn undecided(&self, caller: Caller, call: &Call, inner: &Arc<dyn Service>) -> ReplyFuture {
        let Caller::Later(decision) = caller else { return self.decided(caller, call, inner) };
        let (this, call, inner) = (self.clone(), call.clone(), Arc::clone(inner));
        ReplyFuture::pending(async move { this.decided(decision.await, &call, &inner).await })
    }

    fn decided(&self, caller: Caller, call: &Call, inner: &Arc<dyn Service>) -> ReplyFuture {
        match caller {
            Caller::Known(identity) => pass(inner, call, identity),
            Caller::Anonymous if !self.authentication.is_required() => inner.call(call),
            other => ReplyFuture::ready(refused(&other)),
        }
    }

    #[inline(never)]
    fn login(&self, call: &Call) -> ReplyFuture {
        if !call.cx.session().is_exclusive() {
            let text = "over HTTP, send the token with each request: Authorization: Bearer TOKEN";
            return ReplyFuture::ready(ErrorObject::invalid_request(text));
        }
        let token = Arguments::read(call.params.as_ref(), &["token"])
            .and_then(|arguments| arguments.required::<String>(0));
        let token = match token {
            Ok(token) => token,
            Err(error) => return ReplyFuture::ready(error),
        };
        let cx = call.cx.clone();
        let (authentication, presented) = (self.authentication.clone(), token.clone());
        let decided = move |caller, cx: &Context| match caller {
            Caller::Known(identity) => authentication.logged_in(cx, identity, &presented),
            other => refused(&other),
        };
        match self.authentication.check(&Credential::Bearer(token.as_bytes()), &cx) {
            Caller::Later(decision) => ReplyFuture::pending(async move { decided(decision.await, &cx) }),
            caller => ReplyFuture::ready(decided(caller, &cx)),
        }
    }
}

/// Passes a call on with its caller.
#[inline(always)]
fn pass(inner: &Arc<dyn Service>, call: &Call, identity: Arc<Identity>) -> ReplyFuture {
    match identity.expires {
        None => identify(inner, call, identity),
        Some(expires) => until(expires, || identify(inner, call, identity)),
    }
}

/// Makes a call with this caller, in place of the one that it may have.
#[inline(always)]
pub(crate) fn identify(inner: &Arc<dyn Service>, call: &Call, identity: Arc<Identity>) -> ReplyFuture {
    match call.cx.identify(identity) {
        Ok(()) => inner.call(call),
        Err(identity) => identify_again(inner, call, identity),
    }
}

#[cold]
fn identify_again(inner: &Arc<dyn Service>, call: &Call, identity: Arc<Identity>) -> ReplyFuture {
    let mut call = call.clone();
    call.cx.set_caller(identity);
    inner.call(&call)
}

/// What a caller learns about itself, as JSON.
#[derive(Serialize)]
struct Described<'a> {
    subject: &'a str,
    proof: super::Proof,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'a str>,
    roles: Vec<&'a str>,
    scopes: &'a [String],
    /// Seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<u64>,
}
