//! The browser of this machine, and the small server that the user is sent back to (RFC 8252).

use std::fmt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::error::AuthError;
use super::user::{UserAgent, UserFuture, Visit};
use super::web::param;

/// The path that the user is sent back to.
const PATH: &str = "/callback";

/// How long a request of the browser may take, and how long its head may be.
const REQUEST: Duration = Duration::from_secs(5);
const HEAD: usize = 16 << 10;

/// Opens the browser of this machine, and waits for the user on a loopback address.
///
/// # Examples
///
/// ```
/// use switchboard_mcp::auth::Browser;
///
/// let browser = Browser::default().announcing(|url| eprintln!("Log in at {url}"));
/// ```
#[derive(Clone)]
pub struct Browser {
    time: Duration,
    opens: bool,
    announce: Option<Arc<Announce>>,
}

type Announce = dyn Fn(&str) + Send + Sync;

impl Default for Browser {
    fn default() -> Browser {
        Browser { time: Duration::from_secs(300), opens: true, announce: None }
    }
}

impl Browser {
    /// Calls this function with the URL before the browser opens, for users whose browser is elsewhere.
    #[must_use]
    pub fn announcing(mut self, announce: impl Fn(&str) + Send + Sync + 'static) -> Browser {
        self.announce = Some(Arc::new(announce));
        self
    }

    /// Only announces the URL, and opens nothing.
    #[must_use]
    pub fn without_opening(mut self) -> Browser {
        self.opens = false;
        self
    }

    /// Sets how long the user may take: 5 minutes by default.
    #[must_use]
    pub fn time(mut self, time: Duration) -> Browser {
        self.time = time;
        self
    }
}

impl fmt::Debug for Browser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Browser")
            .field("time", &self.time)
            .field("opens", &self.opens)
            .finish_non_exhaustive()
    }
}

impl UserAgent for Browser {
    fn begin<'a>(&'a self, known: Option<&'a str>) -> UserFuture<'a, Box<dyn Visit>> {
        Box::pin(async move {
            // Not all authorization servers accept any port, so the one that they know is used again if it is free.
            let known =
                known.and_then(|uri| uri.strip_prefix("http://127.0.0.1:")?.strip_suffix(PATH)?.parse().ok());
            let listener = match TcpListener::bind(("127.0.0.1", known.unwrap_or(0))).await {
                Err(_) if known.is_some() => TcpListener::bind(("127.0.0.1", 0)).await,
                bound => bound,
            };
            let bound = listener.and_then(|listener| Ok((listener.local_addr()?, listener)));
            let (address, listener) = bound.map_err(|error| {
                AuthError::Unfinished(format!("cannot listen on 127.0.0.1 for the browser: {error}"))
            })?;
            let redirect_uri = format!("http://{address}{PATH}");
            Ok(Box::new(Waiting { browser: self.clone(), listener, redirect_uri }) as Box<dyn Visit>)
        })
    }
}

struct Waiting {
    browser: Browser,
    listener: TcpListener,
    redirect_uri: String,
}

impl Visit for Waiting {
    fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    fn visit(self: Box<Self>, url: String, state: String) -> UserFuture<'static, String> {
        Box::pin(async move {
            if let Some(announce) = &self.browser.announce {
                announce(&url);
            }
            if self.browser.opens {
                open(&url);
            }
            let answer = tokio::time::timeout(self.browser.time, wait(&self.listener, &state)).await;
            answer
                .unwrap_or_else(|_| Err(AuthError::Unfinished("the user did not log in in time".to_owned())))
        })
    }
}

/// Waits until the browser brings the answer to this login.
async fn wait(listener: &TcpListener, state: &str) -> Result<String, AuthError> {
    loop {
        let accepted = listener.accept().await;
        let (mut stream, _) = accepted.map_err(|error| AuthError::Unfinished(error.to_string()))?;
        let query = tokio::time::timeout(REQUEST, query(&mut stream)).await.ok().flatten();
        let found = query.filter(|query| param(query, "state").as_deref() == Some(state));
        let (status, text) = match &found {
            Some(query) if param(query, "code").is_some() => {
                ("200 OK", "You are logged in. You can close this page.")
            }
            Some(_) => ("200 OK", "The login did not succeed. You can close this page."),
            // Whatever else asks: an icon, or another program.
            None => ("404 Not Found", "There is nothing here."),
        };
        drop(tokio::time::timeout(REQUEST, answer(&mut stream, status, text)).await);
        if let Some(query) = found {
            return Ok(query);
        }
    }
}

/// The query of a request for our path.
async fn query(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read_buf(&mut head).await.ok()?;
        if read == 0 || head.len() > HEAD {
            return None;
        }
    }
    let head = String::from_utf8(head).ok()?;
    let target = head.strip_prefix("GET ")?.split(' ').next()?;
    let (path, query) = target.split_once('?')?;
    (path == PATH).then(|| query.to_owned())
}

async fn answer(stream: &mut TcpStream, status: &str, text: &str) -> std::io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\ncache-control: no-store\r\n\
         content-security-policy: default-src 'none'\r\nreferrer-policy: no-referrer\r\nconnection: close\r\n\r\n{text}",
        text.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.shutdown().await
}

/// Opens a page, with a program that gets the URL as its only argument: no shell reads it. The URL has been checked to be one of the web.
fn open(url: &str) {
    let (program, arguments): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("rundll32", &["url.dll,FileProtocolHandler"]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    command.args(arguments).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        // It ends soon; what it started goes on.
        Ok(mut child) => drop(std::thread::spawn(move || child.wait())),
        Err(error) => tracing::info!(%error, program, "the browser cannot be opened"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn get(uri: &str, target: &str) -> String {
        let address = uri.strip_prefix("http://").unwrap().strip_suffix(PATH).unwrap().to_owned();
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(format!("GET {target} HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        text
    }

    // MCP-A-28
    #[tokio::test]
    async fn only_the_answer_to_the_login_ends_it() {
        let browser = Browser::default().without_opening();
        let visit = browser.begin(None).await.unwrap();
        let uri = visit.redirect_uri().to_owned();
        assert!(uri.starts_with("http://127.0.0.1:"));
        let login = tokio::spawn(visit.visit("https://auth.example/".to_owned(), "right".to_owned()));
        for target in
            ["/favicon.ico", "/callback", "/callback?code=evil&state=wrong", "/other?code=c&state=right"]
        {
            assert!(get(&uri, target).await.starts_with("HTTP/1.1 404"), "{target}");
        }
        assert!(get(&uri, "/callback?code=c&state=right").await.contains("You are logged in"));
        assert_eq!(login.await.unwrap().unwrap(), "code=c&state=right");
    }

    #[tokio::test]
    async fn a_redirect_uri_that_is_known_is_used_again_if_it_is_free() {
        let browser = Browser::default().without_opening();
        let first = browser.begin(None).await.unwrap();
        let uri = first.redirect_uri().to_owned();
        assert_ne!(browser.begin(Some(&uri)).await.unwrap().redirect_uri(), uri, "the port is in use");
        drop(first);
        assert_eq!(browser.begin(Some(&uri)).await.unwrap().redirect_uri(), uri);
    }

    #[tokio::test(start_paused = true)]
    async fn a_user_who_does_not_come_back_ends_the_login_too() {
        let browser = Browser::default().without_opening().time(Duration::from_secs(60));
        let visit = browser.begin(None).await.unwrap();
        let ended = visit.visit("https://auth.example/".to_owned(), "s".to_owned()).await;
        assert!(ended.unwrap_err().to_string().contains("in time"));
    }
}
