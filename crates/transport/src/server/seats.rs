//! How many connections there may be (SEC-L-11).

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The places for connections, in all and for each address.
#[derive(Debug)]
pub(super) struct Seats {
    limit: usize,
    limit_per_address: Option<usize>,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    total: usize,
    by_address: HashMap<IpAddr, usize>,
}

/// One place, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    seats: Arc<Seats>,
    address: Option<IpAddr>,
}

impl Seats {
    pub(super) fn new(limit: usize, limit_per_address: Option<usize>) -> Arc<Seats> {
        Arc::new(Seats { limit, limit_per_address, taken: Mutex::default() })
    }

    /// A place for a connection from this address, if there is one. What has no address counts in all only.
    pub(super) fn take(self: &Arc<Seats>, address: Option<IpAddr>) -> Option<Seat> {
        let mut taken = self.lock();
        if taken.total >= self.limit {
            return None;
        }
        if let (Some(limit), Some(address)) = (self.limit_per_address, address) {
            let count = taken.by_address.entry(address).or_default();
            if *count >= limit {
                return None;
            }
            *count += 1;
        }
        taken.total += 1;
        Some(Seat { seats: Arc::clone(self), address })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.seats.lock();
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
    fn a_place_is_free_again_when_it_is_dropped() {
        let seats = Seats::new(2, None);
        let (first, second) = (seats.take(A), seats.take(A));
        assert!(first.is_some() && second.is_some() && seats.take(B).is_none());
        drop(first);
        assert!(seats.take(B).is_some());
    }

    #[test]
    fn one_address_does_not_take_every_place() {
        let seats = Seats::new(3, Some(1));
        let first = seats.take(A);
        assert!(first.is_some() && seats.take(A).is_none());
        assert!(seats.take(B).is_some());
        drop(first);
        assert!(seats.take(A).is_some());
        assert!(seats.take(None).is_some());
        assert!(seats.lock().by_address.is_empty(), "addresses without connections are forgotten");
    }
}
