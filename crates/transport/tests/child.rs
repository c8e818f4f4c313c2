//! Children as servers: none of them, and nothing they started, outlives its connection.

#![allow(clippy::unwrap_used)]
#![cfg(feature = "child")]

use std::sync::Arc;
use std::time::Duration;

use switchboard_core::reconnect::{self, Backoff, ReconnectingPeer};
use switchboard_core::{Call, CallError, ErrorObject, Peer, ReplyFuture, Router, Service, service_fn};
use switchboard_transport::child::{self, Command, StartError};
use switchboard_transport::framing::Framing;
use switchboard_transport::stream::StreamOptions;

fn nothing() -> Arc<dyn Service> {
    Arc::new(Router::builder().build().unwrap())
}

/// A child that runs this script of the system's shell, with little time to end.
async fn start(script: &str) -> Peer {
    let command = Command::new("/bin/sh").args(["-c", script]).grace(Duration::from_millis(200));
    child::connect(&command, nothing(), &StreamOptions::new(Framing::Lines)).await.unwrap()
}

/// Answers each call with the text of `$answer`.
const LOOP: &str = r#"
while read -r line; do
  id=${line##*\"id\":}; id=${id%%[,\}]*}
  printf '{"jsonrpc":"2.0","result":"%s","id":%s}\n' "$answer" "$id"
done
"#;

/// Waits until the process is gone; the test's time limit ends this if it never goes.
async fn gone(pid: &str) {
    let stat = format!("/proc/{pid}/stat");
    // A zombie has ended: whoever adopted it has only not looked.
    while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
        tokio::time::timeout(Duration::from_millis(10), std::future::pending::<()>()).await.unwrap_err();
    }
}

#[tokio::test]
async fn a_child_answers_and_ends_with_its_peer() {
    let peer = start(&format!("answer=$$; {LOOP}")).await;
    let pid: String = peer.call("pid", ()).await.unwrap();
    drop(peer);
    gone(&pid).await;
}

#[tokio::test]
async fn a_child_that_ignores_everything_is_killed_with_what_it_started() {
    // SEC-X-02
    let script =
        format!("trap '' TERM HUP; sleep 1000 & answer=\"$$ $!\"; {LOOP} while :; do sleep 1000; done");
    let peer = start(&script).await;
    let pids: String = peer.call("pids", ()).await.unwrap();
    drop(peer);
    for pid in pids.split(' ') {
        gone(pid).await;
    }
}

// SEC-X-02
#[tokio::test]
async fn a_child_gets_its_arguments_as_they_are_a_small_environment_and_its_folder() {
    let asked = async |answer: &str, command: Command| {
        let script = format!("answer={answer}; {LOOP}");
        let command = command.args(["-c", &script, "name", "$(echo shell); *"]).folder("/");
        let options = StreamOptions::new(Framing::Lines);
        let peer = child::connect(&command, nothing(), &options).await.unwrap();
        peer.call::<String>("any", ()).await.unwrap()
    };
    let shell = || Command::new("/bin/sh");
    assert_eq!(asked("\"$1\"", shell()).await, "$(echo shell); *");
    assert_eq!(asked("\"$PWD\"", shell()).await, "/");
    // Cargo sets this variable for tests.
    let variable = "\"${CARGO_MANIFEST_DIR-none}\"";
    assert_eq!(asked(variable, shell()).await, "none");
    assert_eq!(asked(variable, shell().inherit_env()).await, env!("CARGO_MANIFEST_DIR"));
}

/// Tells when everything that belongs to a connection is over, by the end of what its service holds. The child would have
/// longer to end than any test.
async fn ended(script: &str) {
    let (held, mut over) = tokio::sync::mpsc::channel::<()>(1);
    let service = service_fn(move |call: &Call| {
        let _ = &held;
        ReplyFuture::ready(ErrorObject::method_not_found(call.method.as_str()))
    });
    let command = Command::new("/bin/sh").args(["-c", script]).grace(Duration::from_secs(10_000));
    let peer =
        child::connect(&command, Arc::new(service), &StreamOptions::new(Framing::Lines)).await.unwrap();
    let _: String = peer.call("any", ()).await.unwrap();
    drop(peer);
    assert!(over.recv().await.is_none());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_end_is_not_waited_for_when_nobody_is_left() {
    ended(&format!("answer=x; {LOOP}")).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_a_child_started_is_waited_for_until_it_is_gone() {
    ended(&format!("sleep 10000 >/dev/null 2>&1 & answer=x; {LOOP}")).await;
}

#[tokio::test]
async fn what_a_dead_child_started_is_ended_though_it_holds_the_pipes() {
    let peer = start(&format!("sleep 1000 & answer=$!; head -n 1 | ( {LOOP} ); kill -9 $$")).await;
    let pid: String = peer.call("pid", ()).await.unwrap();
    let error = peer.call::<()>("more", ()).await.unwrap_err();
    assert!(matches!(&error, CallError::Closed(why) if why.contains("signal: 9")), "{error}");
    gone(&pid).await;
}

#[tokio::test]
async fn the_end_of_a_child_is_told_with_its_last_words() {
    let peer = start("echo 'no licence' >&2; exit 3").await;
    let error = peer.call::<()>("any", ()).await.unwrap_err();
    let CallError::Closed(why) = &error else { panic!("{error}") };
    assert!(why.contains("exit status: 3") && why.contains("no licence"), "{why}");
}

#[tokio::test]
async fn a_child_that_dies_in_the_middle_of_a_line_fails_the_calls() {
    let peer = start("read -r line; printf '{\"jsonrpc\":\"2.0\",'; exit 1").await;
    let error = peer.call::<()>("any", ()).await.unwrap_err();
    assert!(matches!(&error, CallError::Closed(why) if why.contains("exit status: 1")), "{error}");
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let command: Command = "no-such-program --at all".parse().unwrap();
    let error = child::connect(&command, nothing(), &StreamOptions::default()).await.unwrap_err();
    assert!(matches!(&error, StartError::NotFound(name) if name == "no-such-program"), "{error}");
}

/// Keeps a child that runs this script, with hardly any delay between attempts, of which there are so many.
fn keep(script: &str, attempts: u32) -> ReconnectingPeer {
    let ms = Duration::from_millis(1);
    let command = Command::new("/bin/sh").args(["-c", script]).grace(100 * ms);
    let backoff = Backoff::default().with_first(ms).with_longest(ms).with_attempts(Some(attempts));
    let options = reconnect::ReconnectOptions::default().with_backoff(backoff);
    child::reconnect(command, nothing(), StreamOptions::new(Framing::Lines), options)
}

#[tokio::test]
async fn a_child_that_dies_is_started_again_and_calls_under_way_fail() {
    // Each answers one call with its number, and ends with the next unanswered.
    let once = format!("answer=$$; head -n 1 | ( {LOOP} ); read -r line; exit 1");
    let child = keep(&once, 100);
    let peer = child.peer();
    let mut before = String::new();
    for _ in 0..3 {
        let pid: String = peer.call("pid", ()).await.unwrap();
        assert_ne!(pid, before);
        let error = peer.call::<()>("die", ()).await.unwrap_err();
        assert!(matches!(&error, CallError::Closed(why) if why.contains("exit status: 1")), "{error}");
        gone(&pid).await;
        before = pid;
    }
    let pid: String = peer.call("pid", ()).await.unwrap();
    drop((child, peer));
    gone(&pid).await;
}

#[tokio::test]
async fn a_child_that_always_dies_is_left_alone_after_so_many_attempts() {
    let name = format!("switchboard-child-{}", std::process::id());
    let file = std::env::temp_dir().join(name);
    let child = keep(&format!("echo started >> {}; exit 3", file.display()), 3);
    let error = child.peer().closed().await;
    let CallError::Unreachable(why) = &error else { panic!("{error}") };
    assert!(why.contains("gave up after 3 failed attempts") && why.contains("exit status: 3"), "{why}");
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 3);
    std::fs::remove_file(file).unwrap();
}

#[tokio::test]
async fn a_program_that_is_not_there_is_not_tried_again() {
    let command = Command::new("no-such-program");
    // With the usual delays a second attempt would take its time; there is none.
    let child = child::reconnect(
        command,
        nothing(),
        StreamOptions::default(),
        reconnect::ReconnectOptions::default(),
    );
    let error = child.peer().call::<()>("any", ()).await.unwrap_err();
    assert!(matches!(&error, CallError::CannotConnect(why) if why.contains("was not found")), "{error}");
    assert!(matches!(child.watch().state(), reconnect::ConnectionState::Closed(_)));
}

#[test]
fn a_child_does_not_outlive_the_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (peer, pid) = runtime.block_on(async {
        let peer = start(&format!("trap '' TERM HUP; answer=$$; {LOOP} sleep 1000")).await;
        let pid: String = peer.call("pid", ()).await.unwrap();
        (peer, pid)
    });
    drop(runtime);
    drop(peer);
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
}

/// This test is its own parent process: the inner one starts the child and is killed.
#[test]
fn a_child_does_not_outlive_a_killed_parent() {
    const NAME: &str = "a_child_does_not_outlive_a_killed_parent";
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    if std::env::var_os("IS_PARENT").is_some() {
        runtime.block_on(async {
            let peer =
                start(&format!("trap '' TERM HUP; answer=$$; {LOOP} while :; do sleep 1000; done")).await;
            let pid: String = peer.call("pid", ()).await.unwrap();
            println!("\npid {pid}");
            std::future::pending::<()>().await;
        });
    }
    let mut parent = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", NAME, "--nocapture"])
        .env("IS_PARENT", "yes")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let lines = std::io::BufRead::lines(std::io::BufReader::new(parent.stdout.take().unwrap()));
    let pid = lines.map_while(Result::ok).find_map(|line| line.strip_prefix("pid ").map(str::to_owned));
    parent.kill().unwrap();
    parent.wait().unwrap();
    runtime.block_on(gone(&pid.expect("the child answered")));
}

#[cfg(all(feature = "http", feature = "tcp"))]
#[tokio::test]
async fn a_raw_connection_carries_bytes_as_they_are() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let mut raw = switchboard_transport::Dial::new("exec:cat").unwrap().raw().await.unwrap();
    let sent = b"neither { JSON nor \xff a line\0";
    raw.write_all(sent).await.unwrap();
    // Its input ends, and so does what it writes.
    raw.shutdown().await.unwrap();
    let mut received = Vec::new();
    raw.read_to_end(&mut received).await.unwrap();
    assert_eq!(received, sent);
    let missing = switchboard_transport::Dial::new("exec:no-such-program-here").unwrap().raw().await;
    assert!(missing.unwrap_err().to_string().contains("was not found"));
}

#[cfg(all(feature = "http", feature = "tcp"))]
#[tokio::test]
async fn a_raw_connection_tells_how_its_program_ended() {
    let raw = async |script: &str| {
        switchboard_transport::Dial::new(&format!("exec:sh -c '{script}'")).unwrap().raw().await.unwrap()
    };
    let ended = raw("echo one >&2; echo two >&2; exit 7").await.ended().await.unwrap();
    assert_eq!((ended.status.code(), ended.words.as_str()), (Some(7), "one | two"));
    let ended = raw("kill -s SEGV $$").await.ended().await.unwrap();
    assert!(ended.status.code().is_none() && ended.status.to_string().contains("SIGSEGV"), "{ended:?}");
    let mut lasting = raw("read -r line").await;
    assert_eq!(lasting.has_ended(), None);
}
