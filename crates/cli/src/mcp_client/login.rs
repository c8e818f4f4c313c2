//! `switchboard login` and `switchboard logout`: tokens for MCP servers.

use std::path::PathBuf;
use std::time::SystemTime;

use clap::Args;
use serde::Serialize;
use switchboard::http::HttpClientOptions;
use switchboard::mcp::auth::{AuthError, LoggedIn, Login as McpLogin, RegisteredClient, TokenFile};
use switchboard::tls::{ClientFiles, ClientTls, Trust};
use switchboard::{Dial, Json};

use super::connect::{NAME, browser, kept, tokens};
use crate::discover::METHOD;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::output::Format;
use crate::signals::Signals;
use crate::table::{Cell, Table};
use crate::target::is_http;
use crate::{output, table};

const LOGIN: &str = "\
Examples:
  switchboard login https://mcp.example.com/mcp
  switchboard login https://mcp.example.com/mcp --no-browser     # prints the page to open
  switchboard login https://mcp.example.com/mcp --scope files:read --scope files:write
  switchboard login https://mcp.example.com/mcp --client-id desk # a client registered by hand
  switchboard login --list                                       # where you are logged in";

const LOGIN_LONG: &str = "\
The server says where to log in, and the page opens in your browser, which comes back to a port on 127.0.0.1. The token is kept in \
`switchboard/tokens.json` in your configuration folder ($XDG_CONFIG_HOME, by default ~/.config), which only you can read. It is sent to this server \
only, by `tools`, `resources`, `prompts` and `inspect`, and by `call`, `watch` and `repl` with `--mcp`. It is renewed when it expires. It is never printed.";

const LOGOUT: &str = "\
Examples:
  switchboard logout https://mcp.example.com/mcp
  switchboard login --list";

/// Logs in to an MCP server, and keeps the token for other commands.
#[derive(Debug, Args)]
#[command(
    after_help = LOGIN,
    after_long_help = format!("{LOGIN}\n\n{LOGIN_LONG}\n\n{}", exit::HELP),
)]
pub(crate) struct Login {
    /// URL of the server.
    #[arg(required_unless_present = "list", conflicts_with = "list")]
    url: Option<String>,
    /// List the servers that you are logged in to.
    #[arg(long)]
    list: bool,
    /// Print the login page instead of opening it, for a browser on this machine.
    #[arg(long)]
    no_browser: bool,
    /// Ask for this scope too. Can be repeated.
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// Identifier of a client that is registered at the authorization server. By default a client is registered.
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// Trust only certificates issued by the authorities in this PEM file.
    #[arg(long, value_name = "FILE")]
    cacert: Option<PathBuf>,
    #[command(flatten)]
    format: Format,
}

/// Forgets the token of an MCP server.
#[derive(Debug, Args)]
#[command(after_help = LOGOUT, after_long_help = format!("{LOGOUT}\n\n{}", exit::HELP))]
pub(crate) struct Logout {
    /// URL of the server.
    url: String,
}

impl Login {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        self.format.for_errors();
        match &self.url {
            Some(url) => self.log_in(&checked(url)?),
            None => self.show(&file()?.servers().map_err(|error| failed(&error))?),
        }
    }

    fn log_in(&self, url: &str) -> Result<(), Failure> {
        file()?;
        let browser = if self.no_browser { browser().without_opening() } else { browser() };
        let mut options = HttpClientOptions::default();
        if let Some(file) = &self.cacert {
            let mut files = ClientFiles::default();
            files.trust = Trust::Authority(file.clone());
            options.tls = Some(ClientTls::load(&files).map_err(|error| Failure::usage(error.to_string()))?);
        }
        let mut login = kept(McpLogin::user(browser).named(NAME).http(options).scopes(&self.scopes));
        if let Some(id) = &self.client_id {
            login = login.client(RegisteredClient::new(id));
        }
        let cannot_start =
            |error: std::io::Error| Failure::new(Exit::Unreachable, format!("cannot start: {error}"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(cannot_start)?.block_on(async {
            let mut signals = Signals::listen().map_err(cannot_start)?;
            tokio::select! {
                done = login.log_in(url) => done.map_err(|error| failed(&error)),
                _ = signals.next() => Err(Failure::new(Exit::Interrupted, "interrupted; you are not logged in")),
            }
        })?;
        output::note(&format!("Logged in to {url}\n"));
        Ok(())
    }

    fn show(&self, servers: &[LoggedIn]) -> Result<(), Failure> {
        #[derive(Serialize)]
        struct Line<'a> {
            url: &'a str,
            issuer: &'a str,
            scopes: &'a [String],
            #[serde(skip_serializing_if = "Option::is_none")]
            expires: Option<u64>,
            renewed: bool,
        }
        if !self.format.is_for_people() {
            for LoggedIn { url, issuer, scopes, expires, is_renewed, .. } in servers {
                let expires = expires.and_then(|end| end.duration_since(SystemTime::UNIX_EPOCH).ok());
                let expires = expires.map(|end| end.as_secs());
                let line = Line { url, issuer, scopes, expires, renewed: *is_renewed };
                let json = Json::encode_ref(&line).map_err(|error| Failure::usage(error.to_string()))?;
                output::result(&json, self.format)?;
            }
            return Ok(());
        }
        let mut table = Table::new(["server", "logged in at", "scopes", "token"]);
        for server in servers {
            let is_over = server.expires.is_some_and(|end| end <= SystemTime::now());
            let state = match (is_over, server.is_renewed) {
                (_, true) => "renewed when it expires",
                (true, false) => "expired",
                (false, false) => "valid",
            };
            table.row([
                Cell::new(&server.url, METHOD),
                Cell::plain(&server.issuer),
                Cell::plain(server.scopes.join(" ")),
                Cell::plain(state),
            ]);
        }
        output::page(&table.render(table::terminal_width())).map(drop)
    }
}

impl Logout {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let url = checked(&self.url)?;
        match file()?.log_out(&url).map_err(|error| failed(&error))? {
            true => output::note(&format!("Logged out of {url}\n")),
            false => {
                return Err(Failure::new(Exit::Rejected, format!("you are not logged in to {url}"))
                    .advise("`switchboard login --list` lists the servers that you are logged in to"));
            }
        }
        Ok(())
    }
}

/// The URL as tokens are kept for it.
fn checked(url: &str) -> Result<String, Failure> {
    let advice = "give the URL of an MCP server, such as https://mcp.example.com/mcp";
    let dial = Dial::new(url).map_err(|error| Failure::usage(error.to_string()).advise(advice))?;
    match is_http(dial.url().scheme()) {
        true => Ok(dial.url().to_string()),
        false => Err(Failure::usage("only servers over http and https have logins").advise(advice)),
    }
}

fn file() -> Result<TokenFile, Failure> {
    tokens().ok_or_else(|| {
        Failure::usage("there is no folder for the configuration").advise("set XDG_CONFIG_HOME or HOME")
    })
}

fn failed(error: &AuthError) -> Failure {
    match error {
        AuthError::Open(_) => Failure::new(Exit::Rejected, error.to_string())
            .advise("use it without a login: `switchboard tools URL`"),
        AuthError::NoClient(_) => {
            Failure::new(Exit::Rejected, error.to_string()).advise("`switchboard login URL --client-id ID`")
        }
        AuthError::Store(_) => Failure::new(Exit::CannotWrite, error.to_string()),
        error => Failure::new(Exit::Unreachable, error.to_string()),
    }
}
