//! What the server asks the user (elicitation), on the terminal.

use serde_json::Value;
use switchboard::mcp::model::{ElicitForm, ElicitUrl, Elicited};

use super::form::Field;
use super::terminal::{self, HEAD};
use crate::output;
use crate::visible::visible;

/// Fills in a form.
pub(super) async fn form(form: ElicitForm) -> Elicited {
    if !terminal::is_there() {
        return declined(&form.message);
    }
    let _alone = terminal::alone().await;
    output::note(&format!("{HEAD}The server asks:{HEAD:#} {}\n", visible(&form.message)));
    let fields = Field::all(&form.requested_schema);
    match terminal::agrees("Answer it?", true).await {
        Some(true) => {}
        Some(false) => return Elicited::decline(),
        None => return cancelled(),
    }
    let mut values = serde_json::Map::new();
    for field in &fields {
        match ask(field).await {
            Some(Some(value)) => drop(values.insert(field.name.clone(), value)),
            Some(None) => {}
            None => return cancelled(),
        }
    }
    Elicited::accept(&values).unwrap_or_else(|_| Elicited::cancel())
}

/// Asks for a field until the answer fits. None at the end of the input; no value if it is left out.
async fn ask(field: &Field) -> Option<Option<Value>> {
    output::note(&field.described());
    loop {
        let answer = terminal::line(&format!("{}: ", visible(&field.name))).await?;
        match field.read(&answer) {
            Ok(value) => return Some(value),
            Err(why) => output::note(&format!("{why}\n")),
        }
    }
}

/// Asks whether to open a page. It is opened by the user: the whole URL is shown, and nothing follows it.
pub(super) async fn open(page: ElicitUrl) -> Elicited {
    if !terminal::is_there() {
        return declined(&page.message);
    }
    let _alone = terminal::alone().await;
    let message = visible(&page.message);
    output::note(&format!("{HEAD}The server asks you to open a page:{HEAD:#} {message}\n"));
    output::note(&format!("  {}\n", visible(&page.url)));
    match terminal::agrees("Continue with this page in your browser?", false).await {
        Some(true) => Elicited::consent(),
        Some(false) => Elicited::decline(),
        None => cancelled(),
    }
}

fn declined(message: &str) -> Elicited {
    let message = visible(message);
    output::note(&format!("declined, since there is no terminal: the server asks: {message}\n"));
    Elicited::decline()
}

fn cancelled() -> Elicited {
    output::note("\ncancelled\n");
    Elicited::cancel()
}
