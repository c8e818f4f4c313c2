//! What a gateway says when it starts: its upstreams.

use anstyle::{AnsiColor, Style};

use super::Gate;
use crate::visible::visible;

const URL: Style = AnsiColor::Cyan.on_default();
const BAD: Style = AnsiColor::Yellow.on_default();
const HEAD: Style = Style::new().bold();

/// Each upstream: its methods, and where they are.
pub(crate) fn shown(gate: &Gate) -> String {
    let mut text = format!("\n{HEAD}Upstreams{HEAD:#}\n");
    let name = |prefix: &str, name: &str| match prefix {
        "" => format!("{name} (no prefix)"),
        prefix => prefix.to_owned(),
    };
    let width =
        gate.upstreams.iter().map(|one| name(&one.prefix, &one.name).chars().count()).max().unwrap_or(0);
    for upstream in &gate.upstreams {
        let methods = match upstream.methods() {
            0 if upstream.silence().is_some() => "no answer yet".to_owned(),
            0 => "methods unknown".to_owned(),
            1 => "1 method".to_owned(),
            count => format!("{count} methods"),
        };
        let title = visible(&name(&upstream.prefix, &upstream.name));
        text.push_str(&format!("  {title:width$}  {methods:16}"));
        for (index, (node, _, skipped)) in upstream.pool.nodes().enumerate() {
            let gap = if index == 0 { String::new() } else { format!("\n{:1$}", "", width + 20) };
            text.push_str(&format!("{gap}{URL}{}{URL:#}", visible(node)));
            if let Some(skipped) = skipped {
                text.push_str(&format!("  {BAD}{}{BAD:#}", visible(&skipped.to_string())));
            }
        }
        text.push('\n');
        if let Some(why) = upstream.silence() {
            text.push_str(&format!("  {:width$}  {BAD}{}{BAD:#}\n", "", visible(why)));
        }
    }
    text
}
