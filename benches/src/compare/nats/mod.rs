//! Calls over a NATS server, beside what the client library alone does, and how they scale with workers.

mod calls;
mod model;
mod notifications;
mod workers;

use std::io;

use crate::child::Server;
use crate::findings::Findings;
use crate::options::Options;

/// Where the broker listens.
const BROKER: &str = "127.0.0.1:18473";

const BARE: &str = "async-nats";
const OURS: &str = "switchboard";

/// The CPU time of the broker a call, in microseconds.
const BROKER_CPU: &str = "broker us";

/// Compares calls through a broker: callers and workers are in this process, the broker is not.
///
/// # Errors
/// When the broker does not start, or an answer is wrong.
pub fn run(options: &Options) -> io::Result<Findings> {
    let mut findings = Findings::default();
    let arguments = ["--addr", "127.0.0.1", "--port", "18473"];
    let Some(broker) = Server::optional(options, "nats-server", &arguments, BROKER)? else {
        return Ok(findings);
    };
    let calls = calls::run(options, &broker, &mut findings)?;
    notifications::run(options, &mut findings)?;
    let works = workers::run(options, &mut findings)?;
    if let Some(call) = calls.figure(OURS, BROKER_CPU) {
        model::add(call.median(), &works, &mut findings);
    }
    Ok(findings)
}
