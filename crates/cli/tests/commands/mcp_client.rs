//! `switchboard tools`, `resources` and `prompts`, against our own server and against one that asks.

use serde_json::{Value, json};

use crate::keyboard::Terminal;
use crate::mcp_server;
use crate::program::{Serving, parts, program, run, run_with};
use crate::terminal::at_terminal;

/// What a command prints on a terminal, without colours.
fn shown(arguments: &[&str]) -> (Option<i32>, String) {
    let (code, text) = at_terminal(program(arguments));
    (code, anstream::adapter::strip_str(&text).to_string())
}

/// The lines of JSON that a command prints in a pipe.
fn lines(arguments: &[&str]) -> Vec<Value> {
    let (code, stdout, stderr) = parts(run(arguments));
    assert_eq!(code, Some(0), "{stderr}");
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn tools_of_our_server_are_listed_and_called_over_http_and_stdio() {
    let serving = Serving::start(&[]);
    let over_http = format!("{}/mcp", serving.url().trim_end_matches('/'));
    let over_stdio = format!("{} serve --stdio --mcp", env!("CARGO_BIN_EXE_switchboard"));
    for url in [over_http.as_str(), over_stdio.as_str()] {
        let tools = lines(&["tools", url]);
        assert!(tools.iter().any(|tool| tool["name"] == "math_add"), "{tools:?}");
        let found = lines(&["tools", url, "list", "square root"]);
        assert_eq!(found[0]["name"], "math_sqrt");
        let result = &lines(&["tools", url, "call", "math_add", "a=2", "b=3"])[0];
        assert_eq!(result["content"][0]["text"], "5", "{result}");
        assert_eq!(lines(&["tools", url, "show", "math_add"])[0]["name"], "math_add");
    }
    let (code, _, stderr) = parts(run(&["tools", &serving.url()]));
    assert_eq!(code, Some(5), "{stderr}");
    assert!(stderr.contains(&format!("its MCP endpoint may be {over_http}")), "{stderr}");
}

#[test]
fn wrong_names_and_arguments_are_told_with_what_would_be_right() {
    let url = mcp_server::start();
    let check = |arguments: &[&str], code: i32, expected: &str| {
        let (found, _, stderr) = parts(run(arguments));
        assert!(stderr.contains(expected), "{arguments:?}: {stderr}");
        assert_eq!(found, Some(code), "{stderr}");
    };
    check(&["tools", &url, "call", "ehco"], 1, "the server has no tool \"ehco\"; did you mean `echo`?");
    check(&["tools", &url, "list", "zzz"], 1, "no tool matches \"zzz\"; it has 7");
    let expected = "missing argument: text; expected echo(text, times?)\n  text: string  What.\n  times: integer (optional)";
    check(&["tools", &url, "call", "echo"], 2, expected);
    check(&["tools", &url, "call", "echo", "text=a", "times=x"], 2, "expected integer, not \"x\"");
    check(&["tools", &url, "call", "fail"], 1, "the tool failed");
    check(
        &["prompts", &url, "get", "plan", "days=2"],
        2,
        "missing argument: city; expected plan(city, days?)",
    );
    check(&["prompts", &url, "get", "plna"], 1, "did you mean `plan`?");
    check(&["tools", "no-such-program"], 3, "no-such-program");
    let (listener, gone) = crate::program::listener();
    drop(listener);
    check(&["tools", &gone], 3, "nothing is listening");
}

#[test]
fn values_are_read_as_the_schema_says() {
    let url = mcp_server::start();
    let result = &lines(&["tools", &url, "call", "echo", "text=5", "times=5"])[0];
    assert_eq!(result["structuredContent"], json!({"text": "5", "times": 5}));
    let (code, stdout, stderr) = parts(run_with(r#"{"text": "x"}"#, &["tools", &url, "call", "echo", "-"]));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains(r#""structuredContent":{"text":"x"}"#), "{stdout}");
}

#[test]
fn people_see_tables_pages_and_what_an_image_is() {
    let url = mcp_server::start();
    let (code, text) = shown(&["tools", &url]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.starts_with("tool                description\necho(text, times?)  Echoes. [read-only]\n"),
        "{text}"
    );
    let (_, text) = shown(&["tools", &url, "show", "echo"]);
    assert!(text.contains("times      integer  optional; at least 1\n"), "{text}");
    assert!(text.ends_with(&format!("switchboard tools {url} call echo text=…\n")), "{text}");
    let (_, text) = shown(&["tools", &url, "call", "echo", "text=a"]);
    assert_eq!(text, "{\n  \"text\": \"a\"\n}\n");
    let (code, text) = shown(&["tools", &url, "call", "fail"]);
    assert_eq!((code, text.as_str()), (Some(1), "no paper\nthe tool failed\n"));
    let folder = std::env::temp_dir().join(format!("switchboard-drawn-{}", std::process::id()));
    let (_, text) = shown(&["tools", &url, "call", "draw", "--save", folder.to_str().unwrap()]);
    let file = folder.join("draw-1.png");
    for part in ["[warning] pen: no blue\n", "progress: 1/2 lines\n", "A cat.\nimage/png, 5 bytes: "] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    assert_eq!(std::fs::read(&file).unwrap(), b"hello");
    std::fs::remove_dir_all(folder).unwrap();
    let (_, text) = shown(&["tools", &url, "call", "draw"]);
    assert!(text.contains("image/png, 5 bytes\n"), "{text}");
}

#[test]
fn each_message_is_shown_with_v() {
    let url = mcp_server::start();
    let (code, _, stderr) = parts(run(&["tools", &url, "call", "echo", "text=a", "-v"]));
    assert_eq!(code, Some(0));
    assert!(
        stderr.contains(r#""method":"tools/call""#) && stderr.contains(r#""structuredContent":"#),
        "{stderr}"
    );
}

#[test]
fn resources_are_listed_read_and_watched() {
    let url = mcp_server::start();
    assert_eq!(lines(&["resources", &url])[0]["uri"], "desk://hours");
    assert_eq!(lines(&["resources", &url, "templates"])[0]["name"], "seats");
    assert_eq!(lines(&["resources", &url, "read", "desk://hours"])[0]["contents"][0]["text"], "9 to 5");
    let (_, text) = shown(&["resources", &url]);
    let expected = "resource      type        size     description\n\
         desk://hours  text/plain  6 bytes  When we are here.\n";
    assert_eq!(text, expected);
    assert_eq!(shown(&["resources", &url, "read", "desk://hours"]), (Some(0), "9 to 5\n".to_owned()));
    let mut terminal = Terminal::start(&["resources", &url, "read", "desk://hours", "--watch"], "");
    terminal.until("9 to 5");
    terminal.until("9 to 5");
    terminal.signal("INT");
    assert_eq!(terminal.wait(), Some(130));
    let completed = lines(&["resources", &url, "complete", "desk://seats/{row}", "row"]);
    assert_eq!(completed, ["Paris", "Parma"]);
}

#[test]
fn prompts_are_listed_filled_in_and_completed() {
    let url = mcp_server::start();
    assert_eq!(
        shown(&["prompts", &url]).1,
        "prompt             description\nplan(city, days?)  Plans a day.\n"
    );
    assert_eq!(shown(&["prompts", &url, "get", "plan", "city=5"]).1, "user: Plan a day in 5.\n");
    let filled = lines(&["prompts", &url, "get", "plan", "city=Rome"]);
    assert_eq!(filled[0]["messages"][0]["content"]["text"], "Plan a day in Rome.");
    assert_eq!(lines(&["prompts", &url, "complete", "plan", "city", "Pa"]), ["Paris", "Parma"]);
}

#[test]
fn a_form_is_filled_in_on_the_terminal() {
    let url = mcp_server::start();
    let mut terminal = Terminal::start(&["tools", &url, "call", "book"], "");
    let mut answer = |question: &str, typed: &str| {
        terminal.until(question);
        terminal.type_in(typed);
    };
    answer("The server asks: Who travels?\r\nAnswer it? [Y/n] ", "\n");
    answer("(string, Enter to leave it out)\r\n  1. Vegan (v)\r\n  2. Fish (f)\r\nmeal: ", "2\n");
    answer("(string, at least 2 characters)\r\nname: ", "A\n");
    answer("it must be at least 2 characters\r\nname: ", "Ann\n");
    answer("(y or n, Enter to leave it out)\r\nnews: ", "\n");
    answer("(integer, at least 1, at most 4, Enter for 1)\r\nseats: ", "9\n");
    answer("it must be at most 4\r\nseats: ", "\n");
    terminal.until(r#"{"action":"accept","content":{"meal":"f","name":"Ann","seats":1}}"#);
    assert_eq!(terminal.wait(), Some(0));
}

#[test]
fn a_form_can_be_declined_or_cancelled_and_is_declined_without_a_terminal() {
    let url = mcp_server::start();
    for (typed, action) in [("n\n", "decline"), ("\u{4}", "cancel")] {
        let mut terminal = Terminal::start(&["tools", &url, "call", "book"], "");
        terminal.until("[Y/n] ");
        terminal.type_in(typed);
        terminal.until(&format!(r#"{{"action":"{action}"}}"#));
    }
    let (code, stdout, stderr) = parts(run(&["tools", &url, "call", "book"]));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains(r#"{\"action\":\"decline\"}"#), "{stdout}");
    assert!(
        stderr.contains("declined, since there is no terminal: the server asks: Who travels?"),
        "{stderr}"
    );
}

#[test]
fn a_page_is_opened_only_by_the_user_who_sees_all_of_its_url() {
    let url = mcp_server::start();
    for (typed, action) in [("\n", "decline"), ("y\n", "accept")] {
        let mut terminal = Terminal::start(&["tools", &url, "call", "pay"], "");
        terminal.until("The server asks you to open a page: Pay.");
        terminal.until("  https://pay.example/?a=1&b=2");
        terminal.until("[y/N] ");
        terminal.type_in(typed);
        terminal.until(&format!(r#"{{"action":"{action}"}}"#));
    }
}

#[test]
fn a_language_model_is_refused_played_or_a_program() {
    let url = mcp_server::start();
    let call = |more: &[&str]| {
        let (code, stdout, stderr) = parts(run(&[&["tools", &url, "call", "think"], more].concat()));
        assert_eq!(code, Some(0), "{stderr}");
        stdout + &stderr
    };
    assert!(call(&[]).contains("-32601"), "the client does not have the capability");
    let answer = call(&["--sample", "exec:sh -c 'grep -c \"2 + 3\"'"]);
    assert!(answer.contains(r#"\"text\":\"1\""#) && answer.contains(r#"\"model\":\"sh\""#), "{answer}");
    let answer = call(&["--sample", "exec:false"]);
    assert!(answer.contains("the model cannot be reached") && answer.contains("exit status: 1"), "{answer}");
    assert!(call(&["--sample", "ask"]).contains("the user cannot be asked"));
    let mut terminal = Terminal::start(&["tools", &url, "call", "think", "--sample", "ask"], "");
    terminal.until("user: What is 2 + 3?");
    terminal.until("answer (empty to refuse): ");
    terminal.type_in("Five.\n");
    terminal.until(r#""text":"Five.""#);
    let (code, _, stderr) = parts(run(&["tools", &url, "--sample", "maybe"]));
    assert_eq!(code, Some(2), "{stderr}");
}

#[test]
fn folders_are_told_to_servers_that_ask() {
    let url = mcp_server::start();
    let folder = std::env::temp_dir().canonicalize().unwrap();
    let result = &lines(&["tools", &url, "--root", folder.to_str().unwrap(), "call", "where"])[0];
    assert_eq!(result["content"][0]["text"], format!("file://{}", folder.display()));
    let (code, _, stderr) = parts(run(&["tools", &url, "--root", "/no/such"]));
    assert_eq!(code, Some(2), "{stderr}");
}

#[test]
fn call_watch_repl_and_check_talk_to_mcp_servers_too() {
    let url = mcp_server::start();
    let listed = &lines(&["call", &url, "--mcp", "tools/list"])[0];
    assert_eq!(listed["tools"][0]["name"], "echo");
    let result = &lines(&["call", &url, "--mcp", "echo", "text=5"])[0];
    assert_eq!(result["structuredContent"]["text"], "5");
    let read = &lines(&["call", &url, "--mcp", "resources/read", "uri=desk://hours"])[0];
    assert_eq!(read["contents"][0]["text"], "9 to 5");
    let (code, _, stderr) = parts(run(&["call", &url, "--mcp", "no/such"]));
    assert_eq!((code, stderr.contains("-32601")), (Some(1), true), "{stderr}");
    let changes = lines(&["watch", &url, "--mcp", "desk://hours", "--count", "1"]);
    let expected = json!({"method": "notifications/resources/updated", "params": {"uri": "desk://hours"}});
    assert_eq!(changes, [expected]);
    let (code, stdout, stderr) = parts(run_with("echo text=a times=2\n", &["repl", &url, "--mcp"]));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains(r#""text":"a""#), "{stdout}");
    let [one, other] = ["--mcp", "--profile=mcp"].map(|option| parts(run(&["check", "--list", option])));
    assert_eq!(one, other);
}
