//! A speaker with a name, whole or letter by letter.

use futures_util::stream;
use switchboard::{Stream, service};

use super::text::Text;

/// The one of the first tutorial.
pub(super) struct Paritosh;

#[service(namespace = "paritosh")]
impl Paritosh {
    /// Answers with the message, behind the name of who says it.
    #[method(safe, tag = "basics", example(name = "a word", params = ["hi"], result = "[Paritosh] hi"))]
    fn echo(&self, message: Text) -> String {
        format!("[Paritosh] {}", message.0)
    }

    /// Streams the characters of the message, one at a time.
    ///
    /// A character is what Unicode calls so. What is written with several of them, like some flags, comes in parts.
    #[method(safe, tag = "streams", example(name = "a word", params = ["hi"], result = ["h", "i"]))]
    fn stream(&self, message: Text) -> impl Stream<Item = char> + Send + 'static {
        let characters: Vec<char> = message.0.chars().collect();
        stream::iter(characters)
    }
}
