//! The banner of a server: where it listens, its methods, and how to try it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use switchboard::MethodDescription;

use crate::config::Mcp;
use crate::shell::quoted;
use crate::visible::visible;
use crate::{address, agents, tools};

const HEAD: Style = Style::new().bold();
const URL: Style = AnsiColor::Cyan.on_default().underline();
const METHOD: Style = AnsiColor::Green.on_default();
const FAINT: Style = Style::new().dimmed();

/// What is shown.
pub(crate) struct Banner<'a> {
    /// Where the server listens.
    pub(crate) urls: &'a [String],
    /// Where its admin listener does.
    pub(crate) admin: &'a [String],
    pub(crate) methods: &'a [MethodDescription],
    /// Which listeners speak MCP, and which methods are tools there.
    pub(crate) mcp: Mcp,
    pub(crate) tools: &'a BTreeSet<String>,
    /// Whether there is an agent.
    pub(crate) has_agent: bool,
    /// Whether there is a page to try methods in.
    pub(crate) has_page: bool,
    /// The servers that calls are forwarded to; empty if there are none.
    pub(crate) upstreams: &'a str,
    /// The line about the configuration; empty without a file.
    pub(crate) config: &'a str,
}

/// The whole text.
pub(crate) fn banner(shown: &Banner<'_>) -> String {
    let Banner { urls, admin, methods, has_page, .. } = *shown;
    let mut text = format!("{HEAD}switchboard {}{HEAD:#}\n", env!("CARGO_PKG_VERSION"));
    for url in urls {
        line(&mut text, format_args!("Listening on {URL}{url}{URL:#}"));
    }
    for url in admin {
        line(&mut text, format_args!("Admin on {URL}{url}{URL:#}"));
    }
    let mcp_places = shown.mcp_places();
    for place in &mcp_places {
        line(&mut text, format_args!("MCP on {URL}{place}{URL:#} with {} tools", shown.tools.len()));
    }
    for place in shown.agent_places() {
        line(&mut text, format_args!("A2A on {URL}{place}{URL:#}"));
    }
    text.push_str(shown.config);
    text.push_str(shown.upstreams);
    if !methods.is_empty() {
        line(&mut text, format_args!("\n{HEAD}Methods{HEAD:#}"));
    }
    let width = methods.iter().map(|method| signature(method).chars().count()).max().unwrap_or(0);
    for (heading, group) in groups(methods) {
        line(&mut text, format_args!("  {HEAD}{heading}{HEAD:#}"));
        for method in group {
            // Other servers may have written them.
            let (signature, summary) = (visible(&signature(method)), visible(&method.summary));
            let is_kept_out = !mcp_places.is_empty() && tools::is_kept_out(method, shown.tools);
            let mark = if is_kept_out { format!("  {FAINT}not a tool{FAINT:#}") } else { String::new() };
            line(&mut text, format_args!("    {METHOD}{signature:width$}{METHOD:#}  {summary}{mark}"));
        }
    }
    if let Some(first) = urls.iter().find(|url| *url != "stdio") {
        let url = address::reachable(first);
        line(&mut text, format_args!("\n{HEAD}Try it{HEAD:#}"));
        if let Some((scheme, place)) = web(&url).filter(|_| has_page) {
            line(&mut text, format_args!("  {URL}{scheme}://{place}/{URL:#} in a browser"));
        }
        match methods.iter().any(|method| method.name == "math/add") {
            true => examples(&mut text, &url),
            false => {
                line(&mut text, format_args!("  switchboard discover {}", quoted(&url)));
                line(&mut text, format_args!("  switchboard call {} {}", quoted(&url), example(methods)));
            }
        }
        if let Some(place) = shown.mcp_places().iter().find(|place| *place != "stdio") {
            line(&mut text, format_args!("  switchboard inspect {}", quoted(place)));
        }
    }
    if urls.iter().any(|url| ["https:", "wss:", "tls:"].iter().any(|secure| url.starts_with(secure))) {
        let hint = "add `--cacert FILE` if this machine does not trust the issuer of the certificate";
        line(&mut text, format_args!("  {FAINT}{hint}{FAINT:#}"));
    }
    line(&mut text, format_args!("\n{FAINT}Press Ctrl-C to stop.{FAINT:#}"));
    text
}

/// Commands that call the demo methods.
fn examples(text: &mut String, url: &str) {
    let example = r#"{"jsonrpc": "2.0", "id": 1, "method": "math/add", "params": [2, 3]}"#;
    if url.starts_with("http:") {
        line(text, format_args!("  curl {url} -H 'content-type: application/json' -d '{example}'"));
    }
    line(text, format_args!("  switchboard call {} math/add a=2 b=3", quoted(url)));
    if let Some((scheme, place)) = web(url) {
        // These are served at the same port.
        line(text, format_args!("  curl -N '{scheme}://{place}/rpc/stream?method=ticks&count=3'"));
        let socket = scheme.replace("http", "ws");
        line(text, format_args!("  switchboard call {socket}://{place}/ws ticks count=3"));
    }
}

/// A method and what it requires, for `switchboard call`.
fn example(methods: &[MethodDescription]) -> String {
    let Some(method) = methods.first() else { return "METHOD".to_owned() };
    let required = method.params.iter().flatten().filter(|param| param.is_required);
    let params = required.map(|param| format!(" {}", quoted(&format!("{}=VALUE", param.name))));
    visible(&format!("{}{}", quoted(&method.name), params.collect::<String>()))
}

impl Banner<'_> {
    /// Where clients of A2A are answered.
    fn agent_places(&self) -> Vec<String> {
        let place = |url: &String| {
            let url = address::reachable(url);
            let (scheme, place) = web(&url)?;
            Some(format!("{scheme}://{place}{}", agents::PATH))
        };
        self.urls.iter().filter(|_| self.has_agent).filter_map(place).collect()
    }

    /// Where clients of MCP are answered.
    fn mcp_places(&self) -> Vec<String> {
        let place = |url: &String| match web(&address::reachable(url)) {
            Some((scheme, place)) => self.mcp.http.then(|| format!("{scheme}://{place}{}", tools::PATH)),
            None => (self.mcp.stdio && url == "stdio").then(|| url.clone()),
        };
        self.urls.iter().filter_map(place).collect()
    }
}

/// Where it listens, for another program that started this one.
pub(crate) fn brief(urls: &[String]) -> String {
    urls.iter().map(|url| format!("Listening on {url}\n")).collect()
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

/// The methods under headings: their first tag, in the order of the alphabet, and last those without any.
fn groups(methods: &[MethodDescription]) -> Vec<(&str, Vec<&MethodDescription>)> {
    let mut tagged: BTreeMap<&str, Vec<&MethodDescription>> = BTreeMap::new();
    let mut others = Vec::new();
    for method in methods {
        match method.tags.first() {
            Some(tag) => tagged.entry(tag).or_default().push(method),
            None => others.push(method),
        }
    }
    let others = (!others.is_empty()).then_some(("other", others));
    tagged.into_iter().chain(others).collect()
}

/// A method with the names of its parameters: `math/add(a, b)`, `trigger_error(message?)`, `sum(numbers…)`, and
/// `logEvent(…)` if they are not known.
fn signature(method: &MethodDescription) -> String {
    let Some(params) = &method.params else { return format!("{}(…)", method.name) };
    let names: Vec<String> = params
        .iter()
        .map(|param| match param {
            param if param.is_variadic => format!("{}…", param.name),
            param if param.is_required => param.name.clone(),
            param => format!("{}?", param.name),
        })
        .collect();
    format!("{}({})", method.name, names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_stand_under_their_tags_and_those_without_one_come_last() {
        let method = |name: &str, tag: Option<&str>| {
            let mut method = MethodDescription::documented("Does it.");
            method.name = name.to_owned();
            method.tags.extend(tag.map(str::to_owned));
            method
        };
        let methods = [method("a", Some("streams")), method("long", None), method("c", Some("basics"))];
        let text = banner(&Banner {
            upstreams: "",
            config: "",
            urls: &["stdio".to_owned()],
            admin: &[],
            methods: &methods,
            mcp: Mcp { http: true, stdio: false },
            tools: &BTreeSet::new(),
            has_agent: true,
            has_page: true,
        });
        let text = anstream::adapter::strip_str(&text).to_string();
        let expected = "Methods\n  basics\n    c(…)     Does it.\n  streams\n    a(…)     Does it.\n  other\n    long(…)  Does it.\n";
        assert!(text.contains(expected), "{text}");
    }
}
