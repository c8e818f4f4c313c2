//! Links of which one direction ends in the middle of a message: the call is made again over the next one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use switchboard_core::reconnect::{self, Backoff, ReconnectingPeer};
use switchboard_core::{CallError, Router, Service, Settings};
use switchboard_tests::proxy::{Fault, Faults};
use switchboard_transport::child::{self, Command};
use switchboard_transport::framing::Framing;
use switchboard_transport::stream::StreamOptions;

use crate::rig::{PLAIN, Running, connect, within};

/// Hardly any delay between attempts.
fn at_once() -> reconnect::ReconnectOptions {
    let ms = Duration::from_millis(1);
    let backoff = Backoff::default().with_first(ms).with_longest(ms);
    reconnect::ReconnectOptions::default().with_backoff(backoff)
}

/// A client that reconnects at once.
pub(crate) fn reconnecting(url: String) -> ReconnectingPeer {
    let connect = move || {
        let url = url.clone();
        // Whatever a cut makes of the handshake, the next attempt may succeed.
        async move { connect(&url).await.map_err(|error| CallError::Unreachable(error.to_string().into())) }
    };
    ReconnectingPeer::with_options(connect, at_once())
}

/// Whatever byte the first connection ends at, either way, a repeatable call gets its answer over the next one.
async fn check(url: &'static str) {
    let server = Running::start(url, Settings::default()).await;
    let whole = server.behind(|_| Faults::default()).await;
    let peer = connect(&server.through(&whole)).await.unwrap();
    within(peer.call::<[u8; 1]>("echo", [1]).into_future()).await.unwrap();
    drop(peer);
    let (up, down) = whole.passed();
    let faults = (0..=up)
        .map(|at| Faults { up: Fault::HalfClose(at), down: Fault::None })
        .chain((0..=down).map(|at| Faults { up: Fault::None, down: Fault::HalfClose(at) }));
    for faults in faults {
        let proxy = server.behind(move |number| if number == 0 { faults } else { Faults::default() }).await;
        let client = reconnecting(server.through(&proxy));
        let outcome = within(client.peer().call("echo", [1]).repeatable().into_future()).await;
        assert_eq!(outcome, Ok([1]), "{url}: {faults:?}");
    }
}

// LSP-F-12, JT-02
#[tokio::test]
async fn a_call_is_made_again_when_a_byte_stream_ended_in_the_middle_of_it() {
    for url in &PLAIN[..4] {
        check(url).await;
    }
}

#[tokio::test]
async fn a_call_is_made_again_when_a_websocket_ended_in_the_middle_of_it() {
    check("ws://127.0.0.1:0").await;
}

/// Runs the program, but only so many bytes go in or come out the first time.
const SCRIPT: &str = r#"
if [ -e "$flag" ]; then exec "$program"; fi
: > "$flag"
exec 3<&0
case $way in
  up) head -c "$bytes" <&3 | "$program" ;;
  down) "$program" <&3 | { head -c "$bytes"; kill -9 $$; } ;;
esac
"#;

#[tokio::test]
async fn a_call_is_made_again_when_a_child_ended_in_the_middle_of_it() {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let nothing: Arc<dyn Service> = Arc::new(Router::builder().build().unwrap());
    for way in ["up", "down"] {
        // Some of the first forty bytes: the messages of both ways are longer.
        for bytes in (0..40).step_by(9) {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let flag = std::env::temp_dir().join(format!("switchboard-half-{}-{count}", std::process::id()));
            let command = Command::new("/bin/sh")
                .args(["-c", SCRIPT])
                .env("flag", &flag)
                .env("program", env!("CARGO_BIN_EXE_equal"))
                .env("way", way)
                .env("bytes", bytes.to_string())
                .grace(Duration::from_millis(100));
            let options = StreamOptions::new(Framing::Lines);
            let child = child::reconnect(command, Arc::clone(&nothing), options, at_once());
            let call = child.peer().call::<String>("bounce", (0, "text")).repeatable();
            let outcome = within(call.into_future()).await;
            assert_eq!(outcome.as_deref(), Ok("text"), "{bytes} bytes {way}");
            std::fs::remove_file(flag).unwrap();
        }
    }
}
