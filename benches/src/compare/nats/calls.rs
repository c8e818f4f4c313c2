//! Calls, beside the requests and replies of the client library alone.

use std::future::Future;
use std::io::{self, Error};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_nats::Client;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::join_all;
use switchboard::server::Server as Worker;
use switchboard::{ErrorObject, Peer, Router};
use tokio::task::JoinHandle;

use super::super::interleave;
use super::super::pipelined::{CPU, RATE};
use super::{BARE, BROKER, BROKER_CPU, OURS};
use crate::child::{Server, own_cpu_time};
use crate::findings::Findings;
use crate::goal::{Goal, Limit};
use crate::options::Options;
use crate::report::{Ratio, Section};

/// How many calls are under way.
const DEPTH: usize = 256;

const OF_BARE: Ratio = Ratio { column: RATE, base: BARE };
const CPU_OF_BARE: Ratio = Ratio { column: CPU, base: BARE };

const REQUEST: &str = r#"{"jsonrpc":"2.0","method":"add","params":[100,7],"id":1}"#;
const REPLY: &str = r#"{"jsonrpc":"2.0","result":107,"id":1}"#;

/// Compares calls with requests. Gives the table.
pub(super) fn run(options: &Options, broker: &Server, findings: &mut Findings) -> io::Result<Section> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut subjects = vec![
        (BARE.to_owned(), runtime.block_on(Subject::bare())?),
        (OURS.to_owned(), runtime.block_on(Subject::ours())?),
    ];
    let rows = interleave(&mut subjects, options.rounds(), |subject| {
        runtime.block_on(round(subject, broker, options.network_round()))
    })?;
    let section = Section {
        title: format!("calls over NATS, {DEPTH} under way"),
        columns: vec![RATE, CPU, BROKER_CPU],
        ratios: vec![OF_BARE, CPU_OF_BARE],
        rows,
    };
    let goals = [
        Goal::on_ratio_of(OURS, &section, OF_BARE, Limit::AtLeast(0.85)),
        Goal::on_ratio_of(OURS, &section, CPU_OF_BARE, Limit::AtMost(1.25)),
    ];
    findings.add(section.clone(), goals);
    Ok(section)
}

/// What calls, and the task that answers.
struct Subject {
    caller: Caller,
    answering: JoinHandle<()>,
}

#[derive(Clone)]
enum Caller {
    Bare(Client),
    Ours(Peer),
}

impl Subject {
    async fn bare() -> io::Result<Subject> {
        let worker = async_nats::connect(BROKER).await.map_err(Error::other)?;
        let mut requests =
            worker.queue_subscribe("bare.add", "bare".to_owned()).await.map_err(Error::other)?;
        let answering = tokio::spawn(async move {
            while let Some(request) = requests.next().await {
                if let Some(reply) = request.reply {
                    drop(worker.publish(reply, Bytes::from_static(REPLY.as_bytes())).await);
                }
            }
        });
        let client = async_nats::connect(BROKER).await.map_err(Error::other)?;
        let subject = Subject { caller: Caller::Bare(client), answering };
        subject.wait().await
    }

    async fn ours() -> io::Result<Subject> {
        let add = |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b);
        let router = Router::builder().method("add", add).build().map_err(Error::other)?;
        let url = format!("nats://{BROKER}/ours");
        let mut server = Worker::new(router);
        server.listen(&url).await.map_err(Error::other)?;
        let answering = tokio::spawn(server.serve());
        let peer = switchboard::connect(&url).await.map_err(Error::other)?;
        Subject { caller: Caller::Ours(peer), answering }.wait().await
    }

    /// Waits until it answers.
    async fn wait(self) -> io::Result<Subject> {
        let since = Instant::now();
        while !self.caller.call().await {
            if since.elapsed() > Duration::from_secs(5) {
                return Err(Error::other("no right answer within 5 s"));
            }
        }
        Ok(self)
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        self.answering.abort();
    }
}

impl Caller {
    /// Makes one call. Whether the answer is right.
    async fn call(&self) -> bool {
        match self {
            Caller::Bare(client) => {
                let answer = client.request("bare.add", Bytes::from_static(REQUEST.as_bytes())).await;
                answer.is_ok_and(|answer| answer.payload == REPLY.as_bytes())
            }
            Caller::Ours(peer) => peer.call::<i64>("add", [100, 7]).await == Ok(107),
        }
    }
}

async fn round(subject: &Subject, broker: &Server, duration: Duration) -> io::Result<Vec<f64>> {
    let (before, start) = ((own_cpu_time()?, broker.process.cpu_time()?), Instant::now());
    let calls = Arc::new(AtomicU64::new(0));
    let callers = (0..DEPTH).map(|_| calling(subject.caller.clone(), Arc::clone(&calls), start + duration));
    let are_right = join_all(callers.map(tokio::spawn)).await;
    if !are_right.into_iter().all(|is_right| is_right.unwrap_or(false)) {
        return Err(Error::other("an answer was wrong"));
    }
    let (calls, elapsed) = (calls.load(Ordering::Relaxed) as f64, start.elapsed());
    let cpu = own_cpu_time()?.saturating_sub(before.0);
    let broker = broker.process.cpu_time()?.saturating_sub(before.1);
    let each = |cpu: Duration| cpu.as_secs_f64() * 1e6 / calls;
    Ok(vec![calls / elapsed.as_secs_f64(), each(cpu), each(broker)])
}

fn calling(caller: Caller, calls: Arc<AtomicU64>, until: Instant) -> impl Future<Output = bool> + Send {
    async move {
        while Instant::now() < until {
            if !caller.call().await {
                return false;
            }
            calls.fetch_add(1, Ordering::Relaxed);
        }
        true
    }
}
