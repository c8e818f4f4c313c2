//! Prompts and resources.

use serde_json::{Value, json};
use switchboard::mcp::model::{Content, Contents, Image, Message};
use switchboard::service;

use crate::PNG;

/// Prompts and resources.
pub(crate) struct Texts;

#[service]
impl Texts {
    /// A prompt without arguments.
    #[mcp(prompt)]
    fn test_simple_prompt(&self) -> String {
        "This is a simple prompt for testing.".to_owned()
    }

    /// A prompt with two arguments.
    #[mcp(prompt)]
    fn test_prompt_with_arguments(
        &self,
        /// The first argument.
        arg1: String,
        /// The second argument.
        arg2: String,
    ) -> String {
        format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
    }

    /// A prompt with a resource.
    #[mcp(prompt)]
    #[method(name = "test_prompt_with_embedded_resource")]
    fn embedded(&self, #[arg(name = "resourceUri")] resource_uri: String) -> Vec<Message> {
        let text = "Embedded resource content for testing.";
        let resource = Contents::text(resource_uri, text).with_mime_type("text/plain");
        vec![
            Message::user(Content::resource(resource)),
            Message::user("Please process the embedded resource above."),
        ]
    }

    /// A prompt with an image.
    #[mcp(prompt)]
    fn test_prompt_with_image(&self) -> Vec<Message> {
        vec![Message::user(Content::image(Image::png(PNG))), Message::user("Please analyze the image above.")]
    }

    /// Completes arguments.
    #[mcp(completes = "test_prompt_with_arguments.arg1, test_prompt_with_arguments.arg2")]
    fn completions(&self, prefix: String) -> Vec<String> {
        ["paris", "park", "party"]
            .into_iter()
            .filter(|word| word.starts_with(&prefix))
            .map(str::to_owned)
            .collect()
    }

    /// Data by identifier.
    #[mcp(resource = "test://template/{id}/data", mime = "application/json")]
    fn template(&self, id: String) -> Value {
        json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")})
    }

    /// A resource that changes.
    #[mcp(resource = "test://watched-resource", mime = "text/plain")]
    fn watched(&self) -> String {
        "Watched resource content".to_owned()
    }
}
