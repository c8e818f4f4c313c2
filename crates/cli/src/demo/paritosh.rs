//! The echo of the first tutorial, whole or letter by letter.

use futures_util::stream;
use switchboard::{Stream, service};

use super::text::Text;

/// The methods of the first tutorial.
pub(super) struct Paritosh;

#[service(namespace = "paritosh")]
impl Paritosh {
    /// Returns the message, prefixed with a name.
    #[method(safe, tag = "basics", example(name = "a word", params = ["hi"], result = "[Paritosh] hi"))]
    fn echo(&self, message: Text) -> String {
        format!("[Paritosh] {}", message.0)
    }

    /// Streams the characters of the message, one at a time.
    ///
    /// A character is a Unicode scalar value, so symbols made of several, such as some flags, arrive in parts.
    #[method(safe, tag = "streams", example(name = "a word", params = ["hi"], result = ["h", "i"]))]
    fn stream(&self, message: Text) -> impl Stream<Item = char> + Send + 'static {
        let characters: Vec<char> = message.0.chars().collect();
        stream::iter(characters)
    }
}
