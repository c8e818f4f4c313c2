//! The limit on concurrent connections (SEC-L-11).

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many connections may be open, in total and from each address.
#[derive(Debug)]
pub(super) struct ConnectionLimit {
    limit: usize,
    per_address: Option<usize>,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    total: usize,
    by_address: HashMap<IpAddr, usize>,
}

/// One open connection. Dropping it frees its slot.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    limit: Arc<ConnectionLimit>,
    address: Option<IpAddr>,
}

impl ConnectionLimit {
    pub(super) fn new(limit: usize, per_address: Option<usize>) -> Arc<ConnectionLimit> {
        Arc::new(ConnectionLimit { limit, per_address, taken: Mutex::default() })
    }

    /// Takes a slot for a connection from this address, if one is free. A connection without an address counts towards the total only.
    pub(super) fn take(self: &Arc<ConnectionLimit>, address: Option<IpAddr>) -> Option<ConnectionSlot> {
        let mut taken = self.lock();
        if taken.total >= self.limit {
            return None;
        }
        if let (Some(limit), Some(address)) = (self.per_address, address) {
            let count = taken.by_address.entry(address).or_default();
            if *count >= limit {
                return None;
            }
            *count += 1;
        }
        taken.total += 1;
        Some(ConnectionSlot { limit: Arc::clone(self), address })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut taken = self.limit.lock();
        taken.total -= 1;
        let Some(address) = self.address else { return };
        if let Some(count) = taken.by_address.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                taken.by_address.remove(&address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Option<IpAddr> = Some(IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)));
    const B: Option<IpAddr> = Some(IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2)));

    #[test]
    fn dropping_a_slot_frees_it() {
        let slots = ConnectionLimit::new(2, None);
        let (first, second) = (slots.take(A), slots.take(A));
        assert!(first.is_some() && second.is_some() && slots.take(B).is_none());
        drop(first);
        assert!(slots.take(B).is_some());
    }

    #[test]
    fn one_address_cannot_take_every_slot() {
        let slots = ConnectionLimit::new(3, Some(1));
        let first = slots.take(A);
        assert!(first.is_some() && slots.take(A).is_none());
        assert!(slots.take(B).is_some());
        drop(first);
        assert!(slots.take(A).is_some());
        assert!(slots.take(None).is_some());
        assert!(slots.lock().by_address.is_empty(), "addresses without connections are forgotten");
    }
}
