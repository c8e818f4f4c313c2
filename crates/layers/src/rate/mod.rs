//! Rate limits: how often callers may call.
//!
//! A [`RateRule`] allows a number of calls in a time, to each caller, to each address or to all together. Every rule that matches a call
//! counts, in any order: a call passes if all of them have room, and is charged to none if one has not. It then gets -32005 with
//! `data.retryAfterMs`, and over HTTP 429 with `Retry-After`. Each entry of a batch is charged.
//!
//! Limits are smooth (GCRA, a form of the token bucket): a caller can use up its burst at once, and regains one call after the other.
//! The number of callers that are remembered is bounded. When there are more, those that come closest to a full burst are forgotten
//! first, so many addresses cannot help a caller that is at its limit.
//!
//! Limits count in the memory of one process. With a [store](RateLimits::with_store) several servers share them, approximately.

mod buckets;
mod explain;
mod frequency;
mod gcra;
mod layer;
mod shared;

use std::collections::HashMap;
use std::fmt;
use std::hash::BuildHasher as _;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use switchboard_core::{Context, FromContext as _};

pub use self::frequency::{Rate, RateError};

use self::buckets::Buckets;
use self::gcra::Gcra;
use self::layer::too_many;
use self::shared::{OWED, Shared};
use crate::Pattern;
use crate::access::{CallerFacts, Who};
use crate::audit::Audit;
use crate::clock::Clock;
use crate::hashing::SecretHashing;
use crate::identity::Identity;
use crate::network::network;
use crate::store::Store;

/// How many buckets are remembered.
const BUCKETS: usize = 65_536;

/// Limits how often callers may call methods.
///
/// # Examples
///
/// ```
/// use switchboard_layers::rate::{RateBy, RateLimits, RateRule};
///
/// let limits = RateLimits::new([
///     RateRule::new("25/s".parse()?).with_burst(50).with_weight("search/*".parse()?, 10),
///     RateRule::new("1000/m".parse()?).by(RateBy::Address),
///     RateRule::new("5/m".parse()?).for_methods(["report".parse()?]).named("reports"),
/// ]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RateRule {
    /// How many calls are allowed in which time.
    pub rate: Rate,
    /// Who shares a limit.
    pub by: RateBy,
    /// How many calls are possible at once: as many as the rate allows in its time.
    pub burst: Option<u32>,
    /// The methods it applies to: all.
    pub methods: Vec<Pattern>,
    /// The callers it applies to: all.
    pub who: Vec<Who>,
    /// How many calls a call of a method counts as: 1. If several match, the highest counts. A weight above the burst uses up the burst.
    pub weights: Vec<(Pattern, u32)>,
    /// Its name in the audit log.
    pub name: Option<String>,
}

/// Who shares a limit. Written as `caller`, `address` or `all`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RateBy {
    /// Each caller has a limit: those with an identity by their name, others by their address.
    Caller,
    /// Each address has a limit. In IPv6 each network of 64 bits has one. Callers without an address, such as those over Unix sockets,
    /// share one.
    Address,
    /// All callers share one.
    All,
}

/// A text that is not a [`RateBy`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown kind of limit `{0}`; use caller, address or all")]
pub struct RateByError(String);

impl FromStr for RateBy {
    type Err = RateByError;

    fn from_str(text: &str) -> Result<RateBy, RateByError> {
        match text {
            "caller" => Ok(RateBy::Caller),
            "address" => Ok(RateBy::Address),
            "all" => Ok(RateBy::All),
            _ => Err(RateByError(text.to_owned())),
        }
    }
}

impl fmt::Display for RateBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RateBy::Caller => "caller",
            RateBy::Address => "address",
            RateBy::All => "all",
        })
    }
}

impl RateRule {
    /// Allows each caller this rate, over all methods together.
    #[must_use]
    pub fn new(rate: Rate) -> RateRule {
        let (methods, who, weights) = (Vec::new(), Vec::new(), Vec::new());
        RateRule { rate, by: RateBy::Caller, burst: None, methods, who, weights, name: None }
    }

    /// Sets [`by`](RateRule::by).
    #[must_use]
    pub fn by(mut self, by: RateBy) -> RateRule {
        self.by = by;
        self
    }

    /// Sets [`burst`](RateRule::burst).
    #[must_use]
    pub fn with_burst(mut self, burst: u32) -> RateRule {
        self.burst = Some(burst);
        self
    }

    /// Applies the rule to these methods only.
    #[must_use]
    pub fn for_methods(mut self, methods: impl IntoIterator<Item = Pattern>) -> RateRule {
        self.methods = methods.into_iter().collect();
        self
    }

    /// Applies the rule to these callers only.
    #[must_use]
    pub fn for_callers(mut self, who: impl IntoIterator<Item = Who>) -> RateRule {
        self.who = who.into_iter().collect();
        self
    }

    /// Counts a call of these methods as so many.
    #[must_use]
    pub fn with_weight(mut self, methods: Pattern, weight: u32) -> RateRule {
        self.weights.push((methods, weight));
        self
    }

    /// Sets the name for the audit log.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> RateRule {
        self.name = Some(name.into());
        self
    }

    fn weight(&self, method: &[u8]) -> u32 {
        let matching = self.weights.iter().filter(|(pattern, _)| pattern.matches(method));
        matching.map(|(_, weight)| *weight).max().unwrap_or(1)
    }
}

/// The rule in words, for the audit log.
impl fmt::Display for RateRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => f.write_str(name),
            None => write!(f, "{} by {}", self.rate, self.by),
        }
    }
}

/// Rate limits. A [`Layer`](switchboard_core::Layer) that refuses calls beyond them; put it inside
/// [`Authentication`](crate::identity::Authentication), which finds out who calls. Cheap to clone; clones share their counters.
#[derive(Clone)]
pub struct RateLimits(Arc<Limits>);

struct Limits {
    rules: Vec<Limit>,
    buckets: Arc<Buckets>,
    /// Which callers have which role, beside those that credentials name.
    roles: HashMap<Box<str>, Vec<String>>,
    audit: Audit,
    /// What shares the buckets with other servers.
    shared: Option<Shared>,
}

/// A rule, and what follows from it for every call.
#[derive(Clone)]
struct Limit {
    rule: RateRule,
    gcra: Gcra,
    /// What any call costs, if the rule is about all of them and they have the same weight.
    fixed_cost: Option<u64>,
}

impl Limit {
    fn new(rule: RateRule) -> Limit {
        let gcra = Gcra::new(rule.rate, rule.burst);
        let is_for_all = rule.methods.is_empty() && rule.who.is_empty() && rule.weights.is_empty();
        Limit { fixed_cost: is_for_all.then(|| gcra.cost(1)), rule, gcra }
    }

    /// What a call costs; none if the rule is not about it.
    #[inline(never)]
    fn cost(&self, caller: &mut Caller<'_>, method: &[u8]) -> Option<u64> {
        caller.is_matched_by(&self.rule, method).then(|| self.gcra.cost(self.rule.weight(method)))
    }
}

/// Why a call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RateExceeded {
    /// The number of the rule that has room last.
    pub rule: usize,
    /// When it has.
    pub wait: Duration,
}

impl RateLimits {
    /// Limits calls by these rules.
    pub fn new(rules: impl IntoIterator<Item = RateRule>) -> RateLimits {
        let rules: Vec<_> = rules.into_iter().map(Limit::new).collect();
        let buckets = Arc::new(Buckets::new(BUCKETS, rules.len()));
        let (roles, audit) = (HashMap::new(), Audit::default());
        RateLimits(Arc::new(Limits { rules, buckets, roles, audit, shared: None }))
    }

    /// Remembers about so many callers and addresses at once, over all rules: 65,536 unless set, which takes a megabyte. Forgets
    /// those that it has.
    #[must_use]
    pub fn with_buckets(self, count: usize) -> RateLimits {
        self.changed(|limits| limits.buckets = Arc::new(Buckets::new(count, limits.rules.len())))
    }

    /// The same limits, with these additional roles for this caller.
    #[must_use]
    pub fn with_roles<R: Into<String>>(
        self,
        subject: &str,
        roles: impl IntoIterator<Item = R>,
    ) -> RateLimits {
        let roles = roles.into_iter().map(Into::into);
        self.changed(|limits| limits.roles.entry(subject.into()).or_default().extend(roles))
    }

    /// Records the calls that are refused.
    #[must_use]
    pub fn with_audit(self, audit: Audit) -> RateLimits {
        self.changed(|limits| limits.audit = audit)
    }

    /// Shares the limits with the servers that have the same rules and use the same store.
    ///
    /// Each server decides alone, so no call waits for the store. About every 200 ms it adds what it took from each bucket to the one in
    /// the store, and takes over what the others took. Until then several servers let more pass than one would: each up to what it receives in 240 ms, and at
    /// most its burst, and with large limits a sixteenth of the burst before the store learns of it. What passed too early is owed, up to
    /// three further bursts: callers wait for it, so their average stays at the rate.
    ///
    /// At most 256 buckets are reported at a time, those that are closest to their limits first, and at most 16,384 wait for it. If the store
    /// fails, is full or does not answer within a second, the limits of each server apply alone, and the log says so.
    ///
    /// The store must keep entries for [`RateLimits::store_time`]. The task that talks to it runs while there is something to tell, and ends with the limits.
    #[must_use]
    pub fn with_store(self, store: Arc<dyn Store>) -> RateLimits {
        self.changed(|limits| limits.shared = Some(Shared::new(store, Clock::system())))
    }

    /// Tells the time in the [store](RateLimits::with_store) by this clock. Those of all servers must agree.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> RateLimits {
        self.changed(|limits| limits.shared = limits.shared.take().map(|shared| shared.with_clock(clock)))
    }

    /// For how long the store keeps entries at most: four times as long as the slowest limit takes to regain its burst, and a minute for clocks that differ.
    #[must_use]
    pub fn store_time(&self) -> Duration {
        let longest = self.0.rules.iter().map(|limit| limit.gcra.refill_time()).max().unwrap_or(0);
        Duration::from_nanos(longest.saturating_mul(OWED)).saturating_add(Duration::from_secs(60))
    }

    /// How many exchanges with the [store](RateLimits::with_store) failed. While they fail, the limits of each server apply alone.
    #[must_use]
    pub fn store_failures(&self) -> u64 {
        self.0.shared.as_ref().map_or(0, Shared::failed)
    }

    fn changed(self, change: impl FnOnce(&mut Limits)) -> RateLimits {
        let mut limits = Arc::try_unwrap(self.0).unwrap_or_else(|shared| Limits {
            rules: shared.rules.clone(),
            buckets: Arc::clone(&shared.buckets),
            roles: shared.roles.clone(),
            audit: shared.audit.clone(),
            shared: shared.shared.clone(),
        });
        change(&mut limits);
        RateLimits(Arc::new(limits))
    }

    /// The rules.
    pub fn rules(&self) -> impl Iterator<Item = &RateRule> {
        self.0.rules.iter().map(|limit| &limit.rule)
    }

    /// Charges a call to every rule that matches.
    ///
    /// # Errors
    ///
    /// If one of them has no room. The call is then charged to none.
    #[inline]
    pub fn charge(&self, cx: &Context, method: impl AsRef<[u8]>) -> Result<(), RateExceeded> {
        let limits = &*self.0;
        let (mut caller, now) = (Caller::new(limits, cx), limits.buckets.now());
        for (rule, limit) in limits.rules.iter().enumerate() {
            // Most rules are about all calls alike, and need not look at them.
            let cost = match limit.fixed_cost {
                Some(cost) => cost,
                None => match limit.cost(&mut caller, method.as_ref()) {
                    Some(cost) => cost,
                    None => continue,
                },
            };
            let key = key(limits.buckets.hashing(), cx, limit.rule.by);
            if let Some(wait) = limits.buckets.charge(rule, key, limit.gcra, now, cost) {
                return Err(limits.exceeded(cx, method.as_ref(), now, RateExceeded { rule, wait }));
            }
        }
        if let Some(shared) = &limits.shared {
            limits.share(shared, cx, method.as_ref());
        }
        Ok(())
    }
}

impl Limits {
    /// Puts a call back that a rule refused, and finds the rule that has room last: those after it are only asked how long they
    /// would take.
    #[cold]
    #[inline(never)]
    fn exceeded(&self, cx: &Context, method: &[u8], now: u64, first: RateExceeded) -> RateExceeded {
        let mut caller = Caller::new(self, cx);
        self.refund(&mut caller, method, first.rule);
        let mut last = first;
        for (rule, limit) in self.rules.iter().enumerate().skip(first.rule + 1) {
            let Some(cost) = limit.cost(&mut caller, method) else { continue };
            if let Some(wait) = self.buckets.wait(rule, caller.key(limit.rule.by), limit.gcra, now, cost)
                && wait > last.wait
            {
                last = RateExceeded { rule, wait };
            }
        }
        last
    }

    /// Puts a call back that was charged to the first rules.
    fn refund(&self, caller: &mut Caller<'_>, method: &[u8], rules: usize) {
        for (index, limit) in self.rules.iter().enumerate().take(rules) {
            if let Some(cost) = limit.cost(caller, method) {
                self.buckets.refund(index, caller.key(limit.rule.by), cost);
            }
        }
    }

    /// Notes for other servers what a call was charged.
    #[inline(never)]
    fn share(&self, shared: &Shared, cx: &Context, method: &[u8]) {
        let mut caller = Caller::new(self, cx);
        for (index, limit) in self.rules.iter().enumerate() {
            let Some(cost) = limit.cost(&mut caller, method).filter(|cost| *cost > 0) else { continue };
            let Limit { rule, gcra, .. } = limit;
            let which = (index, caller.key(rule.by));
            // Servers with other rules have other buckets.
            let name = || {
                let (rate, burst, by) = (rule.rate, gcra.burst(), rule.by);
                format!("rate\n{index} {rate} {burst} {by}\n{}", caller.name(by))
            };
            shared.note(&self.buckets, which, *gcra, cost, name);
        }
    }
}

impl fmt::Debug for RateLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimits").field("rules", &self.0.rules.len()).finish_non_exhaustive()
    }
}

/// What rules ask about the caller of one call; found out when it is asked.
struct Caller<'a> {
    limits: &'a Limits,
    cx: &'a Context,
    facts: Option<CallerFacts<'a>>,
}

impl<'a> Caller<'a> {
    fn new(limits: &'a Limits, cx: &'a Context) -> Caller<'a> {
        Caller { limits, cx, facts: None }
    }

    fn is_matched_by(&mut self, rule: &RateRule, method: &[u8]) -> bool {
        let is_about = rule.methods.is_empty() || rule.methods.iter().any(|pattern| pattern.matches(method));
        is_about && (rule.who.is_empty() || rule.who.iter().any(|who| who.matches(self.facts())))
    }

    fn facts(&mut self) -> &CallerFacts<'a> {
        let (limits, cx) = (self.limits, self.cx);
        self.facts.get_or_insert_with(|| {
            let identity = Identity::from_context(cx);
            let granted = identity.and_then(|identity| limits.roles.get(identity.subject.as_str()));
            CallerFacts::of(cx, identity, granted.map(Vec::as_slice).unwrap_or_default())
        })
    }

    fn key(&self, by: RateBy) -> Option<u64> {
        key(self.limits.buckets.hashing(), self.cx, by)
    }
}

impl Caller<'_> {
    /// The caller's name among those that share the kind of limit, the same on every server.
    fn name(&self, by: RateBy) -> String {
        match (by, Identity::from_context(self.cx)) {
            (RateBy::All, _) => "all".to_owned(),
            (RateBy::Caller, Some(identity)) => format!("caller {}", identity.subject),
            (RateBy::Caller | RateBy::Address, _) => format!("address {:x}", address(self.cx)),
        }
    }
}

/// The caller's key among those that share the kind of limit; `None` if all callers do. It is a secret hash, so that no caller can
/// choose a name or an address that counts as another's.
#[inline(always)]
fn key(hashing: &SecretHashing, cx: &Context, by: RateBy) -> Option<u64> {
    let identity = match by {
        RateBy::All => return None,
        RateBy::Caller => Identity::from_context(cx),
        RateBy::Address => None,
    };
    Some(match identity {
        Some(identity) => hashing.hash_one(identity.subject.as_str()),
        None => hash_of_address(hashing, cx),
    })
}

#[inline(never)]
fn hash_of_address(hashing: &SecretHashing, cx: &Context) -> u64 {
    hashing.hash_one(address(cx))
}

/// The network of a caller as one number, which is hashed much faster than an address. The networks of IPv6 end in 64 zeros, so no two kinds
/// are equal.
fn address(cx: &Context) -> u128 {
    match cx.origin().address.map(|address| network(address.ip())) {
        Some(IpAddr::V4(address)) => 1 << 63 | u128::from(address.to_bits()),
        Some(IpAddr::V6(address)) => address.to_bits(),
        None => u128::MAX,
    }
}
