//! `switchboard serve`: serves the demo methods.

use std::io;
use std::time::Duration;

use clap::Args;
use switchboard::http::{Cors, Endpoint, Hosts, Options, Origins, Server};
use switchboard::server::ServerOptions;
use switchboard::{Limits, Settings};
use tokio::task::JoinSet;

use crate::address::Address;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::signals::Signals;
use crate::{banner, demo, output, units};

const EXAMPLES: &str = "\
Examples:
  switchboard serve
  switchboard serve --listen http://127.0.0.1:0     # any free port, which is printed
  switchboard serve --listen http://0.0.0.0:8000 --public
  switchboard serve --allow-origin https://app.example.com --cors";

/// Serves a few demo methods until it is told to stop.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!(
        "{EXAMPLES}\n\nCtrl-C or SIGTERM stops it once the calls under way are done; a second one stops it at once.\n\n{}",
        exit::HELP
    ),
)]
pub(crate) struct Serve {
    /// Where to listen; port 0 picks a free one. May be given several times.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8000", value_parser = Address::parse)]
    listen: Vec<Address>,
    /// Let other machines connect, where an address to listen on can be reached by them.
    #[arg(long)]
    public: bool,
    /// Answer to this name of the host, and to no others but those given; `*` means any. May be given several times.
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
    /// Answer pages of this origin, and of no others but those given; `*` means any. May be given several times.
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// Tell browsers that pages of the allowed origins may read the answers.
    #[arg(long, requires = "allow_origin")]
    cors: bool,
    /// The most bytes that a request may have.
    #[arg(long, value_name = "BYTES", default_value = "4M", value_parser = units::bytes)]
    max_body: usize,
    /// The most calls that a batch may have.
    #[arg(long, value_name = "COUNT", default_value = "100", value_parser = units::count)]
    max_batch: usize,
    /// The most connections at once, for each address that is listened on.
    #[arg(long, value_name = "COUNT", default_value = "1024", value_parser = units::count)]
    max_connections: usize,
    /// How long a call may take.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = units::seconds)]
    timeout: Duration,
}

impl Serve {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        runtime.map_err(|error| cannot_start(&error))?.block_on(self.serve())
    }

    async fn serve(self) -> Result<(), Failure> {
        let options = self.options()?;
        let router = demo::router().map_err(|error| Failure::usage(error.to_string()))?;
        let methods = router.describe().methods;
        let endpoint = Endpoint::new(router).with_options(options).with_settings(self.settings());
        let servers = self.bind().await?;
        let mut signals = Signals::listen().map_err(|error| cannot_start(&error))?;
        let addresses: Vec<_> = servers.iter().map(Server::local_addr).collect();
        let handles: Vec<_> = servers.iter().map(Server::handle).collect();
        let mut serving: JoinSet<()> =
            servers.into_iter().map(|server| server.serve_endpoint(endpoint.clone())).collect();
        output::note(&banner::banner(&addresses, &methods));

        signals.next().await;
        output::note("Stopping once the calls under way are done; a second signal stops at once.\n");
        tokio::spawn(signals.end_at_next());
        for handle in handles {
            handle.shutdown();
        }
        while serving.join_next().await.is_some() {}
        Ok(())
    }

    /// Listens on every address, or on none.
    async fn bind(&self) -> Result<Vec<Server>, Failure> {
        let options = ServerOptions { connections: self.max_connections, ..ServerOptions::default() };
        let mut servers = Vec::new();
        for address in &self.listen {
            let addresses = address.resolve(self.public).await?;
            let server = Server::bind(&addresses[..]).await.map_err(|error| {
                let failure =
                    Failure::new(Exit::CannotListen, format!("cannot listen on {}: {error}", addresses[0]));
                match error.kind() {
                    io::ErrorKind::AddrInUse => {
                        failure.advise("choose another port with `--listen`, or 0 for any free one")
                    }
                    io::ErrorKind::PermissionDenied => failure.advise("choose a port from 1024 on"),
                    _ => failure.advise("choose an address of this machine with `--listen`"),
                }
            })?;
            servers.push(server.with_options(options.clone()));
        }
        Ok(servers)
    }

    fn options(&self) -> Result<Options, Failure> {
        let wrong = |error: switchboard::http::GuardError| Failure::usage(error.to_string());
        let has_any = |values: &[String]| values.iter().any(|value| value == "*");
        let hosts = match &self.allow_host[..] {
            [] => Hosts::default(),
            hosts if has_any(hosts) => Hosts::any(),
            hosts => Hosts::only(hosts).map_err(wrong)?,
        };
        let origins = match &self.allow_origin[..] {
            [] => Origins::default(),
            origins if has_any(origins) => Origins::any(),
            origins => Origins::only(origins).map_err(wrong)?,
        };
        Ok(Options { hosts, origins, cors: self.cors.then(Cors::default), ..Options::default() })
    }

    fn settings(&self) -> Settings {
        let limits = Limits {
            frame: self.max_body,
            batch: self.max_batch,
            call_time: self.timeout,
            ..Limits::default()
        };
        Settings { limits, ..Settings::default() }
    }
}

fn cannot_start(error: &io::Error) -> Failure {
    Failure::new(Exit::CannotListen, format!("cannot start: {error}"))
}
