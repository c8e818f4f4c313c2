//! A server that wants to command the terminal of whoever calls it. What it says is shown, and commands nothing.

use std::io::{Read, Write};
use std::process::Stdio;

use futures_util::stream;
use serde_json::json;
use switchboard::server::Server;
use switchboard::{Code, ErrorObject, Items, Json, Outcome, Reply, ReplyFuture, service_fn};

use crate::far::Far;
use crate::keyboard::Terminal;
use crate::program::{listener, program, run};
use crate::terminal::at_terminal;

/// Clears the screen (C1), turns text around, hides text, sets a title, breaks a line, and a few that are only odd.
const POISON: &str = "a\u{9b}2J\u{202e}b\u{1b}[8mc\u{1b}]0;t\u{7}d\u{2028}e\u{61c}f\u{7f}g\u{2066}h\rj";

/// That the text got as far as the terminal, and came out harmless.
fn check(what: &[&str], shown: &str) {
    assert!(shown.contains(r"\u202e"), "{what:?} does not show it: {shown:?}");
    unharmed(what, shown);
}

fn unharmed(what: &[&str], shown: &str) {
    let harmful = [
        "\u{9b}",
        "\u{202e}",
        "\u{1b}[8m",
        "\u{1b}]0;",
        "\u{7}",
        "\u{2028}",
        "\u{61c}",
        "\u{7f}",
        "\u{2066}",
        "h\rj",
    ];
    let found: Vec<&&str> = harmful.iter().filter(|text| shown.contains(**text)).collect();
    assert!(found.is_empty(), "{what:?} shows {found:?} in {shown:?}");
}

/// A string of JSON with as much of the poison in it as JSON allows.
fn poison() -> Json {
    Json::parse(serde_json::to_string(POISON).unwrap()).unwrap()
}

/// The methods of the server: what each of them answers is poison.
fn answer(call: &switchboard::Call) -> ReplyFuture {
    let error = |code| ErrorObject::new(code, POISON).with_data(&json!({ POISON: POISON }));
    ReplyFuture::ready(match call.method.as_str() {
        "value" => Reply::value(poison()),
        "stream" => Reply {
            outcome: Outcome::Stream(Items::new(stream::iter([Ok(poison()), Err(error(Code(7)))]))),
            ..Reply::value(Json::NULL)
        },
        "rpc.discover" => Reply::value(Json::encode(&document()).unwrap()),
        "missing" => Reply::error(error(Code::METHOD_NOT_FOUND)),
        "known" => Reply::error(error(Code::INVALID_PARAMS)),
        _ => Reply::error(error(Code(7))),
    })
}

fn document() -> serde_json::Value {
    let schema = json!({"type": "object", "description": POISON, "properties": {POISON: {"enum": [POISON]}}});
    let param = json!({"name": POISON, "required": true, "description": POISON, "schema": schema});
    let method = |name: &str| {
        json!({"name": name, "summary": POISON, "description": POISON, "params": [param], "tags": [{"name": POISON}],
            "result": {"name": POISON, "description": POISON, "schema": schema}, "deprecated": true,
            "errors": [{"code": 1, "message": POISON}],
            "examples": [{"name": POISON, "params": [{"name": POISON, "value": POISON}],
                "result": {"name": POISON, "value": POISON}}]})
    };
    let methods = [method("known"), method(&format!("missin{POISON}")), method("missin")];
    json!({"openrpc": "1.3.2", "info": {"title": POISON, "version": POISON}, "methods": methods})
}

/// A server for this test; it ends with the runtime.
struct Hostile {
    _runtime: tokio::runtime::Runtime,
    http: String,
    tcp: String,
}

impl Hostile {
    fn start() -> Hostile {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let mut server = Server::new(service_fn(answer));
        for url in ["http://127.0.0.1:0", "tcp://127.0.0.1:0"] {
            runtime.block_on(server.listen(url)).unwrap();
        }
        let urls: Vec<String> = server.urls().collect();
        runtime.spawn(server.serve());
        Hostile { _runtime: runtime, http: urls[0].clone(), tcp: urls[1].clone() }
    }
}

#[test]
fn no_command_lets_a_server_command_the_terminal() {
    let server = Hostile::start();
    let directory = std::env::temp_dir().join(format!("switchboard-hostile-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let file = |name: &str, text: &str| {
        let path = directory.join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let calls = file("calls", "value\nfail\n");
    let document = file("document", &document().to_string());
    let nothing = file("nothing", r#"{"openrpc":"1.3.2","info":{"title":"t","version":"1"},"methods":[]}"#);
    for url in [&server.http, &server.tcp] {
        for arguments in [
            &["call", url, "value"][..],
            &["call", url, "value", "--json"],
            &["call", url, "value", "--raw"],
            &["call", url, "value", "-v"],
            &["call", url, "fail"],
            &["call", url, "fail", "--json"],
            &["call", url, "fail", "--raw"],
            &["call", url, "fail", "-vvv"],
            &["call", url, "missing"],
            &["call", url, "known"],
            &["call", url, "stream"],
            &["call", url, "stream", "--stream", "--json"],
            &["notify", url, "fail", "-v"],
            &["watch", url, "stream"],
            &["watch", url, "stream", "--json"],
            &["watch", url, "fail", "--json"],
            &["batch", url, &calls],
            &["batch", url, &calls, "--json"],
            &["batch", url, &calls, "--lines"],
            &["batch", url, &calls, "--raw", "--concurrent"],
            &["discover", url],
            &["discover", url, "known"],
            &["discover", url, "--json"],
            &["discover", url, "--openrpc", "--raw"],
            &["discover", url, "--diff", &nothing],
            &["discover", &nothing, "--diff", url],
            &["discover", url, "--diff", &nothing, "--json"],
            &["discover", &document],
            &["check", url, "--only", "requests"],
            &["check", url, "--only", "requests", "--json"],
            &["check", url, "--only", "requests", "-v"],
            &["bench", url, "fail", "-n", "2", "-c", "1"],
            &["bench", url, "fail", "-n", "2", "-c", "1", "--json"],
            &["bench", url, "fail", "-n", "2", "-c", "1", "-v"],
        ] {
            let (_, shown) = at_terminal(program(arguments));
            match arguments {
                // Over a connection a notification has no answer, and what it sends itself is plain.
                ["notify", ..] => unharmed(arguments, &shown),
                _ => check(arguments, &shown),
            }
        }
        for language in ["typescript", "python", "rust"] {
            let arguments = ["generate", language, url.as_str()];
            let (code, shown) = at_terminal(program(&arguments));
            assert!(code == Some(0) && shown.contains("202e"), "{shown}");
            unharmed(&arguments, &shown);
        }
    }
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_pipe_gets_what_was_sent_byte_for_byte() {
    let server = Hostile::start();
    let output = run(&["call", &server.http, "value"]);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{}\n", poison().as_str()));
    let output = run(&["call", &server.http, "fail"]);
    let error = format!(
        "{{\"code\":7,\"message\":{},\"data\":{{{}:{}}}}}\n",
        poison().as_str(),
        poison().as_str(),
        poison().as_str()
    );
    assert_eq!(String::from_utf8(output.stderr).unwrap(), error);
}

/// The URL of a server that answers one connection after the other with these bytes.
fn saying(bytes: Vec<u8>) -> String {
    let (listener, url) = listener();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(&bytes);
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = stream.read_to_end(&mut Vec::new());
        }
    });
    url
}

#[test]
fn what_is_no_json_rpc_commands_nothing_either() {
    let head = |status: &str, more: &str, body: &str| {
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n{more}\r\n{body}",
            body.len()
        )
    };
    let poison = POISON.replace('\r', "");
    let answers = [
        head("200 OK", "", &poison),
        head(&format!("500 {}", poison.replace(['\u{1b}', '\u{7}', '\u{7f}'], "")), "", "x"),
        head("302 Found", "Location: /\u{9b}2J\u{202e}\r\n", ""),
        head(
            "200 OK",
            "X-Odd: \u{9b}2J\u{202e}\r\n",
            "{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":\"\u{202e}\"}",
        ),
        poison.clone(),
    ];
    for answer in answers {
        for more in [
            &["call"][..],
            &["call", "--json"],
            &["call", "-v"],
            &["notify", "-vv"],
            &["check", "--only", "requests"],
        ] {
            let url = saying(answer.clone().into_bytes());
            let mut arguments = vec![more[0], &url];
            if more[0] != "check" {
                arguments.push("sum");
            }
            arguments.extend(&more[1..]);
            let (_, shown) = at_terminal(program(&arguments));
            unharmed(&[&answer, &shown], &shown);
        }
        let url = saying(answer.into_bytes());
        let arguments = ["bench", &url, "sum", "-n", "2", "-c", "1", "--timeout", "2"];
        unharmed(&arguments, &at_terminal(program(&arguments)).1);
    }
}

#[test]
fn what_is_pushed_commands_nothing() {
    for more in
        [&["--notifications"][..], &["--notifications", "--json"], &["--notifications", "--raw", "-v"]]
    {
        let far = Far::start();
        let url = far.url.clone();
        let sender = std::thread::spawn(move || {
            let call = far.receive("quiet");
            far.send(&json!({"jsonrpc": "2.0", "method": POISON, "params": [POISON]}));
            far.send(&json!({"jsonrpc": "2.0", "error": {"code": 1, "message": POISON}, "id": call["id"]}));
            far
        });
        let arguments = [&["watch", &url, "quiet"], more].concat();
        check(&arguments, &at_terminal(program(&arguments)).1);
        drop(sender.join());
    }
}

#[test]
fn a_prompt_shows_nothing_that_commands() {
    let server = Hostile::start();
    let state = std::env::temp_dir().join(format!("switchboard-hostile-state-{}", std::process::id()));
    let mut terminal = Terminal::start(&["repl", &server.tcp, "-v"], &state.display().to_string());
    let prompt = format!("{}> ", server.tcp.strip_prefix("tcp://").unwrap());
    terminal.until(&prompt);
    for line in ["value", "fail", "missing", "known", ".methods", ".describe known", "stream"] {
        terminal.type_in(&format!("{line}\r"));
        terminal.until(r"\u202e");
        if line != "stream" {
            terminal.until(&prompt);
        }
    }
    terminal.until("error 7 a");
    terminal.until(&prompt);
    terminal.type_in("k\t");
    terminal.until("known");
    terminal.type_in("\u{3}");
    terminal.until(&prompt);
    terminal.type_in("\u{4}");
    let shown = terminal.shown_at_end();
    let _ = std::fs::remove_dir_all(state);
    // The prompt itself moves the cursor, so only what it never does is looked for.
    for harmful in ["\u{9b}2J", "\u{202e}", "\u{1b}[8m", "\u{1b}]0;t", "\u{2028}", "\u{61c}", "\u{2066}"] {
        assert!(!shown.contains(harmful), "{harmful:?} in {shown:?}");
    }
}

#[test]
fn a_child_commands_nothing() {
    let script = "exec:sh -c 'printf \"a\\302\\2332J\\342\\200\\256b\\033[8mc\\r\\nd\\n\" >&2; exit 1'";
    for more in [&[][..], &["-v"], &["-vvv"], &["--json"]] {
        let arguments = [&["call", script, "sum"], more].concat();
        check(&arguments, &at_terminal(program(&arguments)).1);
    }
    let mut command = program(&["call", script, "sum", "-vvv"]);
    let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    // A log may be read on a terminal later, and an event of it is one line.
    check(&["-vvv in a pipe"], &log);
    assert!(
        log.lines().any(|line| line.contains("output of a child process") && line.contains(r"\u001b[8mc")),
        "{log}"
    );
}
