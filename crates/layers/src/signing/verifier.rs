//! Whether a signature is accepted, and if not, why.

use std::fmt;
use std::sync::Arc;

use super::key::SigningAlgorithm;
use super::member::{Claim, Malformed, Member};
use super::replay::Window;
use super::text::SignedText;
use super::{Key, SigningKeys};
use crate::clock::Clock;

/// Why a message was refused. Callers do not learn it, except that a message is malformed; the log does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The method requires a signature, and there is none.
    Missing,
    /// The signature or what it covers does not have the right form.
    Malformed(Malformed),
    /// There is no such key, or it is not good at this time.
    UnknownKey,
    /// The signature does not match.
    BadSignature,
    /// It is for another server.
    WrongAudience,
    /// It is for another session.
    WrongSession,
    /// It is too old, or was signed before the server began to remember nonces.
    Expired,
    /// It is too far in the future.
    NotYetValid,
    /// The key is not good for this method.
    OutOfScope,
    /// The nonce was used before.
    Replay,
    /// There is no room to remember the nonce.
    StoreFull,
    /// The store for nonces cannot be reached.
    StoreDown,
}

impl Reason {
    /// Its name in logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Reason::Missing => "missing",
            Reason::Malformed(_) => "malformed",
            Reason::UnknownKey => "unknown_key",
            Reason::BadSignature => "bad_signature",
            Reason::WrongAudience => "wrong_audience",
            Reason::WrongSession => "wrong_session",
            Reason::Expired => "expired",
            Reason::NotYetValid => "not_yet_valid",
            Reason::OutOfScope => "out_of_scope",
            Reason::Replay => "replay",
            Reason::StoreFull => "store_full",
            Reason::StoreDown => "store_down",
        }
    }

    /// Whether the signature was verified before, and was right.
    pub(super) fn is_after_signature(self) -> bool {
        !matches!(self, Reason::Missing | Reason::Malformed(_) | Reason::UnknownKey | Reason::BadSignature)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Malformed(malformed) => write!(f, "malformed at {}", malformed.at),
            other => f.write_str(other.name()),
        }
    }
}

impl From<Malformed> for Reason {
    fn from(malformed: Malformed) -> Reason {
        Reason::Malformed(malformed)
    }
}

/// Decides about signatures: key, signature, audience, session and time, in this order. It does not remember nonces.
#[derive(Clone)]
pub struct Verifier {
    pub(super) keys: SigningKeys,
    pub(super) audiences: Vec<String>,
    pub(super) window: Window,
    pub(super) clock: Clock,
    /// What unknown keys are verified with.
    dummies: Arc<[Key; 2]>,
}

/// A signature that is accepted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AcceptedSignature {
    /// The key that signed.
    pub key: Arc<Key>,
    /// The text that was signed.
    pub text: SignedText,
}

impl Verifier {
    /// Accepts signatures by these keys for these audiences.
    pub fn new<A: Into<String>>(keys: SigningKeys, audiences: impl IntoIterator<Item = A>) -> Verifier {
        let dummies = [SigningAlgorithm::HmacSha256, SigningAlgorithm::Ed25519].map(Key::dummy);
        Verifier {
            keys,
            audiences: audiences.into_iter().map(Into::into).collect(),
            window: Window::default(),
            clock: Clock::system(),
            dummies: Arc::new(dummies),
        }
    }

    /// Sets how old messages may be.
    #[must_use]
    pub fn with_window(self, window: Window) -> Verifier {
        Verifier { window, ..self }
    }

    /// Tells the time by this clock.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Verifier {
        Verifier { clock, ..self }
    }

    /// Decides about the signature of a text that depends on the algorithm.
    ///
    /// Every failure costs the same: one digest and one verification.
    ///
    /// # Errors
    ///
    /// Why it is refused.
    pub fn verify(
        &self,
        member: &Member,
        session: Option<&str>,
        text: impl FnOnce(SigningAlgorithm) -> SignedText,
    ) -> Result<AcceptedSignature, Reason> {
        self.verify_at(self.clock.seconds(), &member.claim(), session, text)
    }

    /// The same at this time, in seconds since 1970.
    pub(super) fn verify_at(
        &self,
        now: u64,
        claim: &Claim<'_>,
        session: Option<&str>,
        text: impl FnOnce(SigningAlgorithm) -> SignedText,
    ) -> Result<AcceptedSignature, Reason> {
        let (key, text) = self.authenticate(claim, now, text)?;
        if !self.audiences.iter().any(|audience| audience.as_bytes() == claim.aud) {
            return Err(Reason::WrongAudience);
        }
        if claim.session.is_some() && claim.session != session.map(str::as_bytes) {
            return Err(Reason::WrongSession);
        }
        if let Some(ts) = claim.ts {
            self.window.check(ts, claim.exp, now)?;
        }
        Ok(AcceptedSignature { key, text })
    }

    /// Finds the key and verifies the signature.
    pub(super) fn authenticate(
        &self,
        claim: &Claim<'_>,
        now: u64,
        text: impl FnOnce(SigningAlgorithm) -> SignedText,
    ) -> Result<(Arc<Key>, SignedText), Reason> {
        let key = self.keys.find(claim.kid).filter(|key| key.is_valid_at(now));
        let text = text(key.as_ref().map_or(claim.implied_algorithm(), |key| key.algorithm()));
        // A signature of the wrong length gets the work of one that could be right.
        let usable = key.as_ref().filter(|key| key.algorithm() == claim.implied_algorithm());
        let is_signed = match usable {
            Some(key) => key.verifies(text.as_bytes(), claim.sig),
            None => {
                let dummy = match claim.implied_algorithm() {
                    SigningAlgorithm::HmacSha256 => &self.dummies[0],
                    SigningAlgorithm::Ed25519 => &self.dummies[1],
                };
                // The result does not count; the time does.
                std::hint::black_box(dummy.verifies(text.as_bytes(), claim.sig));
                false
            }
        };
        match key {
            None => Err(Reason::UnknownKey),
            Some(_) if !is_signed => Err(Reason::BadSignature),
            Some(key) => Ok((key, text)),
        }
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Verifier { keys, audiences, window, .. } = self;
        f.debug_struct("Verifier")
            .field("keys", keys)
            .field("audiences", audiences)
            .field("window", window)
            .finish_non_exhaustive()
    }
}
