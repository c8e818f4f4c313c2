//! Programs behind a gateway: started, used and ended.

use super::{call, gateway, until};
use crate::carriers::Folder;

/// A server in Python, as tutorials have it: a message a line.
const PYTHON: &str = r#"
import json, os, sys
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    method, params = request["method"], request.get("params", [])
    if method == "add":
        answer = {"result": sum(params)}
    elif method == "pid":
        answer = {"result": os.getpid()}
    else:
        answer = {"error": {"code": -32601, "message": "Method not found", "data": {"method": method}}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)
"#;

pub(super) fn python(folder: &Folder) -> String {
    let script = folder.file("server.py");
    std::fs::write(&script, PYTHON).unwrap();
    format!("exec:python3 '{script}'")
}

#[test]
fn a_python_server_over_stdio_is_called_over_websocket() {
    let folder = Folder::new("gateway-python");
    let gateway = gateway(&["--listen", "ws://127.0.0.1:0", &python(&folder)]);
    let [http, ws] = &gateway.urls()[..] else { panic!("{:?}", gateway.urls()) };
    for url in [http, ws] {
        assert_eq!(call(url, &["add", "2", "3"]), (Some(0), "5\n".to_owned(), String::new()), "{url}");
        let (code, _, stderr) = call(url, &["nothing"]);
        assert!(code == Some(1) && stderr.contains("-32601"), "{url}: {stderr}");
    }
    // Clients that keep a connection have a program each, which ends with the connection; all others share one.
    let pid = |url: &str| call(url, &["pid"]).1.trim().to_owned();
    assert_eq!(pid(http), pid(http));
    let [one, two] = [pid(ws), pid(ws)];
    assert_ne!(one, two);
    until("the programs of clients that have gone have ended", || {
        (!is_alive(&one) && !is_alive(&two)).then_some(())
    });
    assert!(is_alive(&pid(http)));
}

/// Writes two lines to stderr for each call.
const TALKING: &str = r#"while read -r line; do
    echo "first line\nsecond line" >&2
    id=${line##*\"id\":}
    echo "{\"jsonrpc\":\"2.0\",\"id\":${id%%[,\}]*},\"result\":7}"
done
"#;

#[test]
fn what_a_program_writes_to_stderr_is_logged_with_the_name_of_its_upstream() {
    let folder = Folder::new("gateway-stderr");
    let script = folder.file("server.sh");
    std::fs::write(&script, TALKING).unwrap();
    let mut gateway = gateway(&[&format!("tool=exec:sh '{script}'")]);
    assert_eq!(call(&gateway.url(), &["tool/any"]).1, "7\n");
    let said = gateway.read_until("second line");
    let lines: Vec<&str> = said.lines().filter(|line| line.contains("output of a child process")).collect();
    for part in ["first line", "second line"] {
        assert!(lines.iter().any(|line| line.contains(part) && line.contains("program=\"tool\"")), "{said}");
    }
}

pub(super) fn is_alive(process: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

/// A gateway is ended by this signal; the program behind it and what that has started end, too.
fn ends_with_all(signal: &str) {
    let folder = Folder::new(&format!("gateway-{signal}"));
    let pids = folder.file("pids");
    let wrapper = folder.file("server.sh");
    let script = format!(
        "sleep 1000 &\necho $! >> '{pids}'\necho $$ >> '{pids}'\nexec python3 '{}'\n",
        folder.file("server.py")
    );
    drop(python(&folder));
    std::fs::write(&wrapper, script).unwrap();
    let gateway = gateway(&[&format!("exec:sh '{wrapper}'")]);
    assert_eq!(call(&gateway.url(), &["add", "2", "3"]).1, "5\n");
    assert_eq!(call(&gateway.url().replace("http:", "ws:"), &["add", "2", "3"]).1, "5\n");
    let pids: Vec<String> = std::fs::read_to_string(&pids).unwrap().lines().map(str::to_owned).collect();
    assert!(pids.len() >= 4, "two programs, with a process each: {pids:?}");
    assert!(pids.iter().any(|pid| is_alive(pid)));
    gateway.signal(signal);
    let _ = gateway.wait_unread();
    until(&format!("all processes have ended after {signal}: {pids:?}"), || {
        (!pids.iter().any(|pid| is_alive(pid))).then_some(())
    });
}

#[test]
fn a_gateway_that_stops_leaves_no_process() {
    ends_with_all("TERM");
}

#[test]
fn a_gateway_that_is_killed_leaves_no_process() {
    ends_with_all("KILL");
}
