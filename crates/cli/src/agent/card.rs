//! A card and tasks as tables.

use anstyle::Style;
use switchboard::a2a::Remote;
use switchboard::a2a::model::{AgentCard, Message, Task};

use super::state;
use crate::table::{self, Cell, Table};
use crate::visible::visible;

const HEAD: Style = Style::new().bold();

/// The card of an agent.
pub(super) fn shown(card: &AgentCard, remote: &Remote) -> String {
    let mut text = format!("{HEAD}{} {}{HEAD:#}\n", visible(&card.name), visible(&card.version));
    text.push_str(&format!("{}\n\n", visible(&card.description)));
    let mut facts = Table::new(["", ""]);
    let mut fact = |name: &str, value: &str| facts.row([Cell::new(name, HEAD), Cell::plain(value)]);
    fact("URL", remote.url());
    fact("A2A", remote.version().as_str());
    if let Some(provider) = &card.provider {
        fact("provider", &format!("{} {}", provider.organization, provider.url));
    }
    fact("takes", &card.default_input_modes.join(", "));
    fact("answers with", &card.default_output_modes.join(", "));
    let capabilities = &card.capabilities;
    let flags = [
        ("streaming", capabilities.streaming),
        ("push notifications", capabilities.push_notifications),
        ("extended card", capabilities.extended_agent_card),
    ];
    let supported: Vec<&str> =
        flags.iter().filter(|(_, flag)| *flag == Some(true)).map(|(name, _)| *name).collect();
    fact("supports", &supported.join(", "));
    if !card.security_schemes.is_empty() {
        let names: Vec<&str> = card.security_schemes.keys().map(String::as_str).collect();
        fact("credentials", &names.join(", "));
    }
    text.push_str(facts.render(table::terminal_width()).trim_start_matches(['\n', ' ']));
    let mut skills = Table::new(["skill", "tags", "description"]);
    for skill in &card.skills {
        skills.row([
            Cell::plain(&skill.id),
            Cell::plain(skill.tags.join(", ")),
            Cell::plain(&skill.description),
        ]);
    }
    text.push('\n');
    text.push_str(&skills.render(table::terminal_width()));
    text
}

/// Tasks, one in each row.
pub(super) fn tasks(tasks: &[Task]) -> String {
    let mut rows = Table::new(["task", "state", "since", "message"]);
    for task in tasks {
        let since = task.status.timestamp.map(|time| time.to_string()).unwrap_or_default();
        let message = task.status.message.as_ref().map(Message::text).unwrap_or_default();
        rows.row([
            Cell::plain(&task.id),
            Cell::plain(state(task.status.state)),
            Cell::plain(since),
            Cell::plain(message),
        ]);
    }
    rows.render(table::terminal_width())
}
