//! How often an address may present wrong credentials.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::network::network;

/// How many addresses are remembered. Beyond that, new ones are not.
const ADDRESSES: usize = 10_000;

/// A bucket for each address: a wrong credential fills it by one, and it empties with time. While it is full, no credential
/// of that address is looked at.
pub(super) struct Failures {
    burst: u32,
    /// How long it takes to forget one failure.
    period: Duration,
    /// Usually there was none, and nothing has to be looked up.
    has_any: AtomicBool,
    /// When the bucket of an address is empty again. Without an address all callers share one.
    empty_at: Mutex<HashMap<Option<IpAddr>, Instant>>,
}

impl Failures {
    /// So many wrong credentials a minute.
    pub(super) fn per_minute(count: u32) -> Failures {
        let burst = count.max(1);
        let (period, has_any) = (Duration::from_secs(60) / burst, AtomicBool::new(false));
        Failures { burst, period, has_any, empty_at: Mutex::default() }
    }

    /// Whether there was ever a failure.
    #[inline]
    pub(super) fn has_any(&self) -> bool {
        self.has_any.load(Ordering::Acquire)
    }

    /// How long an address has to wait before its next attempt, if it has to.
    pub(super) fn wait(&self, address: Option<IpAddr>) -> Option<Duration> {
        let empty_at = self.empty_at.lock().unwrap_or_else(PoisonError::into_inner);
        let full_until = *empty_at.get(&address.map(network))? - self.period * (self.burst - 1);
        full_until.checked_duration_since(Instant::now()).filter(|wait| !wait.is_zero())
    }

    /// Remembers a wrong credential.
    pub(super) fn add(&self, address: Option<IpAddr>) {
        let now = Instant::now();
        let mut empty_at = self.empty_at.lock().unwrap_or_else(PoisonError::into_inner);
        let address = address.map(network);
        if empty_at.len() >= ADDRESSES && !empty_at.contains_key(&address) {
            empty_at.retain(|_, at| *at > now);
            if empty_at.len() >= ADDRESSES {
                return;
            }
        }
        let at = empty_at.entry(address).or_insert(now);
        *at = (*at).max(now) + self.period;
        self.has_any.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_waits_after_so_many_failures_and_others_do_not() {
        let failures = Failures::per_minute(3);
        let (one, other) = (address("10.0.0.1"), address("10.0.0.2"));
        for _ in 0..3 {
            assert_eq!(failures.wait(one), None);
            failures.add(one);
        }
        assert_eq!((failures.wait(one), failures.wait(other)), (Some(Duration::from_secs(20)), None));
        tokio::time::advance(Duration::from_secs(20)).await;
        assert_eq!(failures.wait(one), None);
        failures.add(one);
        assert!(failures.wait(one).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_network_of_ipv6_counts_as_one_address() {
        let failures = Failures::per_minute(1);
        failures.add(address("2001:db8::1"));
        assert!(failures.wait(address("2001:db8::2")).is_some());
        assert!(failures.wait(address("2001:db8:0:1::1")).is_none());
        failures.add(address("::ffff:10.0.0.1"));
        assert!(failures.wait(address("10.0.0.1")).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_addresses_are_remembered_than_fit() {
        let failures = Failures::per_minute(1);
        for number in 0..2 * ADDRESSES {
            failures.add(Some(IpAddr::from(u32::try_from(number).unwrap().to_be_bytes())));
        }
        assert_eq!(failures.empty_at.lock().unwrap().len(), ADDRESSES);
        tokio::time::advance(Duration::from_secs(61)).await;
        failures.add(address("192.0.2.1"));
        assert_eq!(failures.empty_at.lock().unwrap().len(), 1);
    }
}
