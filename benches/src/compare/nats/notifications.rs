//! Batches of notifications, beside as many messages of the client library.

use std::io::{self, Error};
use std::time::{Duration, Instant};

use async_nats::Client;
use bytes::Bytes;
use switchboard::Peer;

use super::super::interleave;
use super::{BARE, BROKER, OURS};
use crate::child::own_cpu_time;
use crate::findings::Findings;
use crate::goal::{Goal, Limit};
use crate::options::Options;
use crate::report::{Ratio, Section};

/// How many notifications a batch has.
const BATCH: usize = 100;

const RATE: &str = "messages/s";
const CPU: &str = "CPU us";

const OF_BARE: Ratio = Ratio { column: RATE, base: BARE };

const MESSAGE: &str = r#"{"jsonrpc":"2.0","method":"log","params":[100,7]}"#;

/// Who sends. Nobody receives, so that only sending is measured.
enum Sender {
    Bare(Client),
    Ours(Peer),
}

/// Compares batches of notifications with messages that are published.
pub(super) fn run(options: &Options, findings: &mut Findings) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (bare, ours) = runtime.block_on(async {
        let ours = switchboard::connect(&format!("nats://{BROKER}/unheard")).await.map_err(Error::other)?;
        io::Result::Ok((async_nats::connect(BROKER).await.map_err(Error::other)?, ours))
    })?;
    let mut subjects = [(BARE.to_owned(), Sender::Bare(bare)), (OURS.to_owned(), Sender::Ours(ours))];
    let rows = interleave(&mut subjects, options.rounds(), |sender| {
        runtime.block_on(round(sender, options.network_round()))
    })?;
    let section = Section {
        title: format!("notifications over NATS, batches of {BATCH}"),
        columns: vec![RATE, CPU],
        ratios: vec![OF_BARE, Ratio { column: CPU, base: BARE }],
        rows,
    };
    let goal = Goal::on_ratio_of(OURS, &section, OF_BARE, Limit::AtLeast(0.85));
    findings.add(section, [goal]);
    Ok(())
}

async fn round(sender: &Sender, duration: Duration) -> io::Result<Vec<f64>> {
    let (before, start) = (own_cpu_time()?, Instant::now());
    let mut sent = 0;
    while start.elapsed() < duration {
        sender.send().await?;
        sent += BATCH;
    }
    sender.arrived().await;
    let (sent, elapsed) = (sent as f64, start.elapsed());
    let cpu = own_cpu_time()?.saturating_sub(before);
    Ok(vec![sent / elapsed.as_secs_f64(), cpu.as_secs_f64() * 1e6 / sent])
}

impl Sender {
    async fn send(&self) -> io::Result<()> {
        match self {
            Sender::Bare(client) => {
                for _ in 0..BATCH {
                    let message = Bytes::from_static(MESSAGE.as_bytes());
                    client.publish("unheard.log", message).await.map_err(Error::other)?;
                }
            }
            Sender::Ours(peer) => {
                let batch = (0..BATCH).fold(peer.batch(), |batch, _| batch.notify("log", [100, 7]));
                batch.send().await.map_err(Error::other)?;
            }
        }
        Ok(())
    }

    /// Waits until the broker has everything: then it says that nobody serves a call which was sent later.
    async fn arrived(&self) {
        match self {
            Sender::Bare(client) => drop(client.request("unheard.log", Bytes::new()).await),
            Sender::Ours(peer) => drop(peer.call::<()>("log", ()).await),
        }
    }
}
