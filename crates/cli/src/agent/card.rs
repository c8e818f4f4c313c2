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
    describe(card, remote.url(), remote.version().as_str())
}

fn describe(card: &AgentCard, url: &str, version: &str) -> String {
    let mut text = format!("{HEAD}{} {}{HEAD:#}\n", visible(&card.name), visible(&card.version));
    text.push_str(&format!("{}\n\n", visible(&card.description)));
    let mut facts = Table::new(["", ""]);
    let mut fact = |name: &str, value: &str| facts.row([Cell::new(name, HEAD), Cell::plain(value)]);
    fact("URL", url);
    fact("A2A", version);
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Text without the codes of styles, and with single spaces.
    fn plain(text: &str) -> String {
        let text = anstream::adapter::strip_str(text).to_string();
        text.split_inclusive('\n')
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n")
            .collect()
    }

    fn card(value: Value) -> AgentCard {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_card_shows_what_an_agent_is_and_can() {
        let card = card(json!({
            "name": "Weather", "description": "Forecasts.", "version": "2.1", "supportedInterfaces": [],
            "provider": {"organization": "Example", "url": "https://example.com"},
            "capabilities": {"streaming": true, "extendedAgentCard": true},
            "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain", "image/png"],
            "skills": [{"id": "now", "name": "Now", "description": "Says the \u{1b}[31mweather.", "tags": ["a", "b"]}],
        }));
        let shown = plain(&describe(&card, "http://127.0.0.1:8000/a2a", "1.0"));
        for line in [
            "Weather 2.1",
            "Forecasts.",
            "URL http://127.0.0.1:8000/a2a",
            "A2A 1.0",
            "provider Example https://example.com",
            "takes text/plain",
            "answers with text/plain, image/png",
            "supports streaming, extended card",
            "credentials bearer",
            "skill tags description",
        ] {
            assert!(shown.lines().any(|shown| shown == line), "{line:?} is not in:\n{shown}");
        }
        // What an agent says about itself does not control the terminal.
        let skill = shown.lines().find(|line| line.starts_with("now a, b Says the")).unwrap();
        assert!(!skill.contains('\u{1b}') && skill.ends_with("[31mweather."), "{skill:?}");
    }

    #[test]
    fn each_task_is_a_row() {
        let task =
            |id: &str, status: Value| serde_json::from_value(json!({"id": id, "status": status})).unwrap();
        let message = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "Which city?"}]});
        let shown = plain(&tasks(&[
            task(
                "t1",
                json!({"state": "TASK_STATE_INPUT_REQUIRED", "timestamp": "2026-01-02T03:04:05.006Z", "message": message}),
            ),
            task("t2", json!({"state": "TASK_STATE_COMPLETED"})),
        ]));
        let rows: Vec<&str> = shown.lines().filter(|line| !line.is_empty()).collect();
        let expected =
            ["task state since message", "t1 asks 2026-01-02T03:04:05.006Z Which city?", "t2 completed"];
        assert_eq!(rows, expected);
    }
}
