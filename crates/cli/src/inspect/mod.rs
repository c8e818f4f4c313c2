//! `switchboard inspect`: a web page to try an MCP server in.
//!
//! The page speaks no MCP. This process has the client, so every transport and revision works, programs included, and no other site's
//! rules apply. The page calls the methods in [`service`] over a WebSocket, and answers the questions of the server when it is called back.

mod callbacks;
mod connection;
mod page;
mod sandbox;
mod service;
mod token;
mod transcript;
mod wire;

use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use clap::Args;
use switchboard::http::EndpointOptions;
use switchboard::server::{ListenError, Server, ServerOptions};
use switchboard::{Limits, Router, Settings, playground};

use self::connection::Inspected;
use self::page::Page;
use self::sandbox::{Sandbox, Views};
use self::service::Methods;
use self::token::Door;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::session::Interrupt;
use crate::target::Target;
use crate::visible::visible;
use crate::{address, mcp_client, output, proxy, serving, units};

const EXAMPLES: &str = "\
Examples:
  switchboard inspect http://127.0.0.1:8000/mcp
  switchboard inspect 'npx -y @modelcontextprotocol/server-everything'
  switchboard inspect https://mcp.example.com/mcp --header 'X-Team: ops'
  switchboard inspect './my-server --stdio' --listen 6274";

const LONG: &str = "\
Open the URL that is printed. It has a token that works once, for the first page that is opened with it; that page can be reloaded. The page \
can connect to other URLs as well, but it cannot start any program except the one on this command line.

The page lists tools, resources and prompts, with forms for their arguments. It shows results, progress, log messages and every message \
in both directions, asks you what the server wants to know, and saves what happened as a recording for `switchboard replay`.

Requests have no time limit: stop them in the page. `--timeout` limits connecting.";

/// Where the page is. Its WebSocket is there too.
const PAGE: &str = "/";

/// The path of the calls of a server that answers none.
const NOWHERE: &str = "/nowhere";

/// Opens a web page to try an MCP server in: tools, resources, prompts, and every message.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
    mut_args(described),
)]
pub(crate) struct Inspect {
    #[command(flatten)]
    target: Target,
    /// Where to listen for the page: a port, or a URL such as http://127.0.0.1:6274. Only addresses of this machine.
    #[arg(long, value_name = "PORT|URL", default_value = "0", value_parser = address::listening)]
    listen: String,
}

/// The options of a server to call, where they are about an MCP server.
fn described(argument: clap::Arg) -> clap::Arg {
    match argument.get_id().as_str() {
        "url" => mcp_client::server(argument),
        "timeout" => argument.help("How long connecting may take"),
        // The page shows errors, and the client reconnects by itself.
        "retry" | "repeatable" | "json" | "raw" | "v1" | "extensions" => argument.hide(true),
        _ => argument,
    }
}

impl Inspect {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        if !self.listen.starts_with("http://") || !proxy::is_local(&self.listen) {
            let text =
                format!("other machines could reach {}, and start programs here", visible(&self.listen));
            return Err(
                Failure::usage(text).advise("listen on this machine: `--listen http://127.0.0.1:6274`")
            );
        }
        self.target.run_watching(async |_, interrupt| self.serve(interrupt).await)
    }

    async fn serve(&self, interrupt: Interrupt) -> Result<(), Failure> {
        let door = Arc::new(Door::new().map_err(|error| cannot_start(&error))?);
        let (page, sending) = Page::new();
        let inspected = Arc::new(Inspected::new(self.target.clone(), page.clone()));
        let sandbox = Arc::new(Sandbox::default());
        let views = self.views(&sandbox).await?;
        let frames = origin(&views);
        let methods = Methods { door: Arc::clone(&door), page, inspected, sandbox: Arc::clone(&sandbox) };
        let router = Router::builder().add(methods).build().map_err(|error| cannot_start(&error))?;
        let mut server = self.server(router, &door, &frames);
        server.listen(&self.listen).await.map_err(|error| match error {
            ListenError::Public(address) => {
                let text = format!("other machines could reach {address}, and start programs here");
                Failure::usage(text).advise("listen on this machine: `--listen http://127.0.0.1:6274`")
            }
            error => serving::explain(error, &self.listen),
        })?;
        let urls: Vec<String> = server.urls().collect();
        let _ = sandbox.origins.set((frames, urls.first().cloned().unwrap_or_default()));
        output::note(&self.banner(&urls, door.invitation()));
        let (handle, views_handle) = (server.handle(), views.handle());
        let serving_views = tokio::spawn(views.serve());
        let mut serving = tokio::spawn(server.serve());
        let sending = tokio::spawn(sending.run());
        tokio::select! {
            _ = &mut serving => {}
            _ = interrupt => {
                handle.shutdown();
                let _ = serving.await;
            }
        }
        views_handle.shutdown();
        let _ = serving_views.await;
        sending.abort();
        Ok(())
    }

    /// The server of views, which listens at another port of this machine.
    async fn views(&self, sandbox: &Arc<Sandbox>) -> Result<Server, Failure> {
        const ANY: &str = "http://127.0.0.1:0";
        let options = EndpointOptions::default()
            .without_routes()
            .with_paths(vec![NOWHERE.to_owned()])
            .route(sandbox::PATH, Views(Arc::clone(sandbox)));
        let nothing = Router::builder().build().map_err(|error| cannot_start(&error))?;
        let mut server = Server::new(nothing).with_http(options);
        server.listen(ANY).await.map_err(|error| serving::explain(error, ANY))?;
        Ok(server)
    }

    /// The server of the page, which listens nowhere yet.
    fn server(&self, router: Router, door: &Arc<Door>, frames: &str) -> Server {
        let limits = Limits::default()
            .with_reply(self.target.max_answer)
            .with_members(usize::MAX)
            .with_call_time(units::LONGEST)
            .with_outbox(self.target.max_answer.saturating_mul(2));
        let settings = Settings::default().with_limits(limits).with_admission(Some(Arc::clone(door).into()));
        let options = EndpointOptions::default()
            .without_routes()
            .with_paths(vec![PAGE.to_owned()])
            .route(PAGE, playground::inspector(frames));
        Server::new(router)
            .with_settings(settings)
            .with_options(ServerOptions::default().with_duplex_idle_time(None))
            .with_http(options)
    }

    fn banner(&self, urls: &[String], token: &str) -> String {
        const HEAD: Style = Style::new().bold();
        const URL: Style = AnsiColor::Cyan.on_default().underline();
        const FAINT: Style = Style::new().dimmed();
        let mut text = format!("{HEAD}switchboard {}{HEAD:#}\n", env!("CARGO_PKG_VERSION"));
        text.push_str(&format!("Inspecting {}\n", visible(&self.target.url)));
        for url in urls {
            text.push_str(&format!("Open {URL}{url}/#{token}{URL:#}\n"));
        }
        text + &format!("\n{FAINT}The link works once. Press Ctrl-C to stop.{FAINT:#}\n")
    }
}

/// Where a server listens.
fn origin(server: &Server) -> String {
    server.urls().next().unwrap_or_default()
}

fn cannot_start(error: &dyn std::fmt::Display) -> Failure {
    Failure::new(Exit::CannotListen, format!("cannot start: {error}"))
}
