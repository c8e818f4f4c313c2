//! Every rule of the protocol is cited by a test, or waits for one with a reason.
//!
//! The rules are numbered: A2A for Agent2Agent, J2 for JSON-RPC 2.0, J1 for 1.0, JH for JSON-RPC over HTTP, JT over other carriers, LSP for language servers (LSP-F for
//! their framing), SSE for event streams, LLM for streams of tokens, SUB for subscriptions, OR for
//! documents of OpenRPC, ETH and JSP for those of Ethereum and jsonrpsee, OBS for traces, metrics and logs (without the parts of protocols on top), MCP for servers of the Model Context Protocol (rules for clients, hosts and authorization servers are not listed yet, except those that a
//! recorded message cites), and SEC
//! for what keeps a server safe:
//! SEC-O from pages of other sites, SEC-H from crooked HTTP, SEC-L from too much of anything, SEC-J from ambiguous JSON,
//! SEC-R from replays, SEC-S from forged signatures, SEC-T from wrong tokens, SEC-E from what errors and logs reveal,
//! SEC-X from the programs it starts; SEC-Z lists attacks to test. Three parts are not listed, because we do not use them: RFC 8785
//! (SEC-S-30 to -32), since signatures cover the bytes of the params as they were sent and nothing is serialised again; detached
//! JWS (SEC-S-40 and -41); and token introspection (SEC-T-08). A vector cites them in `req`, a transcript and a test in a
//! comment. What counts is what tests: in the sources of a crate only what follows `#[cfg(test)]`.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    /// What it says, unless `switchboard check` lists it.
    #[serde(default)]
    title: String,
    #[serde(default)]
    pending: bool,
    /// Why there is no test yet.
    reason: Option<String>,
    /// Where we go another way than others do, and why. It is tested like that.
    note: Option<String>,
}

/// The rules that `switchboard check` checks are listed on its page, all others in `rules.json`.
fn rules() -> BTreeMap<String, Rule> {
    let mut rules: BTreeMap<String, Rule> = serde_json::from_str(include_str!("rules.json")).unwrap();
    for line in include_str!("../crates/cli/src/check/rules.md").lines() {
        let Some((id, rest)) = line.strip_prefix("| `").and_then(|row| row.split_once("` | ")) else {
            continue;
        };
        let rule = rules.entry(id.to_owned()).or_default();
        assert!(rule.title.is_empty(), "{id} has its text on the page of the rules");
        rule.title = rest.to_owned();
    }
    rules
}

#[test]
fn every_rule_is_cited_by_a_test_or_pending() {
    let cited = cited(&Text::tests);
    for (id, rule) in rules() {
        assert!(!rule.title.is_empty(), "{id} needs a title");
        assert_eq!(rule.pending, rule.reason.is_some(), "{id} needs a reason exactly if it is pending");
        assert!(rule.note.is_none_or(|note| !note.is_empty()), "{id} needs a note that says something");
        let is_cited = cited.contains(&id);
        assert!(is_cited || rule.pending, "no test cites {id} ({})", rule.title);
        assert!(!is_cited || !rule.pending, "{id} ({}) has a test and is no more pending", rule.title);
    }
}

#[test]
fn every_citation_is_of_a_rule() {
    let rules = rules();
    for id in cited(&Text::whole) {
        assert!(rules.contains_key(&id), "{id} is cited and is no rule");
    }
}

/// The rules that are cited in these parts of all files.
fn cited(part: &dyn Fn(&Text) -> String) -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut texts = Vec::new();
    for folder in ["tests", "crates", "examples"] {
        collect(&root.join(folder), &mut texts);
    }
    texts.iter().flat_map(|text| ids(&part(text))).collect()
}

/// A file that may cite rules.
struct Text {
    path: PathBuf,
    content: String,
}

impl Text {
    fn whole(&self) -> String {
        self.content.clone()
    }

    /// The part that tests.
    fn tests(&self) -> String {
        let is_source = self.path.components().any(|part| part.as_os_str() == "src");
        let is_support = self.path.starts_with(env!("CARGO_MANIFEST_DIR"));
        match (is_source, is_support) {
            (true, false) => self.content.split_once("#[cfg(test)]").map(|(_, tests)| tests.to_owned()),
            (true, true) => None,
            (false, _) => Some(self.content.clone()),
        }
        .unwrap_or_default()
    }
}

fn collect(folder: &Path, texts: &mut Vec<Text>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        let kind = path.extension().map(|kind| kind.to_string_lossy().into_owned());
        let is_list = path.file_name().is_some_and(|name| name == "rules.json" || name == "rules.rs");
        match kind.as_deref() {
            _ if path.is_dir() => collect(&path, texts),
            Some("rs" | "txt" | "json") if !is_list => {
                let content = fs::read_to_string(&path).unwrap();
                texts.push(Text { path, content });
            }
            _ => {}
        }
    }
}

/// What the numbers of rules begin with.
const KINDS: [&str; 65] = [
    "A2A-B-",
    "A2A-C-",
    "A2A-D-",
    "A2A-E-",
    "A2A-M-",
    "A2A-P-",
    "A2A-S-",
    "A2A-T-",
    "A2A-X-",
    "ETH-",
    "J1-",
    "J2-",
    "JH-",
    "JSP-",
    "JT-",
    "LLM-",
    "LSP-C-",
    "LSP-F-",
    "LSP-P-",
    "MCP-A-",
    "MCP-B-",
    "MCP-C-",
    "MCP-D-",
    "MCP-EL-",
    "MCP-G-",
    "MCP-HTTP-",
    "MCP-K-",
    "MCP-L-",
    "MCP-LOG-",
    "MCP-M-",
    "MCP-N-",
    "MCP-O-",
    "MCP-P-",
    "MCP-PR-",
    "MCP-R-",
    "MCP-RES-",
    "MCP-RO-",
    "MCP-S-",
    "MCP-SA-",
    "MCP-SEC-",
    "MCP-SSE-",
    "MCP-T-",
    "MCP-TK-",
    "MCP-TX-",
    "MCP-U-",
    "MCP-UI-",
    "MCP-X-",
    "MCP-Z-",
    "OBS-C-",
    "OBS-R-",
    "OBS-T-",
    "OBS-X-",
    "OR-",
    "SSE-",
    "SEC-E-",
    "SEC-H-",
    "SEC-J-",
    "SEC-L-",
    "SEC-O-",
    "SEC-R-",
    "SEC-S-",
    "SEC-T-",
    "SEC-X-",
    "SEC-Z-",
    "SUB-",
];

/// All of the form `J2-01`. What is the end of a longer number, as `SSE-01` is of `MCP-SSE-01`, is none.
fn ids(text: &str) -> Vec<String> {
    let id = |at: usize, kind: &str| {
        if text[..at].ends_with('-') {
            return None;
        }
        let number = text.get(at + kind.len()..at + kind.len() + 2)?;
        number.bytes().all(|digit| digit.is_ascii_digit()).then(|| format!("{kind}{number}"))
    };
    let of_kind = |kind| text.match_indices(kind).filter_map(|(at, kind)| id(at, kind));
    KINDS.into_iter().flat_map(of_kind).collect()
}
