//! Jobs: `switchboard job`, and servers that store and run them.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::broker::Broker;
use crate::program::{Serving, parts, run};
use crate::replay::{Replay, blocks, section};

/// Nothing takes that long; it only tells a hang from a slow machine.
const PATIENCE: Duration = Duration::from_secs(120);

fn queue(broker: &Broker) -> String {
    format!("{}/demo", broker.url())
}

/// What the command prints, as JSON. It must succeed.
fn job(arguments: &[&str]) -> Value {
    let (code, stdout, stderr) = parts(run(&[&["job"], arguments].concat()));
    assert_eq!(code, Some(0), "{arguments:?}: {stderr}");
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"))
}

fn submit(url: &str, more: &[&str]) -> String {
    job(&[&["submit", url], more].concat())["job"].as_str().unwrap().to_owned()
}

/// Waits until a job is in this state.
fn until_state(url: &str, id: &str, state: &str) -> Value {
    let began = Instant::now();
    loop {
        let found = job(&["status", url, id]);
        if found["state"] == state {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "{found}");
    }
}

#[test]
fn a_job_is_submitted_and_asked_for_over_every_transport() {
    let broker = Broker::start(&[]);
    let (queue, nats) = (queue(&broker), format!("{}/math", broker.url()));
    let serving = Serving::start(&["--listen", "tcp://127.0.0.1:0", "--listen", &nats, "--jobs", &queue]);
    let http = serving.url();
    let mut urls = serving.urls();
    urls.push(http.replace("http://", "ws://"));
    for url in &urls {
        let id = submit(url, &["math/add", "2", "3"]);
        let (code, stdout, stderr) = parts(run(&["job", "result", url, &id, "--wait", "1m"]));
        assert_eq!((code, stdout.as_str()), (Some(0), "5\n"), "{stderr}");
        // Another server, and another transport, know it too.
        assert_eq!(job(&["status", &http, &id])["state"], "done");
    }
    let (code, stdout, stderr) = parts(run(&["job", "submit", &http, "math/add", "x", "y", "--wait", "1m"]));
    assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
    let (code, _, stderr) = parts(run(&["job", "status", &http, "0123456789abcdef0123456789abcdef"]));
    assert_eq!(code, Some(1));
    assert!(stderr.contains("unknown job"), "{stderr}");
}

#[test]
fn a_job_of_a_worker_that_is_killed_is_done_by_another() {
    let broker = Broker::start(&[]);
    let queue = queue(&broker);
    let arguments = ["--jobs", &queue, "--set", "jobs.lost_after=1s"];
    let first = Serving::start(&arguments);
    let accepting = Serving::start(&[&arguments[..], &["--set", "jobs.workers=0"]].concat());
    let url = accepting.url();
    let id = submit(&url, &["wait", "3"]);
    until_state(&url, &id, "running");
    // SIGKILL.
    drop(first);
    let _second = Serving::start(&arguments);
    let (code, _, stderr) = parts(run(&["job", "result", &url, &id, "--wait", "2m"]));
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(job(&["status", &url, &id])["attempts"], 2);
}

#[test]
fn a_job_whose_workers_are_killed_each_time_becomes_a_dead_letter() {
    let broker = Broker::start(&[]);
    let queue = queue(&broker);
    let arguments = ["--jobs", &queue, "--set", "jobs.lost_after=1s", "--set", "jobs.attempts=2"];
    let accepting = Serving::start(&[&arguments[..], &["--set", "jobs.workers=0"]].concat());
    let url = accepting.url();
    let id = submit(&url, &["wait", "60"]);
    for attempt in 1..=2 {
        let worker = Serving::start(&arguments);
        let began = Instant::now();
        while job(&["status", &url, &id])["attempts"] != attempt {
            assert!(began.elapsed() < PATIENCE, "attempt {attempt} does not begin");
        }
        drop(worker);
    }
    let _last = Serving::start(&arguments);
    let dead = until_state(&url, &id, "dead");
    assert_eq!((&dead["attempts"], &dead["error"]["code"]), (&Value::from(2), &Value::from(-32004)));
    let (code, _, stderr) = parts(run(&["job", "result", &url, &id]));
    assert_eq!(code, Some(1));
    assert!(stderr.contains("dead letters"), "{stderr}");
}

#[test]
fn a_worker_that_stops_gives_its_jobs_to_another_at_once() {
    let broker = Broker::start(&[]);
    let queue = queue(&broker);
    // Nobody waits for a silence of ten minutes.
    let arguments = ["--jobs", &queue, "--set", "jobs.lost_after=10m", "--drain-time", "1s"];
    let first = Serving::start(&arguments);
    let accepting = Serving::start(&[&arguments[..], &["--set", "jobs.workers=0"]].concat());
    let url = accepting.url();
    let id = submit(&url, &["wait", "20"]);
    until_state(&url, &id, "running");
    first.signal("TERM");
    let (status, _) = first.wait();
    assert!(status.success());
    assert_eq!(job(&["status", &url, &id])["state"], "queued");
    let _second = Serving::start(&arguments);
    until_state(&url, &id, "running");
    assert_eq!(job(&["cancel", &url, &id])["state"], "cancelled");
    let (code, _, stderr) = parts(run(&["job", "result", &url, &id]));
    assert_eq!(code, Some(1), "{stderr}");
}

#[test]
fn a_key_is_one_job_and_a_job_that_is_not_done_has_no_result() {
    let broker = Broker::start(&[]);
    let serving = Serving::start(&["--jobs", &queue(&broker), "--set", "jobs.workers=0"]);
    let url = serving.url();
    let ids = [(); 2].map(|()| submit(&url, &["math/add", "2", "3", "--job-key", "one"]));
    assert_eq!(ids[0], ids[1]);
    let (code, stdout, stderr) = parts(run(&["job", "result", &url, &ids[0]]));
    assert_eq!((code, stdout.as_str()), (Some(4), ""), "{stderr}");
    assert!(stderr.contains("queued") && stderr.contains("--wait"), "{stderr}");
}

#[test]
fn a_server_without_a_queue_says_so() {
    let serving = Serving::start(&[]);
    let (code, _, stderr) = parts(run(&["job", "submit", &serving.url(), "math/add", "2", "3"]));
    assert_eq!(code, Some(1));
    assert!(stderr.contains("--jobs nats://"), "{stderr}");
    let (code, _, stderr) = parts(run(&["serve", "--jobs", "nats://127.0.0.1:4222"]));
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("name the service"), "{stderr}");
}

#[test]
fn jobs_work_as_the_page_says() {
    const JOBS: &str = include_str!("../../../../docs/jobs.md");
    let broker = Broker::start(&[]);
    let mut replay = Replay::new("jobs");
    replay.stand_in("nats://127.0.0.1:4222", &broker.url());
    replay.run(&blocks(section(JOBS, "Try it")));
}
