//! Connecting to an MCP server, as a user with a terminal or without one.

use std::path::PathBuf;
use std::sync::Arc;

use http::header::AUTHORIZATION;
use switchboard::http::HttpClientOptions;
use switchboard::mcp::auth::{
    AuthError, Browser, Login, MemoryTokens, TokenFile, UserAgent, UserFuture, Visit,
};
use switchboard::mcp::model::{LogParams, Root};
use switchboard::mcp::{Client, Credentials};
use switchboard::{CallError, Json};

use super::{Server, answers, sampling, terminal};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::shell::quoted;
use crate::target::Target;
use crate::visible::visible;

/// Who calls, for servers and for the pages of authorization servers.
pub(super) const NAME: &str = "Switchboard";

impl Server {
    /// Runs a command with a client of the server.
    pub(super) fn run(&self, work: impl AsyncFnOnce(&Client) -> Result<(), Failure>) -> Result<(), Failure> {
        self.target.run(async |session| {
            let client = self.connect(session).await?;
            let outcome = Box::pin(work(&client)).await;
            client.close().await;
            outcome
        })
    }

    pub(super) async fn connect(&self, session: &Session<'_>) -> Result<Client, Failure> {
        let (target, dial) = (&self.target, session.dial());
        target.check_token(dial.url().scheme())?;
        // The connection keeps the callbacks, so the program does not end before it is closed.
        let open = session.hold();
        let mut builder = Client::builder("switchboard", env!("CARGO_PKG_VERSION"))
            .timeout(target.timeout)
            .on_elicit(answers::form)
            .on_open_url(answers::open)
            .on_log(move |message| {
                let _ = &open;
                show(&message);
            });
        let roots = self.roots.iter().map(root).collect::<Result<Vec<Root>, Failure>>()?;
        if !roots.is_empty() {
            builder = builder.roots(roots);
        }
        if let Some(answer) = sampling::callback(&self.sample) {
            builder = builder.on_sample(answer);
        }
        if let Some(credentials) = credentials(target, login())? {
            builder = builder.credentials(credentials);
        }
        builder.dial(dial).await.map_err(|error| self.explain(error))
    }

    /// What a failure means, with advice where there is any.
    pub(super) fn explain(&self, error: CallError) -> Failure {
        explain(&self.target, error)
    }
}

/// What a failure of an MCP server means, with advice where there is any.
pub(crate) fn explain(target: &Target, error: CallError) -> Failure {
    match error {
        // Codes of MCP servers mean something else elsewhere, so the usual advice does not apply.
        CallError::Rejected(error) => Failure::Rejected(error, None),
        CallError::CannotConnect(what) if what.contains(NO_TERMINAL) => {
            Failure::new(Exit::Unreachable, format!("the server needs a login, and {NO_TERMINAL}"))
                .advise(format!("log in with `switchboard login {}`, or use `--token`", quoted(&target.url)))
        }
        CallError::CannotConnect(what) if what.contains("does not accept the credentials") => {
            Failure::new(Exit::Unreachable, what.to_string()).advise("check the token")
        }
        CallError::Unsupported(what) => {
            let failure = Failure::new(Exit::Protocol, what.to_string());
            let other = "use `switchboard call` for a server of plain JSON-RPC";
            failure.advise(match bare(&target.url) {
                Some(url) => {
                    format!("its MCP endpoint may be {}; {other}", quoted(&format!("{url}/mcp")))
                }
                None => other.to_owned(),
            })
        }
        CallError::Protocol(what) if what.contains("too long") => {
            Failure::new(Exit::Protocol, what.to_string()).advise("allow longer answers with `--max-answer`")
        }
        error => target.explain(error),
    }
}

/// A URL of HTTP without a path.
fn bare(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"))?.trim_end_matches('/');
    (!rest.contains('/')).then(|| url.trim_end_matches('/'))
}

fn root(folder: &PathBuf) -> Result<Root, Failure> {
    let path = std::fs::canonicalize(folder)
        .map_err(|error| Failure::usage(format!("cannot use {}: {error}", folder.display())))?;
    let escaped: String = path.to_string_lossy().bytes().map(escape).collect();
    let mut root = Root::new(format!("file://{escaped}"));
    root.name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok(root)
}

fn escape(byte: u8) -> String {
    match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => char::from(byte).into(),
        byte => format!("%{byte:02X}"),
    }
}

/// A log message of the server.
fn show(message: &LogParams) {
    let text = message.data.decode::<String>().unwrap_or_else(|_| Json::to_string(&message.data));
    let logger = message.logger.as_ref().map(|logger| format!("{}: ", visible(logger)));
    let level = message.level.as_str();
    output::note(&format!("[{level}] {}{}\n", logger.unwrap_or_default(), visible(&text)));
}

/// A login in the browser, if a user is at the terminal.
pub(super) fn login() -> Login {
    match terminal::is_there() {
        true => Login::user(browser()),
        false => Login::user(Nobody),
    }
}

/// The credentials for a server over HTTP: this login, unless the command line has a token. Its tokens are kept for the next command.
pub(crate) fn credentials(target: &Target, login: Login) -> Result<Option<Arc<dyn Credentials>>, Failure> {
    if !target.is_http() || target.headers()?.contains_key(AUTHORIZATION) {
        return Ok(None);
    }
    let mut options = HttpClientOptions::default();
    if target.url.starts_with("https:") {
        options.tls = Some(target.tls()?);
    }
    Ok(Some(Arc::new(kept(login.named(NAME).http(options)))))
}

/// Opens the login page, and says where it is.
pub(super) fn browser() -> Browser {
    Browser::default().announcing(|url| output::note(&format!("Log in at {}\n", visible(url))))
}

/// A login whose tokens are kept for the next command.
pub(super) fn kept(login: Login) -> Login {
    match tokens() {
        Some(file) => login.kept_in(file),
        None => login.kept_in(MemoryTokens::default()),
    }
}

/// The tokens of the user: `$XDG_CONFIG_HOME/switchboard/tokens.json`, where the variable stands for `~/.config` if it is not set.
pub(super) fn tokens() -> Option<TokenFile> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || Some(variable("HOME")?.join(".config"));
    let folder = variable("XDG_CONFIG_HOME").or_else(home).or_else(|| variable("APPDATA"))?;
    Some(TokenFile::new(folder.join("switchboard").join("tokens.json")))
}

/// Why there is no login without a terminal.
const NO_TERMINAL: &str = "there is no terminal to ask on";

/// Cannot be asked to log in.
#[derive(Debug)]
struct Nobody;

impl UserAgent for Nobody {
    fn begin<'a>(&'a self, _: Option<&'a str>) -> UserFuture<'a, Box<dyn Visit>> {
        Box::pin(async { Err(AuthError::Unfinished(NO_TERMINAL.to_owned())) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_without_a_path_may_have_an_endpoint() {
        assert_eq!(bare("http://127.0.0.1:8000/"), Some("http://127.0.0.1:8000"));
        assert_eq!(bare("http://127.0.0.1:8000/mcp"), None);
        assert_eq!(bare("exec:server"), None);
    }

    #[test]
    fn a_folder_is_a_file_url() {
        let root = root(&std::env::temp_dir()).unwrap();
        assert!(root.uri.starts_with("file:///"), "{}", root.uri);
        assert_eq!(escape(b' ') + &escape(b'a'), "%20a");
    }
}
