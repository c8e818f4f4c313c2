//! `switchboard cluster demo`: a fleet on one machine, to try what happens when parts of it fail.

mod banner;
mod broker;
mod fleet;
mod folder;
mod member;
mod traffic;

use std::time::Duration;

use clap::{Args, Subcommand};

use self::fleet::Fleet;
use self::traffic::Traffic;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::signals::Signals;
use crate::{output, units};

const EXAMPLES: &str = "\
Examples:
  switchboard cluster demo                       # until Ctrl-C
  switchboard cluster demo --workers 5 --rate 500
  switchboard cluster demo --for 10s             # then says how many calls failed
  switchboard cluster demo --broker nats://127.0.0.1:4222";

const LONG: &str = "\
Starts a NATS server, workers that serve the demo methods behind it, and gateways in front of it, each a separate process, and calls methods through all gateways. It \
prints the address of each, and commands to try, such as killing one. Ctrl-C stops all of them; they also stop if this command is killed.";

/// How often it looks whether something has ended.
const LOOK: Duration = Duration::from_millis(200);

/// Runs a fleet on this machine: broker, workers, gateways and traffic.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP))]
pub(crate) struct Cluster {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(Demo),
}

/// Starts a broker, workers and gateways on this machine, and sends calls through them, until you stop it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP))]
pub(crate) struct Demo {
    /// How many workers to start.
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=50))]
    workers: u16,
    /// How many gateways to start.
    #[arg(long, value_name = "COUNT", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=20))]
    gateways: u16,
    /// How many calls to make per second; 0 for none.
    #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    rate: u32,
    /// Stop after this time.
    #[arg(long = "for", value_name = "DURATION", value_parser = units::duration)]
    time: Option<Duration>,
    /// Use this NATS server instead of starting one.
    #[arg(long, value_name = "URL")]
    broker: Option<String>,
    /// The program of the NATS server.
    #[arg(long, value_name = "PATH", default_value = "nats-server", conflicts_with = "broker")]
    nats_server: std::path::PathBuf,
}

impl Cluster {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let Command::Demo(demo) = self.command;
        demo.run()
    }
}

impl Demo {
    fn run(self) -> Result<(), Failure> {
        let failed =
            |error: std::io::Error| Failure::new(Exit::Unreachable, format!("cannot start: {error}"));
        let mut fleet = Fleet::start(&self)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(failed)?;
        let traffic = runtime.block_on(async {
            let mut signals = Signals::listen().map_err(failed)?;
            let traffic = Traffic::start(&fleet.gateways(), self.rate)?;
            output::note(&banner::banner(&fleet, self.rate));
            tokio::select! {
                () = signals.next() => {}
                () = self.is_over() => {}
                () = watch(&mut fleet, &traffic) => {}
            }
            tokio::spawn(signals.end_at_next());
            Ok::<_, Failure>(traffic.stop().await)
        })?;
        output::note("Stopping.\n");
        fleet.stop();
        output::note(&format!("Stopped. {traffic}\n"));
        Ok(())
    }

    async fn is_over(&self) {
        match self.time {
            Some(time) => tokio::time::sleep(time).await,
            None => std::future::pending().await,
        }
    }
}

/// Tells when something ends.
async fn watch(fleet: &mut Fleet, traffic: &Traffic) {
    let mut looks = tokio::time::interval(LOOK);
    loop {
        looks.tick().await;
        for ended in fleet.ended() {
            output::note(&format!("{ended}. {}\n", traffic.counts()));
        }
    }
}
