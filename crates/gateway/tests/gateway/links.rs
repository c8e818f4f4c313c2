//! Connections to nodes: programs that are started, shared and ended.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use switchboard_core::{
    Call, Code, Connections, ErrorObject, Outcome, ReplyFuture, Service, Upstream, service_fn,
};
use switchboard_gateway::Link;
use switchboard_transport::Dial;
use tokio::time::Instant;

use crate::fakes::{call, call_in, error, session};
use crate::until::until;

const MS: Duration = Duration::from_millis(1);

/// A file of this test that does not exist yet.
fn file(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("links-{}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

/// The server of this folder. It notes its starts in a file, and ends at once unless the other one exists.
fn program(starts: &Path, needs: Option<&Path>) -> Dial {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gateway/server.sh");
    let needs = needs.map(|path| path.display().to_string()).unwrap_or_default();
    Dial::new(&format!("exec:sh '{}' '{}' '{needs}'", script.display(), starts.display())).unwrap()
}

fn shared(count: usize) -> Link {
    Link::default().with_connections(Connections::Shared(NonZeroUsize::new(count).unwrap()))
}

/// The processes that answered: the server, and the one that it started.
async fn ask(server: &Upstream, call: Call) -> Result<[u32; 2], Code> {
    let reply = server.call(&call).await;
    match &reply.outcome {
        Outcome::Value(value) => Ok(value.decode().unwrap()),
        _ => Err(error(&reply).unwrap().code),
    }
}

fn is_alive(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

#[tokio::test]
async fn sessions_share_one_program_or_a_few() {
    for count in [1, 3] {
        let starts = file(&format!("shared-{count}"));
        let server = shared(count).upstream(program(&starts, None));
        let mut processes = Vec::new();
        for _ in 0..12 {
            processes.push(ask(&server, call_in(&session())).await.unwrap()[0]);
        }
        processes.sort_unstable();
        processes.dedup();
        assert_eq!(processes.len(), count);
        drop(server);
        until("all programs have ended", || !processes.iter().any(|process| is_alive(*process))).await;
    }
}

#[tokio::test]
async fn each_client_has_its_own_program_which_ends_with_the_session() {
    let server = Link::default().upstream(program(&file("own"), None));
    let (one, two) = (session(), session());
    let first = ask(&server, call_in(&one)).await.unwrap();
    let second = ask(&server, call_in(&two)).await.unwrap();
    assert_ne!(first, second);
    assert_eq!(ask(&server, call_in(&one)).await, Ok(first));
    // Callers without a session of their own share one.
    let shared = ask(&server, call()).await.unwrap();
    assert_eq!(ask(&server, call()).await, Ok(shared));
    assert!(shared != first && shared != second);
    drop(one);
    until("the processes of the first session have ended", || !first.into_iter().any(is_alive)).await;
    assert_eq!(ask(&server, call_in(&two)).await, Ok(second), "another session is not touched");
}

#[tokio::test]
async fn a_broken_connection_of_a_client_is_replaced() {
    let server = Link::default().upstream(program(&file("broken"), None));
    let (one, two) = (session(), session());
    let (first, other) =
        (ask(&server, call_in(&one)).await.unwrap(), ask(&server, call_in(&two)).await.unwrap());
    let killed = std::process::Command::new("kill").args(["-9", &first[0].to_string()]).status();
    assert!(killed.unwrap().success());
    // One call may be on its way before the end is noticed; nothing else is lost.
    let next = match ask(&server, call_in(&one)).await {
        Ok(next) => next,
        Err(code) => {
            assert_eq!(code, Code::UPSTREAM_FAILED);
            ask(&server, call_in(&one)).await.unwrap()
        }
    };
    assert_ne!(first, next);
    until("what the killed program started has ended", || !first.into_iter().any(is_alive)).await;
    assert_eq!(ask(&server, call_in(&two)).await, Ok(other));
}

#[tokio::test]
async fn an_idle_program_ends_with_all_that_it_started() {
    for link in [shared(1), Link::default()] {
        let server = link.with_idle(Some(100 * MS)).upstream(program(&file("idle"), None));
        let session = session();
        let first = ask(&server, call_in(&session)).await.unwrap();
        until("the idle program has ended", || !first.into_iter().any(is_alive)).await;
        let second = ask(&server, call_in(&session)).await.unwrap();
        assert_ne!(first, second);
    }
}

#[tokio::test]
async fn a_program_with_a_call_in_progress_is_not_idle() {
    let server = Link::default().with_idle(Some(300 * MS)).upstream(program(&file("busy"), None));
    let session = session();
    let first = ask(&server, call_in(&session)).await.unwrap();
    let mut slow = call_in(&session);
    slow.method = "slow".into();
    assert_eq!(ask(&server, slow).await, Ok(first));
    assert_eq!(ask(&server, call_in(&session)).await, Ok(first));
}

#[tokio::test]
async fn an_old_program_finishes_its_calls_and_is_replaced() {
    let server = Link::default().with_lifetime(Some(200 * MS)).upstream(program(&file("old"), None));
    let session = session();
    let first = ask(&server, call_in(&session)).await.unwrap();
    let mut slow = call_in(&session);
    slow.method = "slow".into();
    assert_eq!(ask(&server, slow).await, Ok(first));
    let second = ask(&server, call_in(&session)).await.unwrap();
    assert_ne!(first, second);
    until("the old program has ended", || !first.into_iter().any(is_alive)).await;
}

#[tokio::test]
async fn a_program_that_ends_at_once_is_not_started_for_every_call() {
    let (starts, needs) = (file("starts"), file("needs"));
    let server = Link::default().upstream(program(&starts, Some(&needs)));
    let session = session();
    // Calls that fail together count once.
    let failed = join_all((0..20).map(|_| ask(&server, call_in(&session)))).await;
    assert!(failed.iter().all(|result| *result == Err(Code::UPSTREAM_FAILED)), "{failed:?}");
    for _ in 0..200 {
        assert_eq!(ask(&server, call_in(&session)).await, Err(Code::UPSTREAM_FAILED));
    }
    let count = std::fs::read_to_string(&starts).unwrap().lines().count();
    assert!(count <= 8, "it was started {count} times for 220 calls");
    std::fs::write(&needs, "").unwrap();
    let begun = Instant::now();
    while ask(&server, call_in(&session)).await.is_err() {
        assert!(begun.elapsed() < Duration::from_secs(5), "it is not started again");
        tokio::task::yield_now().await;
    }
    assert!(ask(&server, call_in(&session)).await.is_ok());
}

#[tokio::test]
async fn a_program_that_answers_and_ends_soon_is_not_started_for_every_call() {
    for end in ["crash", "last"] {
        let starts = file(&format!("young-{end}"));
        let server = Link::default().upstream(program(&starts, None));
        let (one, two) = (session(), session());
        for _ in 0..100 {
            let mut last = call_in(&one);
            last.method = end.into();
            let _ = join_all([ask(&server, call_in(&one)), ask(&server, last)]).await;
        }
        let count = std::fs::read_to_string(&starts).unwrap().lines().count();
        assert!(count <= 8, "{end}: it was started {count} times for 100 calls");
        assert!(ask(&server, call_in(&two)).await.is_ok(), "{end}: another client does not wait");
    }
}

#[tokio::test]
async fn the_program_of_a_session_that_answers_and_ends_soon_is_not_started_for_every_call() {
    let starts = file("young-session");
    let connect = Link::default().connector(program(&starts, None));
    for _ in 0..100 {
        let nothing =
            service_fn(|call: &Call| ReplyFuture::ready(ErrorObject::method_not_found(call.method.as_str())));
        let Ok(peer) = connect(Arc::new(nothing)).await else { continue };
        assert!(peer.call::<[u32; 2]>("handshake", ()).await.is_ok());
        assert!(peer.call::<[u32; 2]>("crash", ()).await.is_err());
    }
    let count = std::fs::read_to_string(&starts).unwrap().lines().count();
    assert!((2..=8).contains(&count), "it was started {count} times for 100 calls");
}

#[tokio::test]
async fn a_program_that_does_not_survive_discovery_is_started_for_clients() {
    let (starts, needs) = (file("fragile"), file("fragile-needs"));
    let server = Link::default().upstream(program(&starts, Some(&needs)));
    let asked = server.call(&Call::new("rpc.discover", None)).await;
    assert!(matches!(asked.outcome, Outcome::Error(_)), "{asked:?}");
    std::fs::write(&needs, "").unwrap();
    assert!(ask(&server, call_in(&session())).await.is_ok());
}

#[tokio::test]
async fn programs_of_one_client_that_die_delay_no_other_client() {
    let (starts, needs) = (file("dying"), file("dying-needs"));
    let server = Link::default().upstream(program(&starts, Some(&needs)));
    let (one, two) = (session(), session());
    // The first client's program dies often enough to have to wait for the next start.
    let has_to_wait = async || {
        let before = std::fs::read_to_string(&starts).unwrap_or_default().len();
        assert!(ask(&server, call_in(&one)).await.is_err());
        std::fs::read_to_string(&starts).unwrap().len() == before
    };
    while !has_to_wait().await {}
    std::fs::write(&needs, "").unwrap();
    assert!(ask(&server, call_in(&two)).await.is_ok());
    assert!(ask(&server, call()).await.is_ok(), "nor callers without a session of their own");
}

#[tokio::test]
async fn programs_of_a_dropped_server_end_before_their_sessions() {
    let starts = file("dropped");
    let server = Link::default().upstream(program(&starts, None));
    let (one, two) = (session(), session());
    let [first, _] = ask(&server, call_in(&one)).await.unwrap();
    let [second, _] = ask(&server.clone(), call_in(&two)).await.unwrap();
    assert!(first != second && is_alive(first) && is_alive(second));
    drop(server);
    until("both programs have ended", || !is_alive(first) && !is_alive(second)).await;
    drop((one, two));
}
