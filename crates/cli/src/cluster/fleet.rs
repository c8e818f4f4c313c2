//! The processes of a fleet.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use super::folder::Folder;
use super::member::Member;
use super::{Demo, broker};
use crate::exit::Exit;
use crate::failure::Failure;

/// The service that the workers serve.
const SERVICE: &str = "demo";

/// Ends its own group, in which all processes are, when its input ends: when this program does, for whatever reason. Then it removes the folder.
const GUARD: &str =
    "trap '' TERM INT HUP; read -r line || { kill -s TERM 0; sleep 1; rm -rf -- \"$1\"; kill -s KILL 0; }";

/// A broker, workers and gateways. Dropping it kills them.
pub(super) struct Fleet {
    /// The URL of the broker and the service.
    pub(super) service: String,
    /// What was started, in this order.
    pub(super) broker: Option<Member>,
    pub(super) workers: Vec<Member>,
    pub(super) gateways: Vec<Member>,
    guard: Child,
    /// Removed last.
    folder: Folder,
}

impl Fleet {
    /// Starts all of it.
    pub(super) fn start(demo: &Demo) -> Result<Fleet, Failure> {
        let failed = |error: io::Error| Failure::new(Exit::CannotListen, format!("cannot start: {error}"));
        let folder = Folder::new().map_err(failed)?;
        let guard = start_guard(folder.path()).map_err(failed)?;
        let mut fleet = Fleet {
            service: String::new(),
            broker: None,
            workers: Vec::new(),
            gateways: Vec::new(),
            guard,
            folder,
        };
        fleet.start_broker(demo)?;
        let program = std::env::current_exe().map_err(failed)?;
        for number in 1..=demo.workers {
            let arguments = ["serve", "--listen", &fleet.service, "--admin", "http://127.0.0.1:0"];
            let member = fleet.start_member(&format!("worker {number}"), &program, &arguments)?;
            fleet.workers.push(member);
        }
        let config = fleet.folder.path().join("gateway.toml");
        fs::write(&config, gateway_config(&fleet.service)).map_err(failed)?;
        let config = config.to_string_lossy().into_owned();
        for number in 1..=demo.gateways {
            let any = "http://127.0.0.1:0";
            let arguments = ["gateway", "--config", &config, "--listen", any, "--admin", any];
            let member = fleet.start_member(&format!("gateway {number}"), &program, &arguments)?;
            fleet.gateways.push(member);
        }
        Ok(fleet)
    }

    fn start_broker(&mut self, demo: &Demo) -> Result<(), Failure> {
        if let Some(url) = &demo.broker {
            self.service = format!("{}/{SERVICE}", url.trim_end_matches('/'));
            return Ok(());
        }
        let command = broker::command(&demo.nats_server, self.folder.path());
        let member = Member::start("broker", command, self.group(), broker::is_ready)?;
        let address = member.said("Listening for client connections on ").unwrap_or_default();
        self.service = format!("nats://{address}/{SERVICE}");
        self.broker = Some(member);
        Ok(())
    }

    /// Starts a server of ours.
    fn start_member(&self, name: &str, program: &Path, arguments: &[&str]) -> Result<Member, Failure> {
        let mut command = Command::new(program);
        command.args(arguments);
        // What configures other servers of this machine is not for these.
        for (variable, _) in std::env::vars_os() {
            if variable.to_string_lossy().starts_with("SWITCHBOARD") {
                command.env_remove(variable);
            }
        }
        Member::start(name, command, self.group(), |line| line.contains("Press Ctrl-C"))
    }

    /// The process group of all of them.
    fn group(&self) -> i32 {
        i32::try_from(self.guard.id()).unwrap_or(0)
    }

    /// The URLs of the gateways.
    pub(super) fn gateways(&self) -> Vec<String> {
        self.gateways.iter().filter_map(url).map(str::to_owned).collect()
    }

    /// What has ended since this was last asked, in words.
    pub(super) fn ended(&mut self) -> Vec<String> {
        let members = self.broker.iter_mut().chain(&mut self.workers).chain(&mut self.gateways);
        let ended = members.filter_map(|member| {
            let status = member.ended()?;
            Some(format!("{} (pid {}) {}", member.name, member.id(), in_words(status)))
        });
        ended.collect()
    }

    /// Stops everything: first what takes calls, last what carries them.
    pub(super) fn stop(mut self) {
        for members in [&mut self.gateways, &mut self.workers] {
            members.iter_mut().for_each(Member::terminate);
            members.iter_mut().for_each(Member::wait);
        }
        if let Some(broker) = &mut self.broker {
            broker.terminate();
            broker.wait();
        }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.guard), Signal::KILL);
        let _ = self.guard.wait();
    }
}

/// Where a server listens.
pub(super) fn url(member: &Member) -> Option<&str> {
    member.said("Listening on ")
}

/// Where the admin listener of a server is.
pub(super) fn admin(member: &Member) -> Option<&str> {
    member.said("Admin on ")
}

fn start_guard(folder: &Path) -> io::Result<Child> {
    let mut command = Command::new("sh");
    command
        .args(["-c", GUARD, "sh"])
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.process_group(0).spawn()
}

/// Calls of safe methods are sent again when they fail, and to a second worker when the first takes long: it may have been killed. Both URLs are the same broker,
/// because only a call that has a second URL to go to is sent twice.
fn gateway_config(service: &str) -> String {
    let again = service.replace("127.0.0.1", "localhost");
    format!(
        "[upstream.{SERVICE}]\nurl = [\"{service}\", \"{again}\"]\nprefix = \"\"\nretry = 2\nhedge = \"250ms\"\nsafe = [\"math/*\"]\n"
    )
}

fn in_words(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("was killed by signal {signal}"),
        (None, Some(code)) => format!("ended with code {code}"),
        (None, None) => "ended".to_owned(),
    }
}
