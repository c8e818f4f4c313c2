//! Tools that become tasks.

use std::time::Duration;

use serde_json::json;
use switchboard::mcp::{Answer, Caller};
use switchboard::{ErrorObject, Json, service};

use crate::{Confirmed, Named, pause};

/// Tools that become tasks.
pub(crate) struct Jobs;

#[service]
impl Jobs {
    /// Greets at once.
    #[method(safe)]
    fn greet(&self, #[arg(default = "world".to_owned())] name: String) -> String {
        format!("Hello, {name}!")
    }

    /// Takes its time.
    #[mcp(task = "optional")]
    async fn slow_compute(&self, #[arg(default = 1.0)] seconds: f64, label: Option<String>) -> String {
        tokio::time::sleep(Duration::from_secs_f64(seconds.clamp(0.0, 60.0))).await;
        format!("computed {}", label.unwrap_or_else(|| format!("for {seconds} s")))
    }

    /// Fails.
    #[mcp(task = "required")]
    async fn failing_job(&self) -> Result<String, ErrorObject> {
        pause().await;
        Err(ErrorObject::new(1, "the job failed"))
    }

    /// Fails as a request.
    #[mcp(task = "optional")]
    async fn protocol_error_job(&self) -> Result<String, ErrorObject> {
        pause().await;
        Err(ErrorObject::internal(&"the job broke"))
    }

    /// Deletes a file, if the user agrees.
    #[mcp(task = "optional", destructive = true)]
    async fn confirm_delete(
        &self,
        caller: &Caller,
        #[arg(default = "file.txt".to_owned())] filename: String,
    ) -> Result<String, ErrorObject> {
        match caller.elicit::<Confirmed>(format!("Delete {filename}?")).key("confirm").await? {
            Answer::Accept(Confirmed { confirm: true }) => Ok(format!("Deleted {filename}")),
            _ => Ok(format!("Kept {filename}")),
        }
    }

    /// Asks two things at once.
    #[mcp(task = "optional")]
    async fn multi_input(&self, caller: &Caller) -> Result<String, ErrorObject> {
        let (name, age) = tokio::join!(
            caller.elicit::<Named>("What is your name?").key("name"),
            caller
                .elicit_as::<Json>(
                    "How old are you?",
                    &json!({"type": "object", "properties": {"age": {"type": "integer"}}})
                )
                .key("age"),
        );
        let name = name?.accepted().map_or_else(|| "nobody".to_owned(), |named| named.name);
        Ok(format!("{name}, {}", age?.accepted().map(|age| age.to_string()).unwrap_or_default()))
    }

    /// A job.
    #[mcp(task = "manual")]
    async fn test_tool_with_task(&self, caller: &Caller) -> Result<String, ErrorObject> {
        let name = caller.elicit::<Named>("What is your name?").key("user_name").await?.accepted();
        caller.background().await;
        pause().await;
        Ok(format!("The task of {} is done.", name.map_or_else(|| "nobody".to_owned(), |named| named.name)))
    }
}
