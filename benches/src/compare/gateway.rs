//! A gateway between a client and a server, compared with the server alone and with other proxies.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::http::{LOAD, round};
use super::interleave;
use crate::child::{Server, Shipped};
use crate::findings::Findings;
use crate::goal::{Goal, Limit};
use crate::load::Load;
use crate::options::Options;
use crate::report::{Ratio, Section};
use crate::servers::{self, SHIPPED};
use crate::workload::Workload;

/// The server, called without anything in between.
const DIRECT: &str = "direct";

const RATE: Ratio = Ratio { column: "requests/s", base: DIRECT };

/// Our gateway, with logs, metrics, an access rule and a rate limit, by the transport to the server.
const OURS: [(&str, f64); 3] = [("gateway-tcp", 0.8), ("gateway-ws", 0.8), ("gateway-http", 0.55)];

const CONNECTIONS: usize = 16;

/// Compares calls through gateways to one server.
///
/// # Errors
/// When a server does not start, or an answer is wrong.
pub fn run(options: &Options) -> io::Result<Findings> {
    let folder = Folder::new()?;
    let listen = ["--listen", "http://127.0.0.1:0", "--listen", "tcp://127.0.0.1:0"];
    let backend = Shipped::start("serve", &listen, options.workers)?;
    let (http, tcp) = (backend.address("http")?, backend.address("tcp")?);
    let mut servers: Vec<(String, Server)> = Vec::new();
    for ((name, _), url) in OURS.into_iter().zip([
        format!("tcp://{tcp}"),
        format!("ws://{http}/ws"),
        format!("http://{http}/rpc"),
    ]) {
        let config = folder.write(&format!("{name}.toml"), &ours(&folder, name, &url))?;
        let arguments = ["--config", config.to_str().unwrap_or_default()];
        servers
            .push((name.to_owned(), Shipped::start("gateway", &arguments, options.workers)?.into_server()?));
    }
    let nginx = folder.write("nginx.conf", &nginx(&folder, &http))?;
    servers.extend(other("nginx", &["-p", &folder.text(), "-c", &nginx.display().to_string()], NGINX)?);
    let haproxy = folder.write("haproxy.cfg", &haproxy(&http))?;
    servers.extend(other("haproxy", &["-db", "-f", &haproxy.display().to_string()], HAPROXY)?);

    let section = Section {
        title: format!("through a gateway, {CONNECTIONS} connections"),
        columns: vec![RATE.column, "CPU us", LOAD],
        ratios: vec![RATE],
        rows: measure(options, backend.into_server()?, servers)?,
    };
    let goals = OURS.map(|(name, least)| Goal::on_ratio_of(name, &section, RATE, Limit::AtLeast(least)));
    let mut findings = Findings::default();
    findings.add(section, goals);
    Ok(findings)
}

fn measure(
    options: &Options,
    direct: Server,
    servers: Vec<(String, Server)>,
) -> io::Result<Vec<crate::report::Row>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let workload = Workload::Add;
    let body = workload.body();
    let mut subjects = Vec::new();
    for (name, server) in [(DIRECT.to_owned(), direct)].into_iter().chain(servers) {
        let is_right = |answer: &[u8]| servers::is_right(SHIPPED, workload, answer);
        let load = runtime
            .block_on(Load::open(server.address, CONNECTIONS, "", &body, is_right))
            .map_err(|error| io::Error::other(format!("{name}: {error}")))?;
        subjects.push((name, (server, load)));
    }
    interleave(&mut subjects, options.rounds(), |(server, load)| {
        runtime.block_on(round(server, load, options.network_round()))
    })
}

fn ours(folder: &Folder, name: &str, url: &str) -> String {
    let log = folder.0.join(format!("{name}.log"));
    format!(
        "listen = \"http://127.0.0.1:0\"\n\
         watch = false\n\
         log.file = {log:?}\n\
         admin.url = \"http://127.0.0.1:0\"\n\
         rate = {{ limit = \"10000000/s\", per = \"all\" }}\n\
         access.rules = [{{ allow = \"**\", who = \"anyone\" }}]\n\
         [upstream.server]\nprefix = \"\"\nurl = {url:?}\n"
    )
}

/// Where the other proxies listen: they cannot choose a port themselves.
const NGINX: &str = "127.0.0.1:18471";
const HAPROXY: &str = "127.0.0.1:18472";

fn nginx(folder: &Folder, server: &str) -> String {
    let at = folder.text();
    format!(
        "daemon off; master_process off; pid {at}/nginx.pid; error_log /dev/null;\n\
         events {{ worker_connections 1024; }}\n\
         http {{ access_log off; keepalive_requests 1000000000; client_body_temp_path {at}/body; proxy_temp_path {at}/proxy;\n\
         fastcgi_temp_path {at}/fastcgi; uwsgi_temp_path {at}/uwsgi; scgi_temp_path {at}/scgi;\n\
         upstream server {{ server {server}; keepalive 64; keepalive_requests 1000000000; }}\n\
         server {{ listen {NGINX}; location / {{ proxy_pass http://server; proxy_http_version 1.1;\n\
         proxy_set_header Connection \"\"; proxy_set_header Host {server}; }} }} }}\n"
    )
}

fn haproxy(server: &str) -> String {
    format!(
        "global\n  nbthread 1\n\
         defaults\n  mode http\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n  http-reuse always\n\
         frontend front\n  bind {HAPROXY}\n  default_backend back\n\
         backend back\n  server one {server}\n"
    )
}

/// Another proxy, if it is installed.
fn other(program: &str, arguments: &[&str], address: &str) -> io::Result<Option<(String, Server)>> {
    match Server::other(program, arguments, address) {
        Ok(server) => Ok(Some((program.to_owned(), server))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            println!("{program} is not installed, so it is left out: apt-get install {program}");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Folder> {
        let path = std::env::temp_dir().join(format!("switchboard-gateway-bench-{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Folder(path))
    }

    fn write(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        let path = self.0.join(name);
        fs::write(&path, text)?;
        Ok(path)
    }

    fn text(&self) -> String {
        let path: &Path = &self.0;
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
