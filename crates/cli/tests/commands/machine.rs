//! A machine to deploy on: a folder in the place of `/`, and stand-ins for what needs an administrator.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::program::program;
use crate::replay::{DEFAULT, Replay};

const PACKAGING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging");

/// All units.
const UNITS: [&str; 4] = [
    "switchboard.service",
    "switchboard.socket",
    "switchboard-gateway.service",
    "switchboard-gateway.socket",
];

/// Whether one of these programs is not installed, which is said on stderr.
#[expect(clippy::print_stderr, reason = "a skipped test says why")]
pub(crate) fn is_missing(programs: &[&str]) -> bool {
    let missing = programs.iter().find(|name| find(name).is_none());
    if let Some(name) = missing {
        eprintln!("skipped: {name} is not installed; `cargo xtask test` installs it");
    }
    missing.is_some()
}

fn find(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// What the administrator's commands change.
pub(crate) struct Machine {
    root: PathBuf,
}

/// A program that ends with its test.
pub(crate) struct Running(Child);

impl Drop for Running {
    /// Asks it to end, so that it ends its own processes too.
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

impl Machine {
    /// Makes the folder, and has the commands of a page use it.
    pub(crate) fn prepare(replay: &mut Replay) -> Machine {
        let root = replay.folder().join("root");
        let folders = ["root/etc/default", "root/usr/lib", "packaging", ".cargo/bin"];
        for folder in folders {
            fs::create_dir_all(replay.folder().join(folder)).unwrap();
        }
        let files = fs::read_dir(PACKAGING).unwrap().map(Result::unwrap);
        for file in files.filter(|file| file.file_type().unwrap().is_file()) {
            fs::copy(file.path(), replay.folder().join("packaging").join(file.file_name())).unwrap();
        }
        let installed = replay.folder().join(".cargo/bin/switchboard");
        std::os::unix::fs::symlink(program(&[]).get_program(), installed).unwrap();
        for folder in ["/etc/", "/usr/local/"] {
            replay.stand_in(folder, &format!("{}{folder}", root.display()));
        }
        let machine = Machine { root };
        machine.add_tools(replay);
        machine
    }

    fn add_tools(&self, replay: &Replay) {
        let root = self.root.display();
        replay.tool("sudo", "exec \"$@\"");
        if let Some(systemctl) = find("systemctl") {
            let enable = format!("exec {} --root={root} enable \"$unit\"", systemctl.display());
            replay
                .tool("systemctl", &format!("for unit; do :; done\n[ \"$1\" = enable ] && {enable}\nexit 0"));
        }
        if let Some(nginx) = find("nginx") {
            replay.tool("nginx", &format!("exec {} -p {root} -c {root}/nginx.conf \"$@\"", nginx.display()));
        }
    }

    /// The units are valid, and the socket is enabled.
    pub(crate) fn verify_units(&self) {
        let known = ["/usr/lib/systemd", "/lib/systemd"].into_iter().find(|path| Path::new(path).exists());
        let copy = Command::new("cp").args(["-r", known.unwrap()]).arg(self.root.join("usr/lib")).status();
        assert!(copy.unwrap().success());
        // A unit must not name a program that the machine does not have.
        fs::create_dir_all(self.root.join("bin")).unwrap();
        fs::copy(find("kill").unwrap(), self.root.join("bin/kill")).unwrap();
        for unit in UNITS {
            fs::copy(Path::new(PACKAGING).join(unit), self.root.join("etc/systemd/system").join(unit))
                .unwrap();
        }
        let mut verify = Command::new("systemd-analyze");
        verify.arg("verify").arg(format!("--root={}", self.root.display()));
        let output = verify.args(UNITS).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.as_str()), (Some(0), ""));
        let enabled = self.root.join("etc/systemd/system/sockets.target.wants/switchboard.socket");
        assert!(fs::symlink_metadata(enabled).unwrap().is_symlink());
    }

    /// Starts the service as systemd does: with its options, and with the listening socket of its socket unit.
    pub(crate) fn start_service(&self, replay: &mut Replay) -> Running {
        let unit = fs::read_to_string(self.root.join("etc/systemd/system/switchboard.service")).unwrap();
        let command = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
        let defaults = fs::read_to_string(self.root.join("etc/default/switchboard")).unwrap();
        let (name, options) = defaults.trim_end().split_once('=').unwrap();
        let mut shell = replay.shell(&inheriting(&format!("LISTEN_FDS=1 LISTEN_PID=$$ exec {command}")));
        shell.env(name, options);
        let (running, address) = listening(shell);
        replay.stand_in_port(DEFAULT, &address.to_string());
        running
    }

    /// Has the site listen on a free port, and starts nginx with it once the commands have put it in its place.
    pub(crate) fn start_nginx(&self, replay: &mut Replay, install: impl FnOnce(&mut Replay)) -> Running {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let site = replay.folder().join("packaging/nginx.conf");
        let text = fs::read_to_string(&site).unwrap();
        assert!(text.contains("listen 443 ssl;"), "{text}");
        let text = text.replace("listen 443 ssl;", &format!("listen {address} ssl;"));
        fs::write(&site, replay.here(&text)).unwrap();
        fs::write(self.root.join("nginx.conf"), self.nginx()).unwrap();
        install(replay);
        for end in [' ', '/'] {
            let real = format!("//localhost:{}{end}", address.port());
            replay.stand_in(&format!("//localhost{end}"), &real);
        }
        let shell = replay.shell(&inheriting("NGINX='3;' exec nginx -g 'daemon off;'"));
        spawn(shell, listener)
    }

    /// What surrounds a site of nginx.
    fn nginx(&self) -> String {
        let root = self.root.display();
        let kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let folders: String = kinds.iter().map(|kind| format!("{kind}_temp_path {root}/{kind};\n")).collect();
        format!(
            "pid {root}/nginx.pid;\nerror_log {root}/error.log;\nevents {{}}\n\
             http {{\naccess_log off;\n{folders}include {root}/etc/nginx/conf.d/*.conf;\n}}\n"
        )
    }
}

/// A script that finds a socket as its third file, where supervisors put it.
fn inheriting(script: &str) -> String {
    format!("exec 3<&0 0</dev/null; {script}")
}

fn listening(shell: Command) -> (Running, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (spawn(shell, listener), address)
}

/// Starts a program with this socket as its input.
fn spawn(mut shell: Command, listener: TcpListener) -> Running {
    Running(shell.stdin(Stdio::from(OwnedFd::from(listener))).stderr(Stdio::null()).spawn().unwrap())
}
