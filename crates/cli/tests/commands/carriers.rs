//! Every kind of URL, served and called by the program.

use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::program::{Serving, parts, program, run, run_with};

/// A folder that goes with its test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("switchboard-cli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// Writes a certificate for this machine, which is its own authority, and its key.
    pub(crate) fn certificate(&self) -> (String, String) {
        let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
        std::fs::write(self.file("cert.pem"), made.cert.pem()).unwrap();
        std::fs::write(self.file("key.pem"), made.signing_key.serialize_pem()).unwrap();
        (self.file("cert.pem"), self.file("key.pem"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all::<&Path>(&self.0);
    }
}

#[test]
fn every_kind_of_url_is_served_and_called() {
    let folder = Folder::new("urls");
    let (certificate, key) = folder.certificate();
    let unix = format!("unix:{}", folder.file("rpc.sock"));
    let arguments: Vec<&str> = ["https", "ws", "wss", "tcp", "tls"]
        .iter()
        .map(|scheme| &*format!("--listen={scheme}://127.0.0.1:0").leak())
        .chain(["--listen", &unix, "--listen", "tcp://127.0.0.1:0?framing=lsp"])
        .chain(["--tls-cert", &certificate, "--tls-key", &key])
        .collect();
    let serving = Serving::start(&arguments);
    let urls = serving.urls();
    assert_eq!(urls.len(), 8, "{urls:?}");
    for url in urls {
        let output = parts(run(&["call", &url, "math/add", "2", "3", "--cacert", &certificate]));
        assert_eq!(output, (Some(0), "5\n".to_owned(), String::new()), "{url}");
        let output = parts(run(&["call", &url, "echo", "x", "--notify", "--cacert", &certificate]));
        assert_eq!(output, (Some(0), String::new(), String::new()), "{url}");
    }
}

#[test]
fn a_certificate_that_is_not_trusted_is_told_with_what_to_do_about_it() {
    let folder = Folder::new("trust");
    let (certificate, key) = folder.certificate();
    let serving =
        Serving::start(&["--listen", "https://127.0.0.1:0", "--tls-cert", &certificate, "--tls-key", &key]);
    let url = serving.urls().remove(1);
    for command in
        [&["call", &url, "sum"][..], &["call", &url, "sum", "--retry", "1000"], &["watch", &url, "sum"]]
    {
        let (code, _, stderr) = parts(run(command));
        assert_eq!(code, Some(3), "{stderr}");
        assert!(stderr.contains("--cacert FILE") && !stderr.contains("attempt"), "{stderr}");
    }
    let (code, stdout, stderr) = parts(run(&["call", &url, "sum", "--insecure"]));
    assert_eq!((code, stdout.as_str()), (Some(0), "0\n"), "{stderr}");
    assert!(stderr.contains("warning: --insecure"), "{stderr}");
    let plain = url.replace("https:", "http:");
    let (code, _, stderr) = parts(run(&["call", &plain, "sum"]));
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("use https://"), "{stderr}");
}

#[test]
fn a_certificate_of_an_authority_is_told_with_what_to_do_about_it() {
    let folder = Folder::new("authority");
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let (certificate, file) = (folder.file("ca.pem"), folder.file("ca.key"));
    std::fs::write(&certificate, params.self_signed(&key).unwrap().pem()).unwrap();
    std::fs::write(&file, key.serialize_pem()).unwrap();
    let serving =
        Serving::start(&["--listen", "tls://127.0.0.1:0", "--tls-cert", &certificate, "--tls-key", &file]);
    let (code, _, stderr) = parts(run(&["call", &serving.urls()[1], "sum", "--cacert", &certificate]));
    assert_eq!(code, Some(3), "{stderr}");
    assert!(stderr.contains("CA:FALSE") && stderr.contains("`--insecure`"), "{stderr}");
}

#[test]
fn a_client_certificate_that_is_missing_is_told_with_what_to_do_about_it() {
    let folder = Folder::new("client");
    let (certificate, key) = folder.certificate();
    let listen = ["https", "wss", "tls"].map(|scheme| format!("--listen={scheme}://127.0.0.1:0"));
    let mut arguments: Vec<&str> = listen.iter().map(String::as_str).collect();
    arguments.extend(["--tls-cert", &certificate, "--tls-key", &key, "--client-ca", &certificate]);
    let serving = Serving::start(&arguments);
    for url in &serving.urls()[1..] {
        for retry in ["0", "1000"] {
            let call = ["call", url, "sum", "--cacert", &certificate, "--retry", retry];
            let (code, _, stderr) = parts(run(&call));
            assert_eq!(code, Some(3), "{url}: {stderr}");
            assert!(stderr.contains("`--cert FILE --key FILE`"), "{url}: {stderr}");
            assert!(!stderr.contains("attempt"), "{url}: {stderr}");
        }
    }
}

#[test]
fn a_call_over_the_wrong_transport_is_answered_with_the_url_to_use() {
    let serving =
        Serving::start(&["--listen", "tcp://127.0.0.1:0", "--listen", "tcp://127.0.0.1:0?framing=lsp"]);
    let urls = serving.urls();
    let place = |url: &str| url.split("//").last().unwrap().split('?').next().unwrap().to_owned();
    let check = |url: String, code: i32, expected: &str| {
        let (found, _, stderr) = parts(run(&["call", &url, "sum", "--timeout", "10"]));
        assert!(stderr.contains(expected), "{url}: {stderr}");
        assert_eq!(found, Some(code), "{url}: {stderr}");
    };
    let (http, tcp, lsp) = (place(&urls[0]), place(&urls[1]), place(&urls[2]));
    check(format!("tcp://{http}"), 3, &format!("for HTTP call `http://{http}`"));
    check(format!("http://{tcp}"), 5, &format!("call `tcp://{tcp}`"));
    check(format!("http://{lsp}"), 5, "?framing=lsp");
    check(format!("tcp://{tcp}?framing=lsp"), 3, "?framing=lines");
    check(format!("ws://{tcp}"), 3, &format!("call `tcp://{tcp}`"));
    check(format!("ws://{http}/nowhere"), 3, "`/rpc/ws`");
    check(format!("https://{http}/rpc"), 3, &format!("call `http://{http}/rpc`"));
    check(format!("wss://{http}"), 3, &format!("call `ws://{http}`"));
    check(format!("tls://{tcp}"), 3, &format!("call `tcp://{tcp}`"));
}

#[test]
fn websockets_are_served_at_the_usual_paths() {
    let serving = Serving::start(&[]);
    for path in ["", "/", "/ws", "/rpc/ws", "/rpc"] {
        let url = format!("{}{path}", serving.url().replace("http:", "ws:"));
        let (code, stdout, stderr) = parts(run(&["call", &url, "add", "2", "3"]));
        assert_eq!((code, stdout.as_str()), (Some(0), "5\n"), "{url}: {stderr}");
    }
}

#[test]
fn a_host_and_port_alone_mean_http() {
    let serving = Serving::start(&[]);
    let url = serving.url();
    let (code, stdout, stderr) = parts(run(&["call", url.strip_prefix("http://").unwrap(), "sum"]));
    assert_eq!((code, stdout.as_str()), (Some(0), "0\n"), "{stderr}");
}

#[test]
fn over_stdio_there_is_nothing_but_messages_on_stdout_and_the_program_ends_with_its_input() {
    let input = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"wait\",\"params\":[0.1]}\n\
                 {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"sum\"}\n";
    let (code, stdout, stderr) = parts(run_with(input, &["serve", "--stdio"]));
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(
        stdout,
        "{\"jsonrpc\":\"2.0\",\"result\":0,\"id\":2}\n{\"jsonrpc\":\"2.0\",\"result\":0.1,\"id\":1}\n"
    );
    // Whoever started it in a pipe needs no more.
    assert_eq!(stderr, "Listening on stdio\n");
}

#[test]
fn a_program_is_started_called_and_ended() {
    let url = format!("exec:{} serve --stdio", program(&[]).get_program().display());
    let (code, stdout, stderr) = parts(run(&["call", &url, "math/add", "2", "3"]));
    assert_eq!((code, stdout.as_str()), (Some(0), "5\n"), "{stderr}");
    let (code, _, stderr) = parts(run(&["call", "exec:no-such-program-anywhere", "sum"]));
    assert_eq!(code, Some(3), "{stderr}");
    assert!(stderr.contains("no-such-program-anywhere"), "{stderr}");
}

/// Starts a server with a socket that a supervisor passes.
fn supervised(listener: TcpListener, options: &[&str]) -> Child {
    // A shell moves the socket to where a supervisor puts it, and says so.
    let script = "exec 3<&0 0</dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec \"$0\" serve \"$@\"";
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(program(&[]).get_program()).args(options);
    shell.stdin(Stdio::from(std::os::fd::OwnedFd::from(listener))).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn sockets_that_a_supervisor_passes_on_are_served() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut child = supervised(listener, &[]);
    let (code, stdout, stderr) = parts(run(&["call", &format!("http://{address}"), "sum"]));
    assert_eq!((code, stdout.as_str()), (Some(0), "0\n"), "{stderr}");
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains(&format!("Listening on http://{address}\n")), "{said}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

// SEC-O-05
#[test]
fn a_public_socket_that_a_supervisor_passes_on_needs_the_option() {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let address = format!("127.0.0.1:{}", listener.local_addr().unwrap().port());
    let refused = supervised(listener.try_clone().unwrap(), &[]).wait_with_output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("other machines could reach 0.0.0.0; add `--public`"), "{said}");
    let mut child = supervised(listener, &["--public"]);
    let (code, stdout, stderr) = parts(run(&["call", &format!("http://{address}"), "sum"]));
    assert_eq!((code, stdout.as_str()), (Some(0), "0\n"), "{stderr}");
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn over_stdio_the_buffers_have_their_bound_too() {
    let call = |text: &str| {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":[\"{text}\"]}}\n")
    };
    let input = [call("short"), call(&"x".repeat(200 << 10))].concat();
    let (_, stdout, _) = parts(run_with(&input, &["serve", "--stdio", "--max-buffers", "100K"]));
    let answers: Vec<&str> = stdout.lines().collect();
    assert!(answers.len() == 2 && answers[0].contains("short"), "{stdout}");
    assert!(answers[1].contains("-32005") && answers[1].contains("buffers"), "{}", answers[1]);
}

#[test]
fn version_1_is_called_over_every_carrier() {
    let folder = Folder::new("v1");
    let unix = format!("unix:{}", folder.file("rpc.sock"));
    let lsp = "tcp://127.0.0.1:0?framing=lsp";
    let serving = Serving::start(&["--listen", "ws://127.0.0.1:0", "--listen", &unix, "--listen", lsp]);
    let exec = format!("exec:{} serve --stdio", program(&[]).get_program().display());
    for url in serving.urls().into_iter().chain([exec]) {
        let (code, stdout, stderr) = parts(run(&["call", &url, "math/add", "2", "3", "--v1", "-v"]));
        assert_eq!((code, stdout.as_str()), (Some(0), "5\n"), "{url}: {stderr}");
        let sent = stderr.lines().find(|line| line.starts_with("--> {")).unwrap();
        assert!(!sent.contains("jsonrpc"), "{url}: {sent}");
        let (code, _, stderr) = parts(run(&["call", &url, "math/sqrt", "--v1", "--", "-1"]));
        assert_eq!(code, Some(1), "{url}: {stderr}");
        let (code, stdout, stderr) = parts(run_with("sum 1 2\n", &["batch", &url, "--v1", "--concurrent"]));
        assert!(code == Some(0) && stdout.contains("\"result\":3"), "{url}: {stdout}{stderr}");
    }
}

#[test]
fn an_answer_that_is_too_long_has_one_code_over_every_carrier() {
    let serving = Serving::start(&["--listen", "ws://127.0.0.1:0", "--listen", "tcp://127.0.0.1:0"]);
    let exec = format!("exec:{} serve --stdio", program(&[]).get_program().display());
    let message = format!("echo {}", "x".repeat(200 << 10));
    for url in serving.urls().into_iter().chain([exec]) {
        for more in [&["batch"][..], &["batch", "--concurrent", "--retry", "3"], &["repl"]] {
            let arguments = [&[more[0], &url, "--max-answer", "1k"], &more[1..]].concat();
            let (code, _, stderr) = parts(run_with(&message, &arguments));
            assert_eq!(code, Some(5), "{arguments:?}: {stderr}");
            assert!(stderr.contains("`--max-answer 500M`"), "{arguments:?}: {stderr}");
            assert!(!stderr.contains("attempt"), "{arguments:?}: {stderr}");
        }
        let (code, stdout, stderr) = parts(run_with(&message, &["batch", &url, "--max-answer", "1M"]));
        assert_eq!((code, stdout.len() > 200 << 10), (Some(0), true), "{url}: {stderr}");
    }
}
