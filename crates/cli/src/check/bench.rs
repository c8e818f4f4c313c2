//! The bench that cases run on: it sends one case at a time and collects the answer.
//!
//! On connections that stay open, a valid call follows every case. Its answer shows that the case gets no further answer, so that
//! silence is detected without a long wait, and that the server still answers.

use std::time::Duration;

use http::HeaderMap;
use serde_json::value::RawValue;
use switchboard::framing::Framing;
use tokio::time::{Instant, timeout, timeout_at};

use super::era::{self, Era, Side};
use super::found::{Found, UNKNOWN, members};
use super::message::Message;
use super::outcome::{Came, End};
use super::profile::Profile;
use super::wire::{Carrier, Endpoint, Line, Received, Request, http as wire};
use crate::responses::Head;

/// How much later than the answer to the valid call an answer may come.
const LATE: Duration = Duration::from_millis(300);
/// How many cases may go unanswered before the waits become shorter.
const USED_TO: u32 = 4;
/// How long to wait for a server that has gone silent that often.
const BRIEF: Duration = Duration::from_secs(1);
/// How long to listen for answers that should not come.
const QUIET: Duration = Duration::from_millis(20);
/// How long a program may take to start.
const STARTING: Duration = Duration::from_secs(10);
/// How much later than the first a second answer may come.
const AGAIN: Duration = Duration::from_millis(2);

/// The bench.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) endpoint: Endpoint,
    pub(crate) profile: Profile,
    pub(crate) found: Found,
    /// How long an answer may take.
    pub(crate) timeout: Duration,
    /// The size of the largest message to send.
    pub(crate) max_bytes: usize,
    /// The era of the Model Context Protocol that is spoken.
    era: Era,
    line: Option<Line>,
    /// The connection and the headers of the other era.
    aside: (Option<Line>, HeaderMap),
    /// The identifier of the last valid call.
    last: u32,
    /// Cases without any answer, not even to the valid call.
    silences: u32,
    /// Cases without an answer, although the valid call was answered.
    vain: u32,
}

impl Bench {
    pub(crate) fn new(endpoint: Endpoint, profile: Profile, timeout: Duration, max_bytes: usize) -> Bench {
        let found = Found::default();
        let aside = (None, endpoint.headers.clone());
        Bench {
            endpoint,
            profile,
            found,
            timeout,
            max_bytes,
            era: Era::default(),
            line: None,
            aside,
            last: 7_000_000,
            silences: 0,
            vain: 0,
        }
    }

    pub(crate) fn carrier(&self) -> Carrier {
        self.endpoint.carrier()
    }

    /// Speaks in this era from now on; in the usual one if it does not matter.
    pub(crate) fn speak(&mut self, era: Option<Era>) {
        let era = era.unwrap_or_else(|| self.found.mcp.usual());
        if self.era != era {
            self.era = era;
            std::mem::swap(&mut self.line, &mut self.aside.0);
            std::mem::swap(&mut self.endpoint.headers, &mut self.aside.1);
        }
    }

    /// What a server of the Model Context Protocol offers in the era that is spoken.
    pub(crate) fn side(&self) -> Option<&Side> {
        self.found.mcp.side(self.era)
    }

    fn is_stateless(&self) -> bool {
        self.era == Era::Stateless
    }

    /// Whether valid calls are made in 1.0.
    pub(crate) fn is_old(&self) -> bool {
        self.profile == Profile::V1
    }

    /// A call that the server answers, with a result if such a call is known.
    pub(crate) fn good(&self, id: impl std::fmt::Display) -> String {
        if self.is_stateless() {
            let meta = era::META;
            return format!(
                r#"{{"jsonrpc":"2.0","method":"server/discover","params":{{{meta}}},"id":{id}}}"#
            );
        }
        let good = self.found.good.as_ref();
        // Some language servers do not answer calls without parameters.
        let none = (UNKNOWN, (self.profile == Profile::Lsp).then_some("{}"));
        let (method, params) = good.map_or(none, |(method, params)| (method.as_str(), params.as_deref()));
        if self.is_old() {
            let members = members((method, Some(params.unwrap_or("[]"))));
            return format!("{{{members},\"id\":{id}}}");
        }
        format!("{{\"jsonrpc\":\"2.0\",{},\"id\":{id}}}", members((method, params)))
    }

    /// A message with its names filled in.
    pub(crate) fn fill(&self, template: &[u8]) -> Vec<u8> {
        let inner = |name: &str| serde_json::to_string(name).unwrap_or_default().trim_matches('"').to_owned();
        let good = self.found.good.clone().unwrap_or_else(|| (UNKNOWN.to_owned(), None));
        let mut names = vec![
            ("good", members((&good.0, good.1.as_deref()))),
            ("name", inner(&good.0)),
            ("swap", inner(&swapped(&good.0))),
            ("none", UNKNOWN.to_owned()),
            ("echo", inner(self.found.echo.as_deref().unwrap_or("echo"))),
            ("meta", if self.is_stateless() { era::META.to_owned() } else { r#""_meta":{}"#.to_owned() }),
        ];
        let samples = self.side().into_iter().flat_map(|side| &side.samples);
        names.extend(samples.map(|(name, value)| (*name, inner(value))));
        let changed = match self.profile {
            _ if self.profile.is_by_name() => by_name(template),
            // Where a length comes first, the message has to keep its length.
            Profile::V1 if self.has_no_lengths() => in_version_1(template),
            _ => None,
        };
        let mut rest = changed.as_deref().unwrap_or(template);
        let mut filled = Vec::with_capacity(rest.len());
        while let Some(at) = rest.iter().position(|byte| *byte == b'@') {
            filled.extend_from_slice(&rest[..at]);
            rest = &rest[at..];
            let found = names.iter().find(|(name, _)| rest[1..].starts_with(name.as_bytes()));
            let length = found.map_or(1, |(name, text)| {
                filled.extend_from_slice(text.as_bytes());
                1 + name.len()
            });
            if found.is_none() {
                filled.push(b'@');
            }
            rest = &rest[length..];
        }
        filled.extend_from_slice(rest);
        filled
    }

    /// Whether messages are sent without their length.
    fn has_no_lengths(&self) -> bool {
        matches!(self.carrier(), Carrier::Stream(Framing::Lines | Framing::JsonStream))
    }

    /// Sends one message and collects the answer, waiting for this many messages.
    pub(crate) async fn ask(&mut self, message: &[u8], expected: usize) -> Came {
        if self.carrier() == Carrier::Http {
            let lines = if self.is_stateless() { era::routing(message) } else { String::new() };
            return self.request(&Request::post(message).with_lines(lines)).await;
        }
        let mut line = match self.line.take() {
            Some(line) => line,
            None => match self.open().await {
                Ok(line) => line,
                Err(why) => return Came { end: End::Unsent(why), ..Came::default() },
            },
        };
        let bytes = line.framed(message);
        let came = self.ask_on(&mut line, &bytes, expected).await;
        if came.end == End::Open {
            self.line = Some(line);
        }
        came
    }

    /// Sends bytes on a new connection and collects the answer.
    pub(crate) async fn ask_bytes(&mut self, bytes: &[u8], expected: usize) -> Came {
        match self.open().await {
            Ok(mut line) => self.ask_on(&mut line, bytes, expected).await,
            Err(why) => Came { end: End::Unsent(why), ..Came::default() },
        }
    }

    /// Sends bytes and then a valid call, and collects answers until that call is answered.
    pub(crate) async fn ask_on(&mut self, line: &mut Line, bytes: &[u8], expected: usize) -> Came {
        self.last += 1;
        let id = self.last.to_string();
        let good = line.framed(self.good(&id).as_bytes());
        let time = if line.is_heard() || self.silences >= USED_TO { self.time() } else { self.patience() };
        let deadline = Instant::now() + time;
        // Writing must not wait for reading, so each part is small or the server reads it.
        let sent = timeout_at(deadline, async {
            line.send_raw(bytes).await?;
            line.send_raw(&good).await
        });
        // Answers from before a connection broke can still be read.
        let _ = sent.await;
        let late = if self.vain < USED_TO { LATE } else { LATE / 3 };
        let came = collect_within(line, &id, expected, deadline, late).await;
        self.silences += u32::from(came.end == End::Silent);
        self.vain += u32::from(came.end == End::Open && came.messages.len() < expected);
        came
    }

    /// How long a case may take: less if the server has often been silent.
    fn time(&self) -> Duration {
        if self.silences < USED_TO { self.timeout } else { self.timeout.min(BRIEF) }
    }

    /// Sends an HTTP request and collects the answer.
    pub(crate) async fn request(&mut self, request: &Request) -> Came {
        let response = timeout(self.time(), wire::exchange(&self.endpoint, request)).await;
        match response {
            Err(_) => {
                self.silences += 1;
                Came { end: End::Silent, ..Came::default() }
            }
            Ok(Err(why)) if why.contains("closed without a response") => {
                Came { end: End::Closed, ..Came::default() }
            }
            Ok(Err(why)) => Came { end: End::Unsent(why), ..Came::default() },
            Ok(Ok((head, body))) => {
                let mut came = messages(&head, &body);
                came.head = Some(head);
                came
            }
        }
    }

    /// Closes the connection that cases share.
    pub(crate) fn hang_up(&mut self) {
        self.line = None;
    }

    /// Opens a connection.
    pub(crate) async fn open_bare(&self) -> Result<Line, String> {
        let opened = timeout(self.timeout, Line::open(&self.endpoint)).await;
        opened.map_err(|_| "no connection in time".to_owned())?
    }

    /// Opens a connection, and initializes it if the profile requires that.
    pub(crate) async fn open(&mut self) -> Result<Line, String> {
        let mut line = self.open_bare().await?;
        let introduction = if self.is_stateless() { Vec::new() } else { introduction(self.profile) };
        for (message, expected) in introduction {
            let bytes = line.framed(message.as_bytes());
            let deadline = Instant::now() + self.patience();
            if line.send_raw(&bytes).await.is_ok() && expected {
                let _ = timeout_at(deadline, line.receive()).await;
            }
        }
        Ok(line)
    }

    /// How long the first answer on a connection may take: longer for a program that has to start.
    pub(crate) fn patience(&self) -> Duration {
        if self.endpoint.is_shared() { self.timeout } else { self.timeout.max(STARTING) }
    }

    /// Initializes a session over HTTP if the profile requires that, and keeps its identifier.
    pub(crate) async fn introduce(&mut self) {
        if self.carrier() != Carrier::Http || self.is_stateless() {
            return;
        }
        self.endpoint.takes_events = self.profile == Profile::Mcp;
        // A new session is requested without an identifier.
        if self.profile == Profile::Mcp {
            era::SESSION.iter().for_each(|name| drop(self.endpoint.headers.remove(*name)));
        }
        for (message, _) in introduction(self.profile) {
            let came = self.request(&Request::post(message)).await;
            let session = came.head.as_ref().and_then(|head| head.header("mcp-session-id"));
            let version = era::only_result(&came).and_then(|result| result["protocolVersion"].as_str());
            // Older revisions do not have the header.
            let version = version.filter(|version| *version >= "2025-06-18");
            for (name, value) in era::SESSION.iter().zip([session, version]) {
                if let Some(Ok(value)) = value.map(str::parse) {
                    self.endpoint.headers.insert(*name, value);
                }
            }
        }
    }

    /// How a program that was started has failed meanwhile, if it did.
    pub(crate) fn death(&mut self) -> Option<String> {
        if let Some(line) = &mut self.line {
            line.look();
        }
        self.endpoint.deaths.take()
    }

    /// Whether the call given on the command line succeeds.
    pub(crate) async fn succeeds(&mut self) -> bool {
        let good = self.good(1);
        let came = self.ask(good.as_bytes(), 1).await;
        matches!(came.messages.as_slice(), [Message::One(response)] if !response.is_error())
    }

    /// Whether a valid call on a new connection is answered as this server usually does.
    pub(crate) async fn is_well(&mut self) -> Result<(), String> {
        let came = self.greet().await;
        if self.found.manner.is_answer(&came) {
            Ok(())
        } else {
            Err(format!("the answer to a valid call was {came}"))
        }
    }

    /// Makes a valid call on a new connection.
    pub(crate) async fn greet(&mut self) -> Came {
        self.line = None;
        let good = self.good(1);
        let patience = self.patience();
        let usual = std::mem::replace(&mut self.timeout, patience);
        let silences = std::mem::take(&mut self.silences);
        let came = self.ask(good.as_bytes(), 1).await;
        (self.timeout, self.silences) = (usual, silences);
        came
    }
}

/// The name with upper and lower case swapped.
fn swapped(name: &str) -> String {
    let swap = |c: char| if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
    name.chars().map(swap).collect()
}

/// The message with its positional parameters as one named parameter. Text that is not JSON stays as it is, and so do calls of
/// methods that take positional parameters.
fn by_name(template: &[u8]) -> Option<Vec<u8>> {
    const MARK: &[u8] = b"\"params\":[";
    let find = |what: &[u8]| template.windows(what.len()).position(|part| part == what);
    // In 1.0 all parameters are positional.
    if find(b"@echo").or_else(|| find(b"\"subtract\"")).is_some() || find(b"\"jsonrpc\"").is_none() {
        return None;
    }
    let (before, list) = template.split_at(find(MARK)? + MARK.len() - 1);
    let mut texts = serde_json::Deserializer::from_slice(list).into_iter::<&RawValue>();
    texts.next()?.ok()?;
    let (list, after) = list.split_at(texts.byte_offset());
    Some([before, b"{\"list\":", list, b"}", after].concat())
}

/// The call in 1.0, which has no version and always has parameters.
fn in_version_1(template: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(template).ok()?;
    Some(text.replace("\"jsonrpc\":\"2.0\",", "\"params\":[],").into_bytes())
}

/// Reads until the valid call is answered, and a little longer.
pub(crate) async fn collect(line: &mut Line, good: &str, expected: usize, deadline: Instant) -> Came {
    collect_within(line, good, expected, deadline, LATE).await
}

async fn collect_within(
    line: &mut Line,
    good: &str,
    expected: usize,
    deadline: Instant,
    late: Duration,
) -> Came {
    let mut came = Came::default();
    let mut until = deadline;
    let mut is_answered = false;
    loop {
        match timeout_at(until, line.receive()).await {
            Ok(Received::Message(message)) => {
                let (read, flaw) = Message::read(&message);
                if !is_answered && answers(&read, good) {
                    is_answered = true;
                    came.note_flaw(flaw, &message);
                } else if !read.is_call() {
                    came.take_read(read, flaw, &message);
                }
            }
            Ok(Received::Pong) => {}
            Ok(Received::Closed(_)) => {
                came.end = End::Closed;
                return came;
            }
            Err(_) => {
                came.end = if is_answered { End::Open } else { End::Silent };
                return came;
            }
        }
        if is_answered {
            let more = match expected {
                0 => QUIET,
                _ if came.messages.len() < expected => late,
                _ => AGAIN,
            };
            until = deadline.min(Instant::now() + more);
        }
    }
}

/// Whether this is the answer to the valid call, even if it is not quite correct: only cases about identifiers and responses
/// should notice that.
fn answers(message: &Message, good: &str) -> bool {
    match message {
        Message::One(response) => response.has_id(good) || response.has_id(&format!("\"{good}\"")),
        // No other message has such a number.
        Message::Garbage(text) => good.len() > 5 && text.contains(good),
        Message::Many(_) => false,
    }
}

/// The messages that servers of this kind expect first, and whether they are answered.
fn introduction(profile: Profile) -> Vec<(String, bool)> {
    match profile {
        Profile::Lsp => vec![
            (
                r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{}}}"#.to_owned(),
                true,
            ),
            (r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#.to_owned(), false),
        ],
        Profile::Mcp => vec![(era::initialize(era::NEWEST), true), (era::INITIALIZED.to_owned(), false)],
        _ => Vec::new(),
    }
}

/// The messages in the body of a response.
fn messages(head: &Head, body: &[u8]) -> Came {
    let mut came = Came::default();
    if head.is_stream {
        let text = String::from_utf8_lossy(body).into_owned();
        let data = text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
        // An event without data only gives the client an identifier to resume from.
        data.filter(|data| !data.is_empty()).for_each(|data| came.take(data.as_bytes()));
    } else if !body.trim_ascii().is_empty() {
        let (message, flaw) = Message::read(body);
        came.take_read(message, flaw, body);
    }
    // An error page, or the end of an event stream, need not be JSON.
    if !head.header("content-type").is_some_and(|value| value.to_lowercase().contains("json")) {
        came.flaw = None;
    }
    came
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_named_for_profiles_that_require_it() {
        let check = |text: &str, expected: Option<&str>| {
            let named = by_name(text.as_bytes()).map(|text| String::from_utf8(text).unwrap());
            assert_eq!(named.as_deref(), expected, "{text}");
        };
        check(
            r#"{"jsonrpc":"2.0","params":[1,"]"],"id":1}"#,
            Some(r#"{"jsonrpc":"2.0","params":{"list":[1,"]"]},"id":1}"#),
        );
        check(r#"{"jsonrpc":"2.0","params":{},"id":1}"#, None);
        check(r#"{"jsonrpc":"2.0","params":[1,"id":1}"#, None);
        check(r#"{"jsonrpc":"2.0","method":"@echo","params":[1]}"#, None);
        check(r#"{"method":"@none","params":[1]}"#, None);
    }
}
