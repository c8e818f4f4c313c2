//! A process that takes over from another one, without a call that fails.

use std::fs;
use std::net::TcpListener;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use command_fds::{CommandFdExt as _, FdMapping};
use switchboard::CallError;
use tokio::runtime::Runtime;

use crate::carriers::Folder;
use crate::program::{Serving, parts, program, run};

/// A process that is not a child of this one, killed when dropped.
struct Process(u32);

impl Process {
    fn signal(&self, name: &str) -> bool {
        let mut kill = Command::new("kill");
        kill.args(["-s", name, &self.0.to_string()]).stderr(Stdio::null()).status().unwrap().success()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal("KILL");
    }
}

/// The process that has taken over.
fn successor(serving: &mut Serving) -> Process {
    let said = serving.read_until("has taken over");
    let words: Vec<&str> = said.lines().last().unwrap().split(' ').collect();
    Process(words[1].parse().unwrap())
}

fn call(url: &str, words: &[&str]) -> (Option<i32>, String, String) {
    parts(run(&[&["call", url], words].concat()))
}

fn admin(serving: &Serving) -> String {
    serving.banner.lines().find_map(|line| line.strip_prefix("Admin on ")).unwrap().to_owned()
}

/// Who answers there.
fn process(admin: &str) -> u64 {
    let (_, stdout, stderr) = call(admin, &["admin/info"]);
    let info: serde_json::Value =
        serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"));
    info["pid"].as_u64().unwrap()
}

/// Calls over connections that last and over new ones, until it is stopped.
struct Load {
    is_over: Arc<AtomicBool>,
    made: Arc<AtomicUsize>,
    callers: Vec<tokio::task::JoinHandle<Result<(), (String, CallError)>>>,
}

impl Load {
    fn start(runtime: &Runtime, urls: &[String]) -> Load {
        let mut load = Load { is_over: Arc::default(), made: Arc::default(), callers: Vec::new() };
        // A client of HTTP keeps its connections, until the server says that it closes them.
        let kept = urls.iter().filter(|url| url.starts_with("http:")).map(|url| (url, true));
        for (url, is_kept) in urls.iter().map(|url| (url, false)).chain(kept) {
            let (url, is_over, made) = (url.clone(), Arc::clone(&load.is_over), Arc::clone(&load.made));
            load.callers.push(runtime.spawn(async move {
                let failed = |error: CallError| (format!("{url}, kept: {is_kept}"), error);
                let connect = async || switchboard::connect(&url).await.map_err(|error| failed(error.into()));
                let mut peer = connect().await?;
                while !is_over.load(Ordering::Relaxed) {
                    if !is_kept {
                        peer = connect().await?;
                    }
                    assert_eq!(peer.call::<i64>("math/add", [2, 3]).await.map_err(failed)?, 5);
                    made.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            }));
        }
        load
    }

    fn go_on(&self) {
        let (before, begun) = (self.made.load(Ordering::Relaxed), Instant::now());
        while self.made.load(Ordering::Relaxed) < before + 200 {
            assert!(begun.elapsed() < Duration::from_secs(30), "calls do not go on");
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }

    fn stop(self, runtime: &Runtime) {
        self.is_over.store(true, Ordering::Relaxed);
        for caller in self.callers {
            runtime.block_on(caller).unwrap().expect("no call fails");
        }
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap()
}

#[test]
fn under_load_no_call_fails_while_processes_take_over_from_each_other() {
    let folder = Folder::new("replacing");
    let path = folder.file("rpc.sock");
    let mut serving = Serving::start(&[
        "--listen=ws://127.0.0.1:0",
        "--listen=tcp://127.0.0.1:0",
        &format!("--listen=unix:{path}"),
        "--admin=http://127.0.0.1:0",
    ]);
    let (urls, admin) = (serving.urls(), admin(&serving));
    let runtime = runtime();
    let load = Load::start(&runtime, &urls);
    load.go_on();
    // A call in progress over a connection that lasts is answered by the process that has it.
    let client = runtime.block_on(switchboard::connect(&urls[1])).unwrap();
    let slow = runtime.spawn(client.call::<f64>("wait", [2.0]).into_future());

    serving.signal("USR2");
    let first = successor(&mut serving);
    load.go_on();
    assert_eq!(runtime.block_on(slow).unwrap(), Ok(2.0));
    assert_eq!(serving.ended().code(), Some(0));
    assert_eq!(process(&admin), u64::from(first.0));
    assert!(fs::metadata(&path).is_ok(), "the socket is still there");

    assert!(first.signal("USR2"));
    let second = successor(&mut serving);
    load.go_on();
    until("the first successor has ended", || !first.signal("0"));
    load.go_on();
    load.stop(&runtime);
    assert_eq!(process(&admin), u64::from(second.0));
    for url in &urls {
        assert_eq!(call(url, &["math/add", "2", "3"]).1, "5\n", "{url}");
    }
    // The last one removes the socket.
    assert!(second.signal("TERM"));
    until("the socket is gone", || fs::metadata(&path).is_err());
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(30), "waited in vain until {what}");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

#[test]
fn a_gateway_with_another_file_takes_over_and_one_that_cannot_start_does_not() {
    let web = Serving::start(&[]);
    let folder = Folder::new("replacing-gateway");
    let file = folder.file("gateway.toml");
    let good = format!("listen = \"http://127.0.0.1:0\"\n[upstream.web]\nurl = \"{}\"\n", web.url());
    fs::write(&file, &good).unwrap();
    let mut gateway = Serving::spawn(program(&["gateway", "--config", &file, "--no-watch"]));
    let url = gateway.url();
    let adds = || call(&url, &["web/math/add", "2", "3"]).1 == "5\n";
    assert!(adds());
    fs::write(&file, good.replace("url", "ulr")).unwrap();
    gateway.signal("USR2");
    let said = gateway.read_until("This process keeps serving.");
    assert!(said.contains("unknown key `ulr`") && said.contains("did not start"), "{said}");
    assert!(adds());
    // What a running server cannot apply.
    fs::write(&file, format!("timeout = \"7s\"\n{good}")).unwrap();
    gateway.signal("HUP");
    let said = gateway.read_until("The configuration in use stays.");
    assert!(said.contains("kill -USR2"), "{said}");
    gateway.signal("USR2");
    let _successor = successor(&mut gateway);
    assert_eq!(gateway.ended().code(), Some(0));
    assert!(adds());
}

#[test]
fn a_supervisor_passes_sockets_by_name_and_is_told_what_happens() {
    let folder = Folder::new("replacing-supervised");
    let (unix, notices) = (folder.file("rpc.sock"), folder.file("notify"));
    let supervisor = UnixDatagram::bind(&notices).unwrap();
    supervisor.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let told = || {
        let mut text = [0; 256];
        let length = supervisor.recv(&mut text).unwrap();
        String::from_utf8_lossy(&text[..length]).trim_end().to_owned()
    };
    let bind = || TcpListener::bind("127.0.0.1:0").unwrap();
    let (web, admin) = (bind(), bind());
    let url = |listener: &TcpListener| format!("http://{}", listener.local_addr().unwrap());
    let urls = [url(&web), format!("unix:{unix}")];
    let admin_url = url(&admin);
    let sockets = [web.into(), admin.into(), UnixListener::bind(&unix).unwrap().into()];
    let mut shell = Command::new("sh");
    shell.args(["-c", "LISTEN_PID=$$ exec \"$0\" serve --admin 9000"]).arg(program(&[]).get_program());
    shell.env("LISTEN_FDS", "3").env("LISTEN_FDNAMES", "web:admin:web").env("NOTIFY_SOCKET", &notices);
    let mappings = (3..).zip(sockets).map(|(child_fd, parent_fd)| FdMapping { parent_fd, child_fd });
    shell.fd_mappings(mappings.collect()).unwrap();
    let mut serving = Serving::spawn(shell);
    let check = || {
        for url in &urls {
            assert_eq!(call(url, &["math/add", "2", "3"]).1, "5\n", "{url}");
        }
        process(&admin_url)
    };
    assert_eq!(told(), "READY=1");
    assert_eq!(serving.urls(), urls);
    check();
    serving.signal("USR2");
    let successor = successor(&mut serving);
    assert_eq!(told(), "READY=1");
    assert_eq!(told(), format!("MAINPID={}", successor.0));
    serving.ended();
    assert_eq!(check(), u64::from(successor.0));
    successor.signal("TERM");
    until("it has ended", || !successor.signal("0"));
    assert!(fs::metadata(&unix).is_ok(), "the file belongs to the supervisor");
}
