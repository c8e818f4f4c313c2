//! A call that is pending at its first poll, through either driver, on a current-thread runtime.

use std::future::poll_fn;

use bytes::Bytes;
use tokio::runtime::{Builder, Runtime};

use super::Case;
use super::connection::Duplex;
use super::switchboard::Switchboard;
use crate::workload::Workload;

/// A driver, and the runtime for its timers and tasks.
pub struct Pending<D> {
    runtime: Runtime,
    driver: D,
}

impl Pending<Switchboard> {
    /// Through the exchange driver.
    pub fn exchange() -> Self {
        Self { runtime: runtime(), driver: Switchboard::new() }
    }
}

impl Pending<Duplex> {
    /// Through the duplex driver.
    pub fn connection() -> Self {
        Self { runtime: runtime(), driver: Duplex::new() }
    }
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().expect("a runtime without sockets can be built")
}

impl Case for Pending<Switchboard> {
    fn name(&self) -> &'static str {
        self.driver.name()
    }

    fn call(&self, body: Bytes) -> Bytes {
        self.runtime.block_on(self.driver.exchange(body))
    }

    fn takes(&self, workload: Workload) -> bool {
        workload == Workload::Pending
    }
}

impl Case for Pending<Duplex> {
    fn name(&self) -> &'static str {
        self.driver.name()
    }

    fn call(&self, frame: Bytes) -> Bytes {
        self.run(&frame, 1);
        self.driver.written()
    }

    /// One at a time, to stay below the limit of calls in flight.
    fn run(&self, frame: &Bytes, calls: u32) {
        for _ in 0..calls {
            self.driver.receive(frame, 1);
            self.runtime.block_on(poll_fn(|cx| self.driver.poll_written(cx)));
        }
    }

    fn takes(&self, workload: Workload) -> bool {
        workload == Workload::Pending
    }
}
