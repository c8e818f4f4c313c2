//! A stream of bytes with a framing.

use switchboard::framing::{FrameDecoder, Framing};

use super::{Event, LIMIT};
use crate::bench::form::Form;
use crate::bench::work::Text;

/// Messages on a stream of bytes.
#[derive(Debug)]
pub(crate) struct Stream {
    framing: Framing,
    decoder: FrameDecoder,
}

impl Stream {
    pub(crate) fn new(framing: Framing) -> Stream {
        Stream { framing, decoder: FrameDecoder::new(framing, LIMIT) }
    }

    pub(super) fn form(&self, text: &Text) -> Form {
        let mut bytes = Vec::new();
        self.framing.encode(&text.bytes, &mut bytes);
        let shift = match self.framing {
            Framing::JsonStream | Framing::Lines => 0,
            // The others write before the text what tells its length.
            _ => bytes.len() - text.bytes.len(),
        };
        Form::new(bytes, &text.holes, shift)
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.decoder.feed(bytes);
    }

    pub(super) fn next(&mut self) -> Result<Option<Event>, String> {
        let frame = self.decoder.next_frame().map_err(|error| error.to_string())?;
        Ok(frame.map(Event::Message))
    }

    pub(super) fn finish(&mut self) -> Option<Event> {
        self.decoder.finish().ok().flatten().map(Event::Message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_in_any_framing_holds_the_identifier() {
        for framing in Framing::ALL {
            let text = Text { bytes: b"[\n000000000]".to_vec(), holes: vec![2] };
            let mut stream = Stream::new(framing);
            let mut out = Vec::new();
            stream.form(&text).write(123_456_789, &mut out);
            // It is read as it is sent.
            stream.feed(&out);
            match stream.next() {
                Ok(Some(Event::Message(message))) => assert!(message.ends_with(b"123456789]"), "{framing}"),
                other => panic!("{framing}: {other:?}"),
            }
        }
    }
}
