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

/// How much of the server's throughput is left through our gateway, with logs, metrics, an access rule and a rate limit, by the
/// transport to the server. These were set with jsonrpsee behind the gateway. Our own server needs so little for a call that
/// whatever is before it weighs more.
const DUPLEX: f64 = 0.8;
const PLAIN: f64 = 0.55;

const AGAINST_HAPROXY: Ratio = Ratio { column: "requests/s", base: "haproxy" };

const CONNECTIONS: usize = 16;

/// How many calls a second are sent to see what a gateway adds to the time that each takes.
const PACE: u32 = 1_000;

const MEDIAN: Ratio = Ratio { column: "p50 us", base: DIRECT };
const SLOWEST: Ratio = Ratio { column: "p99 us", base: DIRECT };

/// How much a gateway may add, in microseconds.
const ADDED: [(Ratio, f64); 2] = [(MEDIAN, 100.0), (SLOWEST, 1_000.0)];

/// Compares calls through gateways to one server: jsonrpsee's, and ours.
///
/// # Errors
/// When a server does not start, or an answer is wrong.
pub fn run(options: &Options) -> io::Result<Findings> {
    let mut findings = Findings::default();
    let server = Server::start("jsonrpsee", options.workers)?;
    let (ws, http) = (format!("ws://{}", server.address), format!("http://{}", server.address));
    let urls = [("gateway-ws", ws), ("gateway-http", http)];
    let (section, paced) = through(options, "jsonrpsee", server, &urls)?;
    let mut goals = vec![
        Goal::on_ratio_of("gateway-ws", &section, RATE, Limit::AtLeast(DUPLEX)),
        Goal::on_ratio_of("gateway-http", &section, RATE, Limit::AtLeast(PLAIN)),
    ];
    if section.rows.iter().any(|row| row.name == AGAINST_HAPROXY.base) {
        goals.push(Goal::on_ratio_of("gateway-http", &section, AGAINST_HAPROXY, Limit::AtLeast(1.0)));
    }
    findings.add(section, goals);
    let goals: Vec<Goal> = urls
        .iter()
        .flat_map(|(name, _)| ADDED.map(|(of, most)| (name, of, Limit::AtMost(most))))
        .map(|(name, of, limit)| Goal::on_difference_of(name, &paced, of, limit))
        .collect();
    findings.add(paced, goals);

    let listen = ["--listen", "http://127.0.0.1:0", "--listen", "tcp://127.0.0.1:0"];
    let server = Shipped::start("serve", &listen, options.workers)?;
    let (http, tcp) = (server.address("http")?, server.address("tcp")?);
    let urls = [
        ("gateway-tcp", format!("tcp://{tcp}")),
        ("gateway-ws", format!("ws://{http}/ws")),
        ("gateway-http", format!("http://{http}/rpc")),
    ];
    let (section, paced) = through(options, SHIPPED, server.into_server()?, &urls)?;
    findings.add(section, []);
    findings.add(paced, []);
    Ok(findings)
}

/// Measures calls to this server, direct, through our gateway with these URLs, and through other proxies: as many as possible, and at a
/// fixed rate.
fn through(
    options: &Options,
    name: &str,
    direct: Server,
    urls: &[(&str, String)],
) -> io::Result<(Section, Section)> {
    let folder = Folder::new()?;
    let http = direct.address.to_string();
    let mut proxies: Vec<(String, Server)> = Vec::new();
    for (name, url) in urls {
        let config = folder.write(&format!("{name}.toml"), &ours(&folder, name, url))?;
        let arguments = ["--config", config.to_str().unwrap_or_default()];
        let gateway = Shipped::start("gateway", &arguments, options.workers)?;
        proxies.push(((*name).to_owned(), gateway.into_server()?));
    }
    let nginx = folder.write("nginx.conf", &nginx(&folder, &http))?;
    let arguments = ["-p", &folder.text(), "-c", &nginx.display().to_string()];
    proxies.extend(other(options, "nginx", &arguments, NGINX)?);
    let haproxy = folder.write("haproxy.cfg", &haproxy(&http))?;
    let arguments = ["-db", "-f", &haproxy.display().to_string()];
    proxies.extend(other(options, "haproxy", &arguments, HAPROXY)?);
    measure(options, name, direct, proxies)
}

fn measure(
    options: &Options,
    backend: &str,
    direct: Server,
    proxies: Vec<(String, Server)>,
) -> io::Result<(Section, Section)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let workload = Workload::Add;
    let body = workload.body();
    let mut subjects = Vec::new();
    for (name, server) in [(DIRECT.to_owned(), direct)].into_iter().chain(proxies) {
        let is_right = |answer: &[u8]| servers::is_right(backend, workload, answer);
        let load = runtime
            .block_on(Load::open(server.address, CONNECTIONS, "", &body, is_right))
            .map_err(|error| io::Error::other(format!("{name}: {error}")))?;
        subjects.push((name, (server, load)));
    }
    let busy = interleave(&mut subjects, options.rounds(), |(server, load)| {
        runtime.block_on(round(server, load, options.network_round()))
    })?;
    let paced = interleave(&mut subjects, options.rounds(), |(_, load)| {
        let took = runtime.block_on(load.paced(PACE, options.network_round()))?;
        let at = |part: f64| took[(took.len() as f64 * part) as usize].as_secs_f64() * 1e6;
        Ok(vec![at(0.5), at(0.99)])
    })?;
    Ok((
        Section {
            title: format!("{backend} through a gateway, {CONNECTIONS} connections"),
            columns: vec![RATE.column, "CPU us", LOAD],
            ratios: vec![RATE],
            rows: busy,
        },
        Section {
            title: format!("{backend} through a gateway, {PACE} calls a second"),
            columns: vec![MEDIAN.column, SLOWEST.column],
            ratios: Vec::new(),
            rows: paced,
        },
    ))
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
fn other(
    options: &Options,
    program: &str,
    arguments: &[&str],
    address: &str,
) -> io::Result<Option<(String, Server)>> {
    let server = Server::optional(options, program, arguments, address)?;
    Ok(server.map(|server| (program.to_owned(), server)))
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
