//! The agent of `switchboard serve`: it calculates, counts and asks, so that clients of A2A can be tried.

use std::sync::Arc;
use std::time::Duration;

use switchboard::a2a::model::{AgentCard, AgentSkill, Artifact, Message};
use switchboard::a2a::{Agent, Outcome, Server, TaskHandle, agent_method};
use switchboard::store::Store;
use switchboard::{ErrorObject, Name, Router, RouterError, Service};

/// The method behind it, as layers see it.
const METHOD: &str = "agent/answer";

/// The highest number that it counts to.
const HIGHEST: u32 = 1000;

/// The methods of a service, and that of the agent.
pub(crate) fn beside(service: Arc<dyn Service>) -> Result<Arc<dyn Service>, RouterError> {
    let router = Router::builder().add(agent_method(METHOD, answer)).fallback(service).build()?;
    Ok(Arc::new(router))
}

/// The agent whose method is one of this service, and which keeps its tasks in this store.
pub(crate) fn server(service: Arc<dyn Service>, tasks: Option<Arc<dyn Store>>) -> Server {
    let card = AgentCard::new(
        "Switchboard demo agent",
        "Calculates, counts and asks back. It is here to try clients with.",
        env!("CARGO_PKG_VERSION"),
    );
    let skill = |id: &str, name: &str, text: &str, example: &str| {
        AgentSkill::new(id, name, text).tagged(["demo"]).example(example)
    };
    let card = card
        .skill(skill(
            "calculate",
            "Calculate",
            "Adds, subtracts, multiplies and divides two numbers.",
            "2 + 3",
        ))
        .skill(skill("count", "Count", "Counts, a number each second.", "count to 3"))
        .skill(skill("forecast", "Forecast", "Asks for a city, and makes up its weather.", "weather"));
    let agent = Agent::of(card, service, Name::from_static(METHOD));
    match tasks {
        Some(tasks) => agent.with_store(tasks).build(),
        None => agent.build(),
    }
}

async fn answer(message: Message, task: TaskHandle) -> Result<Outcome, ErrorObject> {
    let text = message.text();
    let text = text.trim().to_lowercase();
    if task.task().is_some_and(|task| task.history.len() > 1) {
        return Ok(Outcome::completed_with(format!("It is sunny in {}.", message.text().trim())));
    }
    if text.contains("weather") {
        return Ok(Outcome::input_required("In which city?"));
    }
    if let Some(rest) = text.strip_prefix("count to ") {
        let Ok(to @ 1..=HIGHEST) = rest.parse::<u32>() else {
            return Ok(Outcome::rejected(format!("I count to a number from 1 to {HIGHEST}.")));
        };
        task.working("counting").await?;
        for number in 1..=to {
            task.chunk(Artifact::text("numbers", format!("{number} ")), number == to).await?;
            if number < to {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
        return Ok(Outcome::completed());
    }
    match calculated(&text) {
        Some(result) => Ok(result.to_string().into()),
        None => Ok("Try `2 + 3`, `count to 3` or `weather`.".into()),
    }
}

/// The result of the first operation in a text.
fn calculated(text: &str) -> Option<f64> {
    let at = text.char_indices().skip(1).find(|(_, sign)| "+-*/".contains(*sign))?;
    let (left, right) = (&text[..at.0], &text[at.0 + 1..]);
    let left: f64 = left.split_whitespace().last()?.parse().ok()?;
    let right: f64 = right.split_whitespace().next()?.trim_end_matches(['?', '.', '!']).parse().ok()?;
    Some(match at.1 {
        '+' => left + right,
        '-' => left - right,
        '*' => left * right,
        _ => left / right,
    })
}

#[cfg(test)]
mod tests {
    use super::calculated;

    #[test]
    fn the_first_operation_is_calculated() {
        let check = |text: &str, expected: Option<f64>| assert_eq!(calculated(text), expected, "{text}");
        check("2 + 3", Some(5.0));
        check("what is 7 * 6?", Some(42.0));
        check("-1 - 1", Some(-2.0));
        check("é+1", None);
        check("hello", None);
        check("", None);
    }
}
