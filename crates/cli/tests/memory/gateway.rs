//! What clients of a gateway cost: nothing once they are gone, and little while they are idle.
//!
//! There are few of them in a debug build and 10,000 in an optimised one; `CYCLES` in the environment sets how many.

use std::fs;
use std::time::{Duration, Instant};

use switchboard::server::raise_file_limit;
use switchboard::{Peer, connect};

use crate::program::{self, Serving};
use crate::{Folder, KIB, MIB};

/// Answers every call; over stdin and stdout.
const PROGRAM: &str = r#"while read -r line; do
    id=${line##*\"id\":}
    echo "{\"jsonrpc\":\"2.0\",\"id\":${id%%[,\}]*},\"result\":7}"
done
"#;

/// How many clients come and go at the same time.
const AT_ONCE: usize = 4;

/// How many clients there are.
fn clients(debug: usize) -> usize {
    let given = std::env::var("CYCLES").ok().map(|cycles| cycles.parse().unwrap());
    given.unwrap_or(if cfg!(debug_assertions) { debug } else { 10_000 })
}

fn gateway(upstream: &str) -> Serving {
    let arguments = ["gateway", upstream, "--listen", "http://127.0.0.1:0", "--max-connections", "20000"];
    let mut command = program::program(&arguments);
    // What counts is what it holds, not what its allocator keeps for a moment.
    command.env("MIMALLOC_PURGE_DELAY", "0");
    Serving::spawn(command)
}

fn runtime() -> tokio::runtime::Runtime {
    // Connections close while nothing waits for them.
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// Opens a WebSocket and calls once.
async fn open(url: &str, method: &str) -> Peer {
    let peer = connect(url).await.unwrap();
    let answer = peer.call::<i64>(method, [3, 4]).await;
    assert_eq!(answer, Ok(7));
    peer
}

/// The descriptors of a process, and the processes that it has started.
fn held(process: u32) -> (usize, usize) {
    let descriptors = fs::read_dir(format!("/proc/{process}/fd")).unwrap().count();
    let is_child = |stat: &str| {
        let after_name = stat.rsplit_once(") ").map(|(_, rest)| rest);
        after_name.and_then(|rest| rest.split(' ').nth(1)) == Some(&process.to_string())
    };
    let all = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let stats = all.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    (descriptors, stats.filter(|stat| is_child(stat)).count())
}

/// What a process holds once it is as little as before, or after a while.
fn settled(process: u32, before: (usize, usize)) -> (usize, usize) {
    let begun = Instant::now();
    loop {
        let now = held(process);
        if now.0 <= before.0 && now.1 <= before.1 || begun.elapsed() > Duration::from_secs(20) {
            return now;
        }
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

#[test]
fn sessions_with_a_program_each_leave_no_process_and_no_descriptor() {
    let folder = Folder::new("gateway-cycles");
    fs::write(folder.file("program.sh"), PROGRAM).unwrap();
    let serving = gateway(&format!("exec:sh {}", folder.file("program.sh")));
    let (url, process, runtime) = (serving.url().replacen("http", "ws", 1), serving.id(), runtime());
    let cycles = |count: usize| {
        let cycle = async || {
            for _ in 0..count / AT_ONCE {
                drop(open(&url, "sum").await);
            }
        };
        runtime.block_on(futures_util::future::join_all((0..AT_ONCE).map(|_| cycle())));
    };
    // The program that the gateway asks for its methods has ended, or stays.
    let idle = held(process);
    cycles(20);
    let (warm, memory) = (settled(process, idle), serving.memory("VmRSS:"));
    cycles(clients(100));
    let after = settled(process, warm);
    let growth = serving.memory("VmRSS:").saturating_sub(memory);
    println!("idle {idle:?}, warm {warm:?}, after {after:?}, {} KiB more", growth / KIB);
    assert!(after.0 <= warm.0, "descriptors are left: {warm:?}, {after:?}");
    assert!(after.1 <= warm.1, "processes are left: {warm:?}, {after:?}");
    // A task that stayed would hold kilobytes a session.
    assert!(growth < 8 * MIB, "{growth} bytes are left");
}

#[test]
fn idle_clients_of_a_gateway_cost_at_most_12_kb_each() {
    let server = Serving::spawn(program::program(&["serve", "--listen", "tcp://127.0.0.1:0"]));
    let serving = gateway(&server.url());
    let (url, runtime, count) = (serving.url().replacen("http", "ws", 1), runtime(), clients(300));
    raise_file_limit(count + 500);
    let connected = |count: usize| -> Vec<Peer> {
        (0..count).map(|_| runtime.block_on(open(&url, "math/add"))).collect()
    };
    let first = connected(100);
    let before = serving.memory("VmRSS:");
    let idle = connected(count);
    let each = serving.memory("VmRSS:").saturating_sub(before) / count;
    println!("{count} idle connections, {each} bytes each");
    assert!(each <= 12 * KIB, "an idle connection takes {each} bytes");
    drop((first, idle));
}
