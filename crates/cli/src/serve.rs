//! `switchboard serve`: serves the demo methods.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use listenfd::ListenFd;
use switchboard::http::{Cors, DocumentRoute, Get, Hosts, Options, Origins};
use switchboard::openrpc::{SpecVersion, Validation};
use switchboard::server::{ListenError, Server, ServerOptions};
use switchboard::tls::{CallerProof, ServerFiles, ServerTls};
use switchboard::{Layer, Limits, Service, Settings, playground};

use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::signals::Signals;
use crate::{banner, demo, logs, output, spec, units};

const EXAMPLES: &str = "\
Examples:
  switchboard serve
  switchboard serve --listen http://127.0.0.1:0     # any free port, which is printed
  switchboard serve --listen http://0.0.0.0:8000 --public
  switchboard serve --listen tcp://127.0.0.1:4000?framing=lsp --listen unix:/run/rpc.sock
  switchboard serve --listen https://127.0.0.1:8443 --tls-cert server.pem --tls-key server.key
  switchboard serve --stdio
  switchboard serve --allow-origin https://app.example.com --cors";

/// Serves demo methods until it is told to stop; the methods of the usual tutorials are among them.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!(
        "{EXAMPLES}\n\nCtrl-C or SIGTERM stops it once the calls under way are done; a second one stops it at once.\n\n{}",
        exit::HELP
    ),
)]
pub(crate) struct Serve {
    /// Where to listen: a URL of http, https, ws, wss, tcp, tls or unix; port 0 picks a free one. May be given several
    /// times. Without it, and without --stdio, the sockets that a supervisor passes on (LISTEN_FDS) are served, or else
    /// http://127.0.0.1:8000.
    #[arg(long, value_name = "URL")]
    listen: Vec<String>,
    /// Serve standard input and output, one message a line. The program ends with its input.
    #[arg(long)]
    stdio: bool,
    /// The certificate to show, with those that lead to its issuer, in PEM. It is read again within 5 seconds when it changes.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The key of the certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Whoever may issue certificates to callers, in PEM. Callers without one are not let in.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    client_ca: Option<PathBuf>,
    /// Let callers in that show no certificate.
    #[arg(long, requires = "client_ca")]
    client_cert_optional: bool,
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
    /// Show no page to browsers at `/`; calls are answered there as ever.
    #[arg(long)]
    no_playground: bool,
    /// The most bytes that a request may have.
    #[arg(long, value_name = "BYTES", default_value = "4M", value_parser = units::bytes)]
    max_body: usize,
    /// The most calls that a batch may have.
    #[arg(long, value_name = "COUNT", default_value = "100", value_parser = units::count)]
    max_batch: usize,
    /// The most connections at once, over all that is listened on.
    #[arg(long, value_name = "COUNT", default_value = "1024", value_parser = units::count)]
    max_connections: usize,
    /// The most connections at once from one address.
    #[arg(long, value_name = "COUNT", value_parser = units::count)]
    max_connections_per_address: Option<usize>,
    /// Check the parameters of calls by their schemas, before the methods do.
    #[arg(long)]
    validate: bool,
    /// Describe the methods by this version of OpenRPC. Old tools know 1.2 only.
    #[arg(long, value_name = "VERSION", default_value = "1.3", value_parser = spec::version())]
    openrpc: SpecVersion,
    /// The most bytes of all messages above 64 KiB together, over all that is listened on. What would exceed it is refused,
    /// to be sent again later.
    #[arg(long, value_name = "BYTES", default_value = "256M", value_parser = units::bytes)]
    max_buffers: usize,
    /// How long calls under way may take to finish after the signal to stop.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = units::seconds)]
    drain_time: Duration,
    /// How long a call may take.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = units::seconds)]
    timeout: Duration,
    /// Log more to stderr; twice for even more. `RUST_LOG` says it in detail.
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,
}

impl Serve {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        logs::start(self.verbose);
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        runtime.map_err(|error| cannot_start(&error))?.block_on(self.serve())
    }

    async fn serve(self) -> Result<(), Failure> {
        let router = demo::router().map_err(|error| Failure::usage(error.to_string()))?;
        let description = router.describe();
        // Whatever may be called by GET on this machine may be so from others if it changes nothing.
        let get = if self.public { Get::described(&description) } else { Get::default() };
        let methods = description.methods;
        let mut server = Server::new(router)
            .with_http(Options { get, ..self.options()? })
            .with_settings(self.settings())
            .with_options(ServerOptions {
                connections: self.max_connections,
                connections_per_address: self.max_connections_per_address,
                buffers: self.max_buffers,
                ..ServerOptions::default()
            });
        if let Some(tls) = self.tls()? {
            server = server.with_tls(tls);
        }
        if self.public {
            server = server.public();
        }
        let urls = self.listen(&mut server).await?;
        // Now that it is known where they are served, they can tell.
        let server = server.with_service(self.service(&urls)?);
        let mut signals = Signals::listen().map_err(|error| cannot_start(&error))?;
        let handle = server.handle();
        output::note(&match self.is_background(&urls) {
            true => banner::brief(&urls),
            false => banner::banner(&urls, &methods, !self.no_playground),
        });
        let mut serving = tokio::spawn(server.serve());
        tokio::select! {
            // With --stdio it may end by itself.
            _ = &mut serving => return Ok(()),
            () = signals.next() => {}
        }
        output::note("Stopping once the calls under way are done; a second signal stops at once.\n");
        tokio::spawn(signals.end_at_next());
        handle.shutdown();
        let _ = serving.await;
        Ok(())
    }

    /// Whether another program started this one to talk to it, and nobody reads along.
    fn is_background(&self, urls: &[String]) -> bool {
        urls.iter().all(|url| url.starts_with("stdio")) && !io::stderr().is_terminal()
    }

    /// The methods, described as served at these URLs, and what stands before them.
    fn service(&self, urls: &[String]) -> Result<Arc<dyn Service>, Failure> {
        let generator = demo::servers(urls)
            .into_iter()
            .fold(demo::generator().version(self.openrpc), switchboard::openrpc::Generator::server);
        let router = demo::described(generator.clone()).map_err(|error| Failure::usage(error.to_string()))?;
        let validation = self.validate.then(|| Validation::new(&generator.document(&router)));
        let mut service: Arc<dyn Service> = Arc::new(router);
        if let Some(validation) = validation {
            service = validation.map_err(|error| Failure::usage(error.to_string()))?.layer(service);
        }
        // What nobody sees costs nothing.
        Ok(if self.verbose > 0 { Arc::new(logs::failures(service)) } else { service })
    }

    /// Listens everywhere, or nowhere; gives the URLs.
    async fn listen(&self, server: &mut Server) -> Result<Vec<String>, Failure> {
        let mut listen = self.listen.clone();
        if listen.is_empty() && !self.stdio && !adopt(server)? {
            listen.push("http://127.0.0.1:8000".to_owned());
        }
        if self.stdio {
            listen.push("stdio".to_owned());
        }
        for url in &listen {
            server.listen(url).await.map_err(explain)?;
        }
        Ok(server.urls().collect())
    }

    fn tls(&self) -> Result<Option<ServerTls>, Failure> {
        let (Some(certificate), Some(key)) = (&self.tls_cert, &self.tls_key) else { return Ok(None) };
        let proof = if self.client_cert_optional { CallerProof::Optional } else { CallerProof::Required };
        let files =
            ServerFiles { client_ca: self.client_ca.clone(), proof, ..ServerFiles::new(certificate, key) };
        ServerTls::load(files).map(Some).map_err(|error| Failure::usage(error.to_string()))
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
        let cors = self.cors.then(Cors::default);
        let options = Options { hosts, origins, cors, ..Options::default() };
        let options = options.route("/openrpc.json", DocumentRoute);
        Ok(if self.no_playground { options } else { options.route("/", playground::page()) })
    }

    fn settings(&self) -> Settings {
        let limits = Limits {
            frame: self.max_body,
            batch: self.max_batch,
            call_time: self.timeout,
            drain_time: self.drain_time,
            ..Limits::default()
        };
        Settings { limits, ..Settings::default() }
    }
}

/// Serves the sockets that a supervisor passed on; false if there are none.
fn adopt(server: &mut Server) -> Result<bool, Failure> {
    let mut passed = ListenFd::from_env();
    for index in 0..passed.len() {
        let listener = passed.take_tcp_listener(index).map_err(|error| {
            Failure::new(Exit::CannotListen, format!("a socket that was passed on cannot be used: {error}"))
                .advise("pass listening TCP sockets only")
        })?;
        if let Some(listener) = listener {
            server.adopt(listener).map_err(explain)?;
        }
    }
    Ok(passed.len() > 0)
}

/// Why a URL cannot be listened at, and what to do about it.
fn explain(error: ListenError) -> Failure {
    let text = error.to_string();
    let cannot = |text: String| Failure::new(Exit::CannotListen, text);
    match error {
        ListenError::Bind { error, .. } => match error.kind() {
            io::ErrorKind::AddrInUse => {
                cannot(text).advise("choose another port with `--listen`, or 0 for any free one")
            }
            io::ErrorKind::PermissionDenied => cannot(text).advise("choose a port from 1024 on"),
            _ => cannot(text).advise("choose an address of this machine with `--listen`"),
        },
        ListenError::Unix(error) if error.kind() == io::ErrorKind::NotFound => {
            cannot(text).advise("make the folder of the socket first")
        }
        ListenError::Unix(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            cannot(text).advise("choose a folder that you may write to")
        }
        ListenError::Unresolved(_) | ListenError::Unix(_) | ListenError::Listener(_) => cannot(text),
        ListenError::Public(address) => {
            let text = format!("{address} can be reached from other machines");
            Failure::usage(text).advise("add `--public` if that is meant, or listen on 127.0.0.1")
        }
        ListenError::Certificate(_) => Failure::usage(text).advise("add `--tls-cert FILE --tls-key FILE`"),
        _ => Failure::usage(text),
    }
}

fn cannot_start(error: &io::Error) -> Failure {
    Failure::new(Exit::CannotListen, format!("cannot start: {error}"))
}
