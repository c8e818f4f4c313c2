//! What may be said beside a call: how long its caller waits, and that it reads a stream.
//!
//! Over HTTP headers say it. Elsewhere it takes members of the request that JSON-RPC does not define, and servers may refuse
//! those or drop the request without a word. So they are sent only to servers that are known to understand them: where
//! the command line says so, which is `--extensions`, or where they describe themselves as servers of Switchboard do.

use switchboard::{Call, Json, Members};

/// Adds what the call's context says to the request, unless the request was written with other members.
pub(crate) fn say(call: &mut Call) {
    if call.cx.get::<Members>().is_some() {
        return;
    }
    let timeout = call.cx.time_left().map(|left| format!("\"timeoutMs\":{}", left.as_millis()));
    let stream = call.cx.wants_stream().then(|| "\"stream\":true".to_owned());
    let members: Vec<String> = timeout.into_iter().chain(stream).collect();
    if !members.is_empty() {
        let object = format!("{{{}}}", members.join(","));
        call.cx.insert(Members(Json::parse(object).expect("numbers and words are JSON")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use switchboard::StreamWanted;
    use tokio::time::Instant;

    #[tokio::test(start_paused = true)]
    async fn what_the_context_says_stands_in_the_request() {
        let check = |time: Option<u64>, wants_stream: bool, expected: Option<&str>| {
            let mut call = Call::new("m", None);
            call.cx.deadline = time.map(|time| Instant::now() + Duration::from_millis(time));
            if wants_stream {
                call.cx.insert(StreamWanted);
            }
            say(&mut call);
            assert_eq!(call.cx.get::<Members>().map(|members| members.0.as_str()), expected);
        };
        check(None, false, None);
        check(Some(1500), false, Some(r#"{"timeoutMs":1500}"#));
        check(None, true, Some(r#"{"stream":true}"#));
        check(Some(1500), true, Some(r#"{"timeoutMs":1500,"stream":true}"#));
    }
}
