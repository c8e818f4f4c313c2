//! What runs where, and what to try.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use super::fleet::{Fleet, admin, url};
use super::member::Member;
use crate::shell::quoted;

const HEAD: Style = Style::new().bold();
const URL: Style = AnsiColor::Cyan.on_default().underline();
const FAINT: Style = Style::new().dimmed();

/// The whole text.
pub(super) fn banner(fleet: &Fleet, rate: u32) -> String {
    let broker = fleet.service.rsplit_once('/').map_or(&*fleet.service, |(broker, _)| broker);
    let mut text = format!("{HEAD}A fleet on this machine{HEAD:#}\n");
    match &fleet.broker {
        Some(member) => row(&mut text, &member.name, broker, "", Some(member.id())),
        None => row(&mut text, "broker", broker, "", None),
    }
    for member in fleet.workers.iter().chain(&fleet.gateways) {
        let admin = admin(member).unwrap_or_default();
        row(&mut text, &member.name, url(member).unwrap_or_default(), admin, Some(member.id()));
    }
    if rate > 0 {
        let gateways = match fleet.gateways.len() {
            1 => "the gateway".to_owned(),
            count => format!("{count} gateways"),
        };
        line(&mut text, format_args!("\n{rate} calls a second go through {gateways}."));
    }
    tries(&mut text, fleet);
    line(&mut text, format_args!("\n{FAINT}Press Ctrl-C to stop everything.{FAINT:#}"));
    text
}

/// Commands to try.
fn tries(text: &mut String, fleet: &Fleet) {
    let service = quoted(&fleet.service);
    line(text, format_args!("\n{HEAD}Try it{HEAD:#}"));
    if let Some(gateway) = fleet.gateways.first() {
        let (url, admin) = (url(gateway).unwrap_or_default(), admin(gateway).unwrap_or_default());
        line(text, format_args!("  {URL}{admin}/{URL:#} in a browser: what a gateway does, live"));
        line(text, format_args!("  switchboard top {admin}"));
        line(text, format_args!("  switchboard call {url} math/add 2 3"));
    }
    line(text, format_args!("  switchboard call {service} math/add 2 3    # without a gateway"));
    line(text, format_args!("\n{HEAD}Let it fail{HEAD:#}"));
    let mut kill = |member: Option<&Member>, what: &str| {
        if let Some(member) = member {
            line(text, format_args!("  kill -9 {:<8} # {}: {what}", member.id(), member.name));
        }
    };
    let worker =
        if fleet.workers.len() > 1 { "the others take its calls" } else { "calls fail until another starts" };
    kill(fleet.workers.first(), worker);
    let gateway = if fleet.gateways.len() > 1 { "its clients go to another" } else { "calls fail" };
    kill(fleet.gateways.first(), gateway);
    kill(fleet.broker.as_ref(), "calls fail; nothing else ends");
    line(text, format_args!("  switchboard serve --listen {service}    # one more worker"));
}

/// A process.
fn row(text: &mut String, name: &str, url: &str, admin: &str, process: Option<u32>) {
    let admin = if admin.is_empty() { String::new() } else { format!("  admin {admin}") };
    let process = process.map(|id| format!("pid {id}")).unwrap_or_default();
    line(text, format_args!("  {name:<11} {process:<12} {URL}{url}{URL:#}{admin}"));
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // A String takes all that is written to it.
    let _ = writeln!(text, "{line}");
}
