//! What a server says when it starts: where it listens, what it serves, and how to try it.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use switchboard::MethodDescription;

use crate::address;

const HEAD: Style = Style::new().bold();
const URL: Style = AnsiColor::Cyan.on_default().underline();
const METHOD: Style = AnsiColor::Green.on_default();
const FAINT: Style = Style::new().dimmed();

/// The whole text.
pub(crate) fn banner(urls: &[String], methods: &[MethodDescription]) -> String {
    let mut text = format!("{HEAD}switchboard {}{HEAD:#}\n", env!("CARGO_PKG_VERSION"));
    for url in urls {
        line(&mut text, format_args!("Listening on {URL}{url}{URL:#}"));
    }
    line(&mut text, format_args!("\n{HEAD}Methods{HEAD:#}"));
    let signatures: Vec<String> = methods.iter().map(signature).collect();
    let width = signatures.iter().map(|signature| signature.chars().count()).max().unwrap_or(0);
    for (method, signature) in methods.iter().zip(&signatures) {
        line(&mut text, format_args!("  {METHOD}{signature:width$}{METHOD:#}  {}", method.summary));
    }
    if let Some(first) = urls.iter().find(|url| *url != "stdio") {
        let url = address::reachable(first);
        let example = r#"{"jsonrpc": "2.0", "id": 1, "method": "math/add", "params": [2, 3]}"#;
        line(&mut text, format_args!("\n{HEAD}Try it{HEAD:#}"));
        if url.starts_with("http:") {
            line(&mut text, format_args!("  curl {url} -H 'content-type: application/json' -d '{example}'"));
        }
        let quote = if url.contains('?') { "'" } else { "" };
        line(&mut text, format_args!("  switchboard call {quote}{url}{quote} math/add a=2 b=3"));
        if let Some((scheme, place)) = web(&url) {
            // The same port speaks these too.
            line(&mut text, format_args!("  curl -N '{scheme}://{place}/rpc/stream?method=ticks&count=3'"));
            let socket = scheme.replace("http", "ws");
            line(&mut text, format_args!("  switchboard call {socket}://{place}/rpc/ws ticks count=3"));
        }
    }
    line(&mut text, format_args!("\n{FAINT}Ctrl-C stops it.{FAINT:#}"));
    text
}

/// The scheme of HTTP and the place of a URL whose port speaks it.
fn web(url: &str) -> Option<(&'static str, &str)> {
    let (scheme, place) = url.split_once("://")?;
    match scheme {
        "http" | "ws" => Some(("http", place)),
        "https" | "wss" => Some(("https", place)),
        _ => None,
    }
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // A String takes all that is written to it.
    let _ = writeln!(text, "{line}");
}

/// A method with the names of its parameters: `math/add(a, b)`.
fn signature(method: &MethodDescription) -> String {
    let params = method.params.as_deref().unwrap_or_default();
    let names: Vec<String> = params
        .iter()
        .map(|param| if param.is_variadic { format!("{}…", param.name) } else { param.name.clone() })
        .collect();
    format!("{}({})", method.name, names.join(", "))
}
