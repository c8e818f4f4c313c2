//! Tools that ask in rounds.

use serde_json::{Value, json};
use switchboard::mcp::model::Message;
use switchboard::mcp::{Answer, Caller, Feature};
use switchboard::{ErrorObject, Json, service};

use crate::{Agreed, Named};

/// Tools that ask in rounds.
pub(crate) struct Rounds;

#[service]
impl Rounds {
    /// Asks for a name.
    async fn test_input_required_result_elicitation(&self, caller: &Caller) -> Result<String, ErrorObject> {
        match caller.elicit::<Named>("What is your name?").key("user_name").await? {
            Answer::Accept(Named { name }) => Ok(format!("Hello, {name}!")),
            _ => Ok("Hello!".to_owned()),
        }
    }

    /// Asks the model.
    async fn test_input_required_result_sampling(&self, caller: &Caller) -> Result<String, ErrorObject> {
        let sampled =
            caller.sample("What is the capital of France?").max_tokens(100).key("capital_question").await?;
        Ok(sampled.text())
    }

    /// Asks for folders.
    async fn test_input_required_result_list_roots(&self, caller: &Caller) -> Result<String, ErrorObject> {
        let roots = caller.roots().key("client_roots").await?;
        Ok(roots.iter().map(|root| root.uri.as_str()).collect::<Vec<_>>().join(", "))
    }

    /// Keeps a state.
    async fn test_input_required_result_request_state(&self, caller: &Caller) -> Result<String, ErrorObject> {
        caller.elicit::<Agreed>("Please confirm").key("confirm").await?;
        Ok("state-ok".to_owned())
    }

    /// Asks three things at once.
    async fn test_input_required_result_multiple_inputs(
        &self,
        caller: &Caller,
    ) -> Result<String, ErrorObject> {
        let (name, greeting, roots) = tokio::join!(
            caller.elicit::<Named>("What is your name?").key("user_name"),
            caller.sample("Generate a greeting").max_tokens(50).key("greeting"),
            caller.roots().key("client_roots"),
        );
        let name = name?.accepted().map_or_else(|| "nobody".to_owned(), |named| named.name);
        Ok(format!("{name}: {} ({} roots)", greeting?.text(), roots?.len()))
    }

    /// Asks one thing after the other.
    async fn test_input_required_result_multi_round(&self, caller: &Caller) -> Result<String, ErrorObject> {
        caller.elicit::<Named>("Step 1: What is your name?").key("step1").await?;
        caller.elicit_as::<Json>("Step 2: What is your favorite color?", &color()).key("step2").await?;
        Ok("All steps are done.".to_owned())
    }

    /// Rejects a state that was changed.
    async fn test_input_required_result_tampered_state(
        &self,
        caller: &Caller,
    ) -> Result<String, ErrorObject> {
        caller.elicit::<Agreed>("Please confirm").key("confirm").await?;
        Ok("confirmed".to_owned())
    }

    /// Asks only for what the client can do.
    async fn test_input_required_result_capabilities(&self, caller: &Caller) -> Result<String, ErrorObject> {
        if caller.can(Feature::Form) {
            caller.elicit::<Named>("What is your name?").key("user_name").await?;
        }
        if caller.can(Feature::Sampling) {
            caller.sample("Generate a greeting").key("greeting").await?;
        }
        if caller.can(Feature::Roots) {
            caller.roots().key("client_roots").await?;
        }
        Ok("asked for what there is".to_owned())
    }

    /// A prompt that asks.
    #[mcp(prompt)]
    async fn test_input_required_result_prompt(&self, caller: &Caller) -> Result<Message, ErrorObject> {
        let schema =
            json!({"type": "object", "properties": {"context": {"type": "string"}}, "required": ["context"]});
        let answer = caller
            .elicit_as::<Json>("What context should the prompt use?", &schema)
            .key("user_context")
            .await?;
        let context = answer.accepted().map(|content| content.to_string()).unwrap_or_default();
        Ok(Message::user(format!("Use this context: {context}")))
    }
}

fn color() -> Value {
    json!({"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]})
}
