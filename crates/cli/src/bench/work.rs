//! The call that is made over and over, as text.

use switchboard::{Json, Version};

use super::form::HOLE;

/// The call that is made over and over.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) method: String,
    pub(crate) params: Option<Json>,
    pub(crate) version: Version,
}

/// The text of a message, and where its identifiers stand.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) bytes: Vec<u8>,
    pub(crate) holes: Vec<usize>,
}

impl Work {
    /// The text of one call.
    pub(crate) fn call(&self) -> Text {
        let mut text = Text { bytes: Vec::new(), holes: Vec::new() };
        self.write(&mut text);
        text
    }

    /// The text of a batch of so many calls.
    pub(crate) fn batch(&self, calls: usize) -> Text {
        let mut text = Text { bytes: vec![b'['], holes: Vec::with_capacity(calls) };
        for call in 0..calls {
            if call > 0 {
                text.bytes.push(b',');
            }
            self.write(&mut text);
        }
        text.bytes.push(b']');
        text
    }

    fn write(&self, text: &mut Text) {
        let is_old = self.version == Version::V1;
        let method = serde_json::to_string(&self.method).expect("a string is JSON");
        let params = match &self.params {
            Some(params) => Some(params.as_str()),
            // In 1.0 there are always some.
            None => is_old.then_some("[]"),
        };
        let out = &mut text.bytes;
        out.extend_from_slice(if is_old { b"{" } else { br#"{"jsonrpc":"2.0","# });
        out.extend_from_slice(format!("\"method\":{method}").as_bytes());
        if let Some(params) = params {
            out.extend_from_slice(b",\"params\":");
            out.extend_from_slice(params.as_bytes());
        }
        out.extend_from_slice(b",\"id\":");
        text.holes.push(out.len());
        out.extend_from_slice(HOLE);
        out.push(b'}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_and_a_batch_are_written_in_their_version() {
        let work = Work { method: "a\"b".to_owned(), params: Json::parse("[1]").ok(), version: Version::V2 };
        let text = |text: Text| {
            assert!(text.holes.iter().all(|hole| text.bytes[*hole..].starts_with(HOLE)));
            String::from_utf8(text.bytes).unwrap()
        };
        let call = r#"{"jsonrpc":"2.0","method":"a\"b","params":[1],"id":000000000}"#;
        assert_eq!(text(work.call()), call);
        assert_eq!(text(work.batch(2)), format!("[{call},{call}]"));
        let old = Work { method: "m".to_owned(), params: None, version: Version::V1 };
        assert_eq!(text(old.call()), r#"{"method":"m","params":[],"id":000000000}"#);
    }
}
