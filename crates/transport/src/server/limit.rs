//! The limit on concurrent connections (SEC-L-11).

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many connections may be open: in total, of each listener, and from each address.
///
/// Half of the total is divided evenly among the listeners and kept for them, so that one that is full leaves room at the
/// others. The other half is for those that need more.
#[derive(Debug)]
pub(super) struct ConnectionLimit {
    /// Kept for each listener.
    kept: usize,
    /// For any listener whose own are taken.
    common: usize,
    per_address: Option<usize>,
    taken: Mutex<Taken>,
}

#[derive(Debug)]
struct Taken {
    by_listener: Vec<usize>,
    common: usize,
    by_address: HashMap<IpAddr, usize>,
}

/// One open connection. Dropping it frees its slot.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    limit: Arc<ConnectionLimit>,
    listener: usize,
    address: Option<IpAddr>,
}

impl ConnectionLimit {
    pub(super) fn new(limit: usize, per_address: Option<usize>, listeners: usize) -> Arc<ConnectionLimit> {
        let listeners = listeners.max(1);
        let kept = limit / 2 / listeners;
        let taken = Taken { by_listener: vec![0; listeners], common: 0, by_address: HashMap::new() };
        let common = limit - kept * listeners;
        Arc::new(ConnectionLimit { kept, common, per_address, taken: Mutex::new(taken) })
    }

    /// Takes a slot for a connection that this listener accepted from this address, if one is free. A connection without an
    /// address counts towards the other limits only.
    pub(super) fn take(
        self: &Arc<ConnectionLimit>,
        listener: usize,
        address: Option<IpAddr>,
    ) -> Option<ConnectionSlot> {
        let mut taken = self.lock();
        let is_common = taken.by_listener[listener] >= self.kept;
        if is_common && taken.common >= self.common {
            return None;
        }
        if let Some(address) = address
            && !self.add_address(&mut taken, address)
        {
            return None;
        }
        taken.by_listener[listener] += 1;
        if is_common {
            taken.common += 1;
        }
        Some(ConnectionSlot { limit: Arc::clone(self), listener, address })
    }

    /// Whether there was room for one more connection from this address.
    fn add_address(&self, taken: &mut Taken, address: IpAddr) -> bool {
        let Some(limit) = self.per_address else { return true };
        let count = taken.by_address.entry(address).or_default();
        if *count >= limit {
            return false;
        }
        *count += 1;
        true
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionSlot {
    /// Counts a connection without an address for this one. False if that has too many.
    #[cfg(any(feature = "http", feature = "tcp", test))]
    pub(super) fn count_for(&mut self, address: IpAddr) -> bool {
        let mut taken = self.limit.lock();
        let is_counted = self.address.is_none() && self.limit.add_address(&mut taken, address);
        if is_counted {
            self.address = Some(address);
        }
        is_counted
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut taken = self.limit.lock();
        // The common ones are given back first.
        if taken.by_listener[self.listener] > self.limit.kept {
            taken.common -= 1;
        }
        taken.by_listener[self.listener] -= 1;
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

    fn take_all(slots: &Arc<ConnectionLimit>, listener: usize) -> Vec<ConnectionSlot> {
        std::iter::from_fn(|| slots.take(listener, None)).collect()
    }

    #[test]
    fn dropping_a_slot_frees_it() {
        let slots = ConnectionLimit::new(2, None, 1);
        let (first, second) = (slots.take(0, A), slots.take(0, A));
        assert!(first.is_some() && second.is_some() && slots.take(0, B).is_none());
        drop(first);
        assert!(slots.take(0, B).is_some());
    }

    #[test]
    fn one_address_cannot_take_every_slot() {
        let slots = ConnectionLimit::new(3, Some(1), 1);
        let first = slots.take(0, A);
        assert!(first.is_some() && slots.take(0, A).is_none());
        assert!(slots.take(0, B).is_some());
        drop(first);
        assert!(slots.take(0, A).is_some());
        assert!(slots.take(0, None).is_some());
        assert!(slots.lock().by_address.is_empty(), "addresses without connections are forgotten");
    }

    #[test]
    fn a_connection_of_a_proxy_counts_for_its_client() {
        let slots = ConnectionLimit::new(9, Some(1), 1);
        let mut first = slots.take(0, None).unwrap();
        let mut second = slots.take(0, None).unwrap();
        assert!(first.count_for(A.unwrap()) && !second.count_for(A.unwrap()));
        drop(first);
        assert!(second.count_for(A.unwrap()));
        drop(second);
        assert!(slots.lock().by_address.is_empty());
    }

    #[test]
    fn one_listener_cannot_take_what_is_kept_for_others() {
        let check = |limit, listeners, first, other| {
            let slots = ConnectionLimit::new(limit, None, listeners);
            let taken = take_all(&slots, 0);
            assert_eq!(taken.len(), first, "{limit} for {listeners}");
            for listener in 1..listeners {
                let kept = take_all(&slots, listener);
                assert_eq!(kept.len(), other, "{limit} for {listeners}");
            }
            drop(taken);
            assert_eq!(take_all(&slots, listeners - 1).len(), first, "all are given back");
            assert_eq!(slots.lock().common, 0);
        };
        check(1024, 1, 1024, 0);
        check(1024, 2, 768, 256);
        check(1024, 3, 684, 170);
        check(5, 2, 4, 1);
        check(1, 2, 1, 0);
        check(0, 2, 0, 0);
    }
}
