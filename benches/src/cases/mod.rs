//! Codecs and dispatchers without a network: the bytes of a request in, the bytes of its answer out.
//!
//! Each case knows the methods `add`, `ignore`, `text` and `document` of [`crate::workload`]. Futures are polled in place.

use std::hint::black_box;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use crate::workload::Workload;

pub mod by_hand;
pub mod connection;
pub mod jsonrpsee;
pub mod jsonrpsee_bearer;
pub mod observed;
pub mod pending;
pub mod raw_value;
pub mod secured;
pub mod switchboard;

/// Something that answers JSON-RPC in process.
pub trait Case {
    /// What the tables and the command line call it.
    fn name(&self) -> &'static str;

    /// Answers one body. It owns the answer, as a server that hands it to the network does.
    fn call(&self, body: Bytes) -> Bytes;

    /// Answers the same body `calls` times and drops the answers. This is what `instructions` counts.
    fn run(&self, body: &Bytes, calls: u32) {
        for _ in 0..calls {
            black_box(self.call(black_box(body).clone()));
        }
    }

    /// Whether it can be measured on `workload`.
    fn takes(&self, workload: Workload) -> bool {
        workload != Workload::Pending
    }
}

/// Every case that this build has, ours first.
pub fn all() -> Vec<Box<dyn Case>> {
    vec![
        Box::new(switchboard::Switchboard::new()),
        Box::new(by_hand::ByHand),
        Box::new(raw_value::RawValue),
        Box::new(jsonrpsee::Direct::new()),
        Box::new(jsonrpsee::Tower::new()),
    ]
}

/// The cases whose instructions and allocations are counted on `workload`: [`all`], and our other drivers.
pub fn counted(workload: Workload) -> Vec<Box<dyn Case>> {
    let ours: [Box<dyn Case>; 3] = [
        Box::new(connection::Duplex::new()),
        Box::new(pending::Pending::exchange()),
        Box::new(pending::Pending::connection()),
    ];
    all().into_iter().chain(ours).filter(|case| case.takes(workload)).collect()
}

/// The cases that show what security costs: ours, bare and behind layers, and jsonrpsee with a tower layer.
pub fn security() -> Vec<Box<dyn Case>> {
    let ours = secured::all().into_iter().map(|case| Box::new(case) as Box<dyn Case>);
    let others: [Box<dyn Case>; 5] = [
        Box::new(secured::Limit::default()),
        Box::new(secured::Signed::without_replies()),
        Box::new(secured::Signed::with_replies()),
        Box::new(jsonrpsee::Tower::new()),
        Box::new(jsonrpsee_bearer::Bearer::new()),
    ];
    ours.chain(others).collect()
}

/// The cases that show what it costs to be observed.
pub fn observability() -> Vec<Box<dyn Case>> {
    observed::all().into_iter().map(|case| Box::new(case) as Box<dyn Case>).collect()
}

/// Checks that `case` answers `workload` right.
///
/// # Errors
/// When it does not.
pub fn check(case: &dyn Case, workload: Workload) -> io::Result<()> {
    let answer = case.call(workload.body());
    if workload.is_answered_by(&answer) {
        return Ok(());
    }
    let shown = String::from_utf8_lossy(&answer[..answer.len().min(300)]);
    Err(io::Error::other(format!("{} on {:?}: wrong answer: {shown}", case.name(), workload.title())))
}

/// The result of a future that never has to wait.
///
/// # Panics
/// When it does wait: then it is not the ready path that is measured.
pub fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a case that waits cannot be measured in place"),
    }
}

#[cfg(test)]
mod tests {
    use super::{check, counted, observability, security};
    use crate::workload::Workload;

    #[test]
    fn every_case_answers_every_workload_it_takes() {
        use Workload::*;
        for workload in [Add, Batch(3), Pending, NestedParams, StringParams, TextResult, DocumentResult] {
            for case in counted(workload) {
                check(&*case, workload).unwrap();
            }
        }
        for case in security().into_iter().chain(observability()) {
            check(&*case, Add).unwrap();
        }
    }
}
