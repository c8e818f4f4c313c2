//! What a connection has of its server: a seat, the options, the signal to stop, and a place for tasks.

use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;

use super::options::ServerOptions;
use super::seats::{Seat, Seats};
use super::stop::Stop;
use super::tasks::Tasks;
use crate::budget::Budget;

/// What all connections of one server share.
#[derive(Debug)]
pub(crate) struct House {
    options: ServerOptions,
    stop: Arc<Stop>,
    seats: Arc<Seats>,
    budget: Arc<Budget>,
    tasks: Tasks,
}

/// One connection's share. It goes where the connection goes, from HTTP to another protocol too: the connection counts
/// as long as this is kept.
#[derive(Debug)]
pub(crate) struct Guest {
    house: Arc<House>,
    _seat: Seat,
}

impl House {
    pub(super) fn new(options: ServerOptions, stop: Arc<Stop>, budget: Arc<Budget>) -> Arc<House> {
        let seats = Seats::new(options.connections, options.connections_per_address);
        Arc::new(House { options, stop, seats, budget, tasks: Tasks::default() })
    }

    /// Takes a connection in, from this address if it has one, if there is a seat.
    pub(super) fn receive(self: &Arc<House>, address: Option<IpAddr>) -> Option<Guest> {
        let seat = self.seats.take(address)?;
        Some(Guest { house: Arc::clone(self), _seat: seat })
    }

    pub(super) fn stop(&self) -> &Stop {
        &self.stop
    }

    pub(super) fn tasks(&self) -> &Tasks {
        &self.tasks
    }
}

impl Guest {
    /// How connections are treated.
    pub(crate) fn options(&self) -> &ServerOptions {
        &self.house.options
    }

    /// The signal to stop.
    pub(crate) fn stop(&self) -> &Arc<Stop> {
        &self.house.stop
    }

    /// What bounds the long messages of all connections together.
    pub(crate) fn budget(&self) -> &Arc<Budget> {
        &self.house.budget
    }

    /// Runs a task that takes the guest with it. The server waits for it when it stops, and cancels it after
    /// [`drain_time`](switchboard_core::Limits::drain_time).
    pub(crate) fn spawn<F>(self, task: impl FnOnce(Guest) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let house = Arc::clone(&self.house);
        house.tasks.spawn(task(self));
    }
}
