//! One message per line, over the standard streams of a program.

use tokio::time::{Instant, timeout_at};

use super::in_era;
use crate::check::bench::Bench;
use crate::check::case::{Case, Need, script};
use crate::check::era::{Era, Handshake, INITIALIZED, NEWEST, initialize};
use crate::check::message::Message;
use crate::check::outcome::shortened;
use crate::check::wire::{Noise, Received};

/// The cases.
pub(in crate::check::cases) fn cases() -> Vec<Case> {
    let all = vec![
        script(
            "mcp-only-messages",
            "every line of the output is one message",
            &["MCP-S-01", "MCP-S-02"],
            ("initialize and ping on a new connection", "lines that are JSON-RPC messages"),
            |bench| Box::pin(only_messages(bench)),
        ),
        script(
            "mcp-end-of-input",
            "the server ends when its input ends",
            &["MCP-S-04", "MCP-L-10"],
            ("initialize on a new connection, then the end of the input", "the end of the output"),
            |bench| Box::pin(ends(bench)),
        )
        .should(),
    ];
    all.into_iter().map(|case| in_era(Era::Sessions, case.needs_first(Need::Framing("lines")))).collect()
}

async fn only_messages(bench: &mut Bench) -> Result<String, String> {
    let mut line = bench.open_bare().await?;
    let opening = initialize(NEWEST);
    for message in [&opening, INITIALIZED, r#"{"jsonrpc":"2.0","id":"last","method":"ping"}"#] {
        line.send(message.as_bytes()).await.map_err(|error| error.to_string())?;
    }
    let deadline = Instant::now() + bench.patience();
    let mut count = 0;
    while let Ok(Received::Message(text)) = timeout_at(deadline, line.receive()).await {
        let (message, flaw) = Message::read(&text);
        let is_message = matches!(&message, Message::One(it) if it.value.get("jsonrpc").is_some());
        if flaw.is_some() || !is_message {
            return Err(format!("a line that is not a message: {}", shortened(&message.text(), 200)));
        }
        count += 1;
        if message.responses().iter().any(|response| response.has_id("\"last\"")) {
            // Other cases may have seen a line that is not a message, too.
            let noise = bench.endpoint.noise.as_ref().and_then(Noise::first);
            return match noise {
                Some(line) => Err(format!("a line that is not a message: {}", shortened(&line, 200))),
                None => Ok(format!("{count} lines, each a message")),
            };
        }
    }
    Err(format!("{count} lines, but no answer to ping"))
}

async fn ends(bench: &mut Bench) -> Result<String, String> {
    let mut shaken = Handshake::new(bench, NEWEST).await;
    shaken.result()?;
    shaken.notify(bench, INITIALIZED).await;
    let deadline = Instant::now() + bench.timeout;
    let Some(line) = shaken.line() else { return Err("the connection is closed".to_owned()) };
    line.finish().await.map_err(|error| error.to_string())?;
    while let Ok(received) = timeout_at(deadline, line.receive()).await {
        if let Received::Closed(_) = received {
            return Ok("the server ended".to_owned());
        }
    }
    Err(format!("the server still runs {:?} after the end of its input", bench.timeout))
}
