//! `switchboard check` finds no faults in our own server, over every transport and in every profile.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::PathBuf;

use serde_json::Value;

use crate::far::Far;
use crate::program::{Serving, answering, listener, parts, program, run};
use crate::terminal::at_terminal;

/// Runs a check; returns the cases that fail or warn.
fn offended(url: &str, more: &[&str]) -> BTreeSet<String> {
    let (code, stdout, stderr) = parts(run(&[&["check", url, "--json"], more].concat()));
    assert_eq!(code, Some(0), "{url} {more:?}: {stderr}\n{stdout}");
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert!(report["pass"].as_u64().unwrap() > 15, "{stdout}");
    let findings = report["findings"].as_array().unwrap().iter();
    let bad = findings.filter(|finding| matches!(finding["verdict"].as_str(), Some("fail" | "warn")));
    bad.map(|finding| finding["case"].as_str().unwrap().to_owned()).collect()
}

/// The same in the profile that requires most.
fn strictly(url: &str) -> BTreeSet<String> {
    offended(url, &["--profile", "strict"])
}

#[test]
fn our_server_has_no_faults_over_http_in_any_profile() {
    let serving = Serving::start(&[]);
    for profile in ["spec", "lenient", "ethereum", "lsp", "v1"] {
        let none = BTreeSet::new();
        assert_eq!(offended(&serving.url(), &["--quick", "--profile", profile]), none, "{profile}");
    }
    // A request with both a length and chunks is read by its chunks, and the connection closes; a strict server refuses it.
    assert_eq!(strictly(&serving.url()), BTreeSet::from(["http-two-lengths".to_owned()]));
}

#[test]
fn our_server_has_no_faults_for_clients_of_mcp() {
    let serving = Serving::start(&[]);
    // As a child: MCP-S-01, MCP-S-02, MCP-S-04
    let child = format!("exec:{} serve --stdio --mcp", env!("CARGO_BIN_EXE_switchboard"));
    for url in [format!("{}/mcp", serving.url()), child] {
        let (code, stdout, stderr) = parts(run(&["check", &url, "--json", "--quick", "--profile", "mcp"]));
        assert_eq!(code, Some(0), "{stderr}");
        let report: Value = serde_json::from_str(&stdout).unwrap();
        assert!(report["warn"] == 0 && report["fail"] == 0, "{url}: {stdout}");
        let passed = |area: &str| {
            let areas = report["areas"].as_array().unwrap();
            areas.iter().find(|own| own["area"] == area).unwrap()["pass"].as_u64().unwrap()
        };
        // Both eras are checked, and the transport.
        let areas = ["mcp-sessions", "mcp-features", "mcp-stateless"];
        assert!(areas.iter().all(|area| passed(area) >= 9), "{url}: {stdout}");
        assert_eq!(passed("mcp-stdio"), if url.starts_with("exec:") { 2 } else { 0 }, "{stdout}");
        assert_eq!(passed("mcp-http"), if url.starts_with("exec:") { 0 } else { 13 }, "{stdout}");
    }
}

#[test]
fn cases_of_mcp_are_listed_reported_and_asked_for_with_their_profile() {
    let (code, stdout, _) = parts(run(&["check", "--list", "--profile", "mcp"]));
    assert!(code == Some(0) && stdout.contains("mcp-ping") && stdout.contains("MCP-L-11"), "{stdout}");
    let (_, stdout, _) = parts(run(&["check", "--list"]));
    assert!(!stdout.contains("mcp-ping"), "{stdout}");
    let (code, stdout, _) = parts(run(&["check", "--explain", "MCP-HTTP-12"]));
    assert!(code == Some(0) && stdout.contains("mcp-session-unknown"), "{stdout}");

    let serving = Serving::start(&[]);
    let (folder, url) = (folder("mcp"), format!("{}/mcp", serving.url()));
    let file = folder.join("report.xml").display().to_string();
    let (code, _, stderr) =
        parts(run(&["check", &url, "--profile", "mcp", "--only", "mcp-http", "--junit", &file]));
    assert_eq!(code, Some(0), "{stderr}");
    let xml = std::fs::read_to_string(&file).unwrap();
    assert!(xml.contains("<testcase classname=\"mcp-http\" name=\"mcp-origin:"), "{xml}");
    std::fs::remove_dir_all(folder).unwrap();

    // A name of another profile, and a path that is not the endpoint.
    let (code, _, stderr) = parts(run(&["check", &url, "--only", "mcp-ping"]));
    assert!(code == Some(2) && stderr.contains("--profile"), "{stderr}");
    let (code, _, stderr) = parts(run(&["check", &serving.url(), "--profile", "mcp"]));
    assert!(code == Some(5) && stderr.contains("`/mcp`"), "{stderr}");
}

#[test]
fn our_server_has_no_faults_over_websocket() {
    let serving = Serving::start(&[]);
    assert_eq!(strictly(&serving.url().replacen("http", "ws", 1)), BTreeSet::new());
}

#[test]
fn our_server_has_no_faults_over_streams_of_bytes() {
    for framing in ["json", "lines", "lsp", "length"] {
        let listen = format!("tcp://127.0.0.1:0?framing={framing}");
        let serving = Serving::start(&["--listen", &listen]);
        let found = offended(&serving.urls()[1], &["--profile", "strict", "--quick"]);
        assert_eq!(found, BTreeSet::new(), "{framing}");
    }
}

#[test]
fn our_server_has_no_faults_over_a_unix_socket_and_as_a_child() {
    let folder = folder("unix");
    let url = format!("unix:{}", folder.join("rpc.sock").display());
    let _serving = Serving::start(&["--listen", &url]);
    assert_eq!(strictly(&url), BTreeSet::new());
    let child = format!("exec:{} serve --stdio", env!("CARGO_BIN_EXE_switchboard"));
    assert_eq!(offended(&child, &["--profile", "strict", "--quick"]), BTreeSet::new());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn faults_have_an_exit_code_and_a_report_for_ci() {
    let folder = folder("junit");
    let report = folder.join("report.xml");
    let serving = Serving::start(&[]);
    let file = report.display().to_string();
    // A warning, see above.
    let arguments = ["check", &serving.url(), "--only", "http-two-lengths", "--profile", "strict"];
    let (code, _, _) = parts(run(&[&arguments[..], &["--junit", &file]].concat()));
    assert_eq!(code, Some(0));
    let xml = std::fs::read_to_string(&report).unwrap();
    assert!(xml.contains("<testcase classname=\"http\" name=\"http-two-lengths:"), "{xml}");
    let (code, _, stderr) = parts(run(&[&arguments[..], &["--deny-warnings"]].concat()));
    assert_eq!(code, Some(8), "{stderr}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_server_without_json_rpc_is_reported_with_advice() {
    let url = answering("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    let (code, _, stderr) = parts(run(&["check", &url, "--case-time", "0.2"]));
    assert!(matches!(code, Some(3 | 5)), "{stderr}");
    assert!(stderr.contains("check the"), "{stderr}");
}

#[test]
fn a_server_that_does_not_answer_is_reported_with_what_to_do() {
    let check = |answer: &'static str, scheme: &str, advice: &str| {
        let url = always(answer).replacen("http", scheme, 1);
        let (code, _, stderr) = parts(run(&["check", &url, "--case-time", "0.5"]));
        assert!(code == Some(5) && stderr.contains(advice), "{answer}: {code:?} {stderr}");
    };
    let end = "Content-Length: 0\r\nConnection: close\r\n\r\n";
    let head = |first: &str| &*format!("HTTP/1.1 {first}\r\n{end}").leak();
    check(head("401 Unauthorized"), "http", "--token");
    check(head("302 Found\r\nLocation: https://other.example/rpc"), "http", "https://other.example/rpc");
    check(head("404 Not Found"), "http", "/jsonrpc");
    let null = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4\r\nConnection: close\r\n\r\nnull";
    check(null, "http", r#"a result has to be wrapped, as in {"jsonrpc":"2.0","result":null,"id":1}"#);
    check(head("400 Bad Request"), "tcp", "that is an HTTP server: use http://127.0.0.1:");
}

/// The URL of a server that answers every connection with this.
fn always(answer: &'static str) -> String {
    let (listener, url) = listener();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    url
}

/// A server of a few lines that ends itself by a signal when it meets brackets, and with code 3 at an empty object.
const FRAGILE: &str = r#"
while read -r line; do
    case "$line" in
        *'[[[['*) kill -s SEGV $$ ;;
        '{}') echo 'first words' >&2; echo 'out of memory' >&2; exit 3 ;;
    esac
    id=${line##*\"id\":}
    printf '{"jsonrpc":"2.0","error":{"code":-32601,"message":"no"},"id":%s}\n' "${id%\}}"
done
"#;

#[test]
fn a_program_that_ends_badly_fails_the_case_in_every_profile() {
    let folder = folder("fragile");
    let script = folder.join("server.sh");
    std::fs::write(&script, FRAGILE).unwrap();
    let url = format!("exec:sh {}", script.display());
    for profile in ["spec", "lenient", "lsp"] {
        let only = ["depth-1000", "empty-object", "id-number"].into_iter().flat_map(|name| ["--only", name]);
        let arguments: Vec<&str> =
            ["check", &url, "--json", "--profile", profile].into_iter().chain(only).collect();
        let (code, stdout, stderr) = parts(run(&arguments));
        assert_eq!(code, Some(8), "{stderr}");
        let report: Value = serde_json::from_str(&stdout).unwrap();
        let finding = |name: &str| {
            let findings = report["findings"].as_array().unwrap();
            findings.iter().find(|finding| finding["case"] == name).unwrap().clone()
        };
        assert_eq!(finding("id-number")["verdict"], "pass", "{stdout}");
        // J2-65
        let deep = finding("depth-1000");
        assert!(deep["verdict"] == "fail" && deep["note"].as_str().unwrap().contains("SIGSEGV"), "{deep}");
        let empty = finding("empty-object");
        let note = empty["note"].as_str().unwrap();
        assert_eq!(empty["verdict"], "fail");
        assert!(
            note.contains("exit status: 3") && note.ends_with("its last output: out of memory"),
            "{note}"
        );
    }
    // A program that ends before it serves is reported with its last output.
    let (code, _, stderr) = parts(run(&["check", "exec:sh -c 'echo no config >&2; exit 1'"]));
    assert!(code == Some(5) && stderr.contains("exit status: 1") && stderr.contains("no config"), "{stderr}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_http_cases_send_is_shown_as_it_is_sent() {
    let serving = Serving::start(&[]);
    let arguments =
        ["check", &serving.url(), "--json", "--only", "http-lengths-differ", "-H", "X-Key: sekret"];
    let (code, stdout, stderr) = parts(run(&arguments));
    assert_eq!(code, Some(0), "{stderr}");
    let report: Value = serde_json::from_str(&stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["case"] == "http-lengths-differ").unwrap();
    let sent = finding["sent"].as_str().unwrap();
    assert!(sent.starts_with("POST / HTTP/1.1\r\nHost: 127.0.0.1:"), "{sent}");
    assert!(sent.contains("Content-Length: 3\r\n") && sent.contains("\r\n\r\n{\"jsonrpc\""), "{sent}");
    assert!(sent.contains("x-key: …") && !stdout.contains("sekret"), "{sent}");
}

#[test]
fn cases_are_listed_and_chosen_by_name() {
    let (code, stdout, stderr) = parts(run(&["check", "--list"]));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("id-null") && stdout.contains("J2-15"), "{stdout}");
    let (code, stdout, stderr) = parts(run(&["check", "--explain", "j2-15", "--explain", "response-json"]));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("J2-15") && stdout.contains("section 4 (Request object)"), "{stdout}");
    assert!(stdout.contains("cases: id-null") && stdout.contains("J2-59"), "{stdout}");
    let (code, _, stderr) = parts(run(&["check", "--explain", "J9-99"]));
    assert!(code == Some(2) && stderr.contains("--list"), "{stderr}");
    let (code, _, stderr) = parts(run(&["check", "http://127.0.0.1:1", "--only", "no-such-case"]));
    assert_eq!(code, Some(2));
    assert!(stderr.contains("--list"), "{stderr}");
}

#[test]
fn the_wire_of_each_case_is_shown() {
    let serving = Serving::start(&[]);
    let ws = serving.url().replacen("http", "ws", 1);
    for url in [serving.url(), ws] {
        let arguments = ["check", &url, "--only", "unknown-method", "-v", "-H", "X-Secret: sekret"];
        let (code, stdout, stderr) = parts(run(&arguments));
        assert_eq!(code, Some(0), "{stderr}");
        assert!(stdout.starts_with('{'), "the report is for programs still: {stdout}");
        let case = stderr.split("unknown-method: an unknown method").nth(1).unwrap();
        let sent =
            r#"--> {"jsonrpc":"2.0","method":"switchboard_check_no_such_method","params":[1],"id":"a"}"#;
        let came = r#"<-- {"jsonrpc":"2.0","error":{"code":-32601"#;
        assert!(case.contains(sent) && case.contains(came) && case.contains("pass "), "{url}: {stderr}");
        assert!(!stderr.contains("sekret"), "{stderr}");
    }
}

#[test]
fn a_terminal_shows_a_bar_with_the_count_of_the_result_and_each_fault_once_in_colours_if_wanted() {
    let far = Far::start();
    let mut arguments =
        vec!["check", &far.url, "--method", "math/add", "--params", "[1,2]", "--case-time", "0.3"];
    arguments.extend(["--only", "unknown-method", "--only", "id-number"]);
    let shown = |colour: Option<&str>| {
        let mut command = program(&arguments);
        command.envs(colour.map(|value| ("NO_COLOR", value)));
        let (code, text) = at_terminal(command);
        assert_eq!(code, Some(8), "{text}");
        assert!(text.contains("0/12") && text.contains("12 cases in "), "one count: {text:?}");
        assert_eq!(text.matches("a call that fails gets an error object with a code").count(), 1, "{text:?}");
        let first = text.split("Fix this first:").nth(1).unwrap();
        assert!(first.contains("basic-error") && first.contains("3 cases skipped because of it"), "{text:?}");
        text
    };
    // A bar moves the cursor; a colour is a sequence that ends in `m`.
    let has_colours = |text: &str| {
        let mut sequences = text.split("\u{1b}[").skip(1);
        sequences.any(|sequence| {
            sequence.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m')
        })
    };
    assert!(has_colours(&shown(None)));
    assert!(!has_colours(&shown(Some("1"))));
    let (code, stdout, stderr) = parts(run(&arguments));
    assert_eq!(code, Some(8));
    assert!(stdout.starts_with('{') && stderr == "error: 1 of 12 cases failed\n", "in a pipe: {stderr:?}");
}

/// A folder of this test's own.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("switchboard-check-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
