//! `switchboard cluster demo`: a fleet of real processes.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::program::{Serving, parts, post, program, run};

/// A running fleet, and what it says of its processes.
struct Fleet(Serving);

impl Fleet {
    fn start(more: &[&str]) -> Fleet {
        Fleet(Serving::spawn(program(&[&["cluster", "demo"], more].concat())))
    }

    /// The processes with this in their name: process, URL, admin URL.
    fn members(&self, name: &str) -> Vec<(u32, String, String)> {
        let rows =
            self.0.banner.lines().filter(|line| line.trim_start().starts_with(name) && line.contains("pid "));
        let member = |line: &str| {
            let after = line.split_once("pid ").unwrap().1;
            let mut words = after.split_whitespace();
            let (id, url) = (words.next().unwrap().parse().unwrap(), words.next().unwrap().to_owned());
            let admin = words.nth(1).unwrap_or_default().to_owned();
            (id, url, admin)
        };
        rows.map(member).collect()
    }

    fn all(&self) -> Vec<u32> {
        let kinds = ["broker", "worker", "gateway"];
        kinds.iter().flat_map(|kind| self.members(kind)).map(|(id, ..)| id).collect()
    }
}

/// Whether there is such a process that has not ended.
fn is_running(id: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let state = status.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

fn kill(signal: &str, id: u32) {
    assert!(Command::new("kill").args(["-s", signal, &id.to_string()]).status().unwrap().success());
}

/// Waits until this holds.
fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(30), "waited in vain until {what}");
        std::thread::yield_now();
    }
}

fn add(url: &str, number: u64) {
    let body = format!(r#"{{"jsonrpc":"2.0","method":"math/add","params":[{number},1],"id":{number}}}"#);
    assert_eq!(post(url, "", &body), json!({"jsonrpc": "2.0", "result": number + 1, "id": number}), "{url}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_fleet_loses_no_safe_call_when_a_worker_is_killed_and_stops_as_one() {
    let mut fleet = Fleet::start(&["--rate", "200"]);
    let (workers, gateways) = (fleet.members("worker"), fleet.members("gateway"));
    let broker = fleet.members("broker").remove(0);
    assert_eq!((workers.len(), gateways.len()), (3, 2), "{}", fleet.0.banner);
    for (_, url, _) in &gateways {
        add(url, 1);
    }
    let service = format!("{}/demo", broker.1);
    assert_eq!(parts(run(&["call", &service, "math/add", "2", "3"])).1, "5\n");
    // Calls are in flight at both gateways while a worker is killed.
    let urls: Vec<String> = gateways.iter().map(|(_, url, _)| url.clone()).collect();
    let calling: Vec<_> = urls
        .into_iter()
        .map(|url| std::thread::spawn(move || (0..300).for_each(|number| add(&url, number))))
        .collect();
    kill("KILL", workers[0].0);
    fleet.0.read_until("was killed by signal 9");
    calling.into_iter().for_each(|calls| calls.join().unwrap());
    // The others serve, and the views show it.
    let (code, shown, stderr) = parts(run(&["top", &gateways[1].2, "--once"]));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(shown.contains("math/add"), "{shown}");
    let page = Command::new("curl")
        .args([
            "-fsS",
            "-H",
            "accept: text/html",
            "-H",
            "accept-encoding: identity",
            &format!("{}/", gateways[0].2),
        ])
        .output()
        .unwrap();
    assert!(
        page.status.success()
            && String::from_utf8_lossy(&page.stdout).to_lowercase().contains("<!doctype html")
    );
    let all = fleet.all();
    assert_eq!(all.len(), 6);
    fleet.0.signal("INT");
    let said = fleet.0.read_until("Stopped.");
    assert!(said.contains(" 0 failed"), "{said}");
    assert!(fleet.0.ended().success());
    assert!(all.iter().all(|id| !is_running(*id)), "{all:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_fleet_that_is_killed_leaves_no_process_and_no_file() {
    let folder = std::env::temp_dir().join(format!("switchboard-fleet-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let mut command = program(&["cluster", "demo", "--workers", "1", "--gateways", "1", "--rate", "0"]);
    command.env("TMPDIR", &folder);
    let mut fleet = Fleet(Serving::spawn(command));
    let files = || std::fs::read_dir(&folder).unwrap().count();
    assert_eq!(files(), 1);
    let all = fleet.all();
    assert!(all.len() == 3 && all.iter().all(|id| is_running(*id)));
    fleet.0.signal("KILL");
    fleet.0.ended();
    until("all have ended", || all.iter().all(|id| !is_running(*id)));
    until("the files are removed", || files() == 0);
    std::fs::remove_dir(&folder).unwrap();
}

#[test]
fn a_fleet_stops_by_itself_after_a_time_and_counts() {
    let arguments = ["cluster", "demo", "--workers", "2", "--gateways", "2", "--rate", "100", "--for", "1s"];
    let (code, _, stderr) = parts(run(&arguments));
    assert_eq!(code, Some(0), "{stderr}");
    let last = stderr.lines().last().unwrap();
    let answered = last.strip_prefix("Stopped. ").and_then(|rest| rest.split_once(' ')).unwrap().0;
    assert!(answered.parse::<u32>().unwrap() > 0 && last.contains(", 0 failed"), "{last}");
}

#[test]
fn without_the_program_of_the_broker_the_error_says_how_to_install_it() {
    let (code, _, stderr) = parts(run(&["cluster", "demo", "--nats-server", "/nowhere/nats-server"]));
    assert_eq!(code, Some(3), "{stderr}");
    assert!(stderr.contains("apt install nats-server") && stderr.contains("--broker"), "{stderr}");
    assert!(Path::new("/nowhere").metadata().is_err());
}
