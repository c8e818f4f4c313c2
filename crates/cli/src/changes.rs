//! The differences between two documents, for `switchboard discover --diff`.

use anstyle::{AnsiColor, Style};
use switchboard::Json;
use switchboard::openrpc::{Change, Severity, diff};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::source;
use crate::table::{self, Cell, Table};
use crate::target::Target;

/// Shows the differences of the target from the old document. Fails if a change breaks clients; if strict, also if one may.
pub(crate) fn show(target: &Target, old: &str, is_strict: bool) -> Result<(), Failure> {
    if old == "-" && target.url == "-" {
        return Err(Failure::usage("only one of the documents can come from stdin"));
    }
    let (before, after) = (source::document(old, target)?, source::document(&target.url, target)?);
    let lost = |error: switchboard::openrpc::RefError| Failure::usage(error.to_string());
    let changes = diff(&before, &after).map_err(lost)?;
    if target.format.is_for_people() {
        output::page(&page(&changes, table::terminal_width()))?;
    } else {
        let json =
            Json::encode(&changes).map_err(|error| Failure::new(Exit::CannotWrite, error.to_string()))?;
        output::result(&json, target.format)?;
    }
    verdict(&changes, is_strict)
}

fn verdict(changes: &[Change], is_strict: bool) -> Result<(), Failure> {
    let count = |severity: Severity| changes.iter().filter(|change| change.severity == severity).count();
    let (breaking, unsure) = (count(Severity::Breaking), count(Severity::Unsure));
    let failed = |what: String| Err(Failure::new(Exit::Breaking, what));
    match (breaking, unsure) {
        (0, 0) => Ok(()),
        (0, unsure) if is_strict => failed(format!("{} may break clients", counted(unsure))),
        (0, _) => Ok(()),
        (breaking, unsure) if is_strict && unsure > 0 => {
            failed(format!("{} break or may break clients", counted(breaking + unsure)))
        }
        (1, _) => failed("1 change breaks clients".to_owned()),
        (breaking, _) => failed(format!("{} break clients", counted(breaking))),
    }
}

fn counted(count: usize) -> String {
    if count == 1 { "1 change".to_owned() } else { format!("{count} changes") }
}

fn page(changes: &[Change], width: usize) -> String {
    if changes.is_empty() {
        return "No differences.\n".to_owned();
    }
    let mut table = Table::new(["", "method", "change"]);
    // What matters most first.
    let mut changes: Vec<&Change> = changes.iter().collect();
    changes.sort_by_key(|change| std::cmp::Reverse(change.severity));
    for change in changes {
        table.row([
            Cell::new(change.severity.as_str(), style(change.severity)),
            Cell::plain(&change.method),
            Cell::plain(&change.what),
        ]);
    }
    table.render(width)
}

fn style(severity: Severity) -> Style {
    match severity {
        Severity::Breaking => AnsiColor::Red.on_default().bold(),
        Severity::Unsure => AnsiColor::Yellow.on_default(),
        _ => AnsiColor::Green.on_default(),
    }
}
