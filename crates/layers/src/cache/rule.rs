//! How long answers are kept.

use std::time::Duration;

use switchboard_core::{Code, Json, Outcome, Reply};

use crate::Pattern;

/// How long the answers of some methods are kept.
///
/// # Examples
///
/// Blocks never change once they exist; a block that does not exist yet may soon:
///
/// ```
/// use std::time::Duration;
/// use switchboard_core::Code;
/// use switchboard_layers::cache::CacheRule;
///
/// let rule = CacheRule::new(["eth_getBlockByHash".parse()?], Duration::from_secs(3600))
///     .with_error(Code(-32001), Duration::from_secs(1))
///     .shared();
/// assert!(!rule.keeps_null);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CacheRule {
    /// The methods it applies to. They must be safe: a call that is answered from the cache does not run.
    pub methods: Vec<Pattern>,
    /// How long an answer is fresh.
    pub ttl: Duration,
    /// How long after that calls get it while it is refreshed: not at all.
    pub stale: Duration,
    /// Whether the result `null` is kept: false.
    pub keeps_null: bool,
    /// Codes of errors that are kept, and for how long: none.
    pub errors: Vec<(Code, Duration)>,
    /// Whether all callers get the same answers: false.
    pub is_shared: bool,
    /// Whether servers share answers through the store of the cache: false.
    pub is_stored: bool,
}

impl CacheRule {
    /// Keeps the answers of these methods for so long, for each caller with an identity.
    #[must_use]
    pub fn new(methods: impl IntoIterator<Item = Pattern>, ttl: Duration) -> CacheRule {
        CacheRule {
            methods: methods.into_iter().collect(),
            ttl,
            stale: Duration::ZERO,
            keeps_null: false,
            errors: Vec::new(),
            is_shared: false,
            is_stored: false,
        }
    }

    /// Sets [`stale`](CacheRule::stale).
    #[must_use]
    pub fn with_stale(mut self, stale: Duration) -> CacheRule {
        self.stale = stale;
        self
    }

    /// Keeps the result `null`, too.
    #[must_use]
    pub fn with_null(mut self) -> CacheRule {
        self.keeps_null = true;
        self
    }

    /// Keeps errors with this code for so long.
    #[must_use]
    pub fn with_error(mut self, code: Code, ttl: Duration) -> CacheRule {
        self.errors.push((code, ttl));
        self
    }

    /// Gives all callers the same answers.
    #[must_use]
    pub fn shared(mut self) -> CacheRule {
        self.is_shared = true;
        self
    }

    /// Shares answers with other servers through the [store](super::Cache::with_store) of the cache. It says nothing about callers: answers that are
    /// not [shared](CacheRule::shared) are found only by the same caller.
    #[must_use]
    pub fn stored(mut self) -> CacheRule {
        self.is_stored = true;
        self
    }

    /// What becomes of an answer.
    pub(super) fn fate(&self, reply: &Reply) -> Fate {
        match &reply.outcome {
            Outcome::Value(json) if *json != Json::NULL || self.keeps_null => {
                Fate::Kept { ttl: self.ttl, stale: self.stale }
            }
            Outcome::Value(_) | Outcome::Stream(_) => Fate::Superseding,
            Outcome::Error(error) => match self.errors.iter().find(|(code, _)| *code == error.code) {
                Some((_, ttl)) => Fate::Kept { ttl: *ttl, stale: Duration::ZERO },
                None => Fate::Ignored,
            },
        }
    }
}

/// What becomes of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is kept instead of the one before.
    Kept { ttl: Duration, stale: Duration },
    /// It is not kept, but the one before is no longer right.
    Superseding,
    /// It says nothing about the one before.
    Ignored,
}
