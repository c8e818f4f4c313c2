//! Rounds of pipelined calls, whatever carries them.

use std::io;
use std::time::Duration;

use tokio::runtime::Runtime;

use super::interleave;
use crate::child::{Process, own_cpu_time};
use crate::options::Options;
use crate::pipeline::{Pipeline, Stream};
use crate::report::Row;

/// Calls a second.
pub(super) const RATE: &str = "calls/s";
/// The server's CPU time a call, in microseconds.
pub(super) const CPU: &str = "CPU us";
/// What the load generator itself needs for a call: while it is less than the server's, the server is the limit.
pub(super) const LOAD: &str = "load us";

/// How long a server may warm up before each round.
const WARM_UP: Duration = Duration::from_millis(50);

/// How long a server is left alone before its CPU time is read: longer than a tick of the kernel.
const SETTLE: Duration = Duration::from_millis(15);

/// A server and what drives it.
pub(super) struct Subject<S> {
    pub(super) process: Process,
    pub(super) load: Pipeline<S>,
}

/// The figures [`RATE`], [`CPU`] and [`LOAD`] of the subjects that `start` gives.
pub(super) fn measure<S: Stream>(
    options: &Options,
    start: impl FnOnce(&Runtime) -> io::Result<Vec<(String, Subject<S>)>>,
) -> io::Result<Vec<Row>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut subjects = start(&runtime)?;
    interleave(&mut subjects, options.rounds(), |subject| {
        runtime.block_on(round(subject, options.network_round()))
    })
}

async fn round<S: Stream>(subject: &mut Subject<S>, duration: Duration) -> io::Result<Vec<f64>> {
    let Subject { process, load } = subject;
    load.run(WARM_UP).await?;
    tokio::time::sleep(SETTLE).await;
    let before = (process.cpu_time()?, own_cpu_time()?);
    let run = load.run(duration).await?;
    let load_used = own_cpu_time()?.saturating_sub(before.1);
    tokio::time::sleep(SETTLE).await;
    let used = process.cpu_time()?.saturating_sub(before.0);

    let calls = run.requests as f64;
    let each = |time: Duration| time.as_secs_f64() * 1e6 / calls;
    Ok(vec![calls / run.elapsed.as_secs_f64(), each(used), each(load_used)])
}
