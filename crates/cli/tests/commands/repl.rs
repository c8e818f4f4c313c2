//! `switchboard repl`, at a terminal and with a script.

use serde_json::json;

use crate::far::Far;
use crate::keyboard::Terminal;
use crate::program::{Serving, listener, parts, run_with};

/// The result of every call here, on a line of its own: the number alone may stand in the port that the prompt shows.
const ANSWER: &str = "42\r\n";

/// A directory for the state of one test's programs.
fn state(test: &str) -> String {
    let path = format!("{}/repl-{test}-{}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    let _ = std::fs::remove_dir_all(&path);
    path
}

/// A prompt that talks to a far side.
fn prompt(far: &Far, state: &str) -> Terminal {
    let mut terminal = Terminal::start(&["repl", &far.url], state);
    terminal.until("Connected to tcp://127.0.0.1");
    terminal.until("Far 1.0, 2 methods");
    terminal.until("> ");
    terminal
}

#[test]
fn tab_completes_methods_and_names_of_parameters() {
    let far = Far::start();
    let mut terminal = prompt(&far, &state("tab"));
    terminal.type_in("mat\t");
    terminal.until("math/add ");
    terminal.type_in("a=20 b\t");
    terminal.until("b=");
    terminal.type_in("22\r");
    terminal.until(ANSWER);
    assert_eq!(far.receive("math/add")["params"], json!({"a": 20, "b": 22}));
    terminal.until("> ");
    terminal.type_in("\u{4}");
    assert_eq!(terminal.wait(), Some(0));
}

#[test]
fn json_goes_on_over_lines_until_its_brackets_are_closed() {
    let far = Far::start();
    let mut terminal = prompt(&far, &state("lines"));
    terminal.type_in("math/add {\r");
    terminal.until("… ");
    terminal.type_in("\"a\": 20,\r");
    terminal.until("… ");
    terminal.type_in("\"b\": 22}\r");
    terminal.until(ANSWER);
    assert_eq!(far.receive("math/add")["params"], json!({"a": 20, "b": 22}));
}

#[test]
fn a_notification_is_shown_above_the_line_that_is_being_typed() {
    let far = Far::start();
    let mut terminal = prompt(&far, &state("notification"));
    terminal.type_in("math/add 20 ");
    terminal.until("math/add 20 ");
    far.send(&json!({"jsonrpc": "2.0", "method": "onTick", "params": [7]}));
    terminal.until("← onTick");
    // On one line, whatever colours are in between.
    terminal.until(" [7]");
    // The line is there again, and goes on.
    terminal.until("math/add 20 ");
    terminal.type_in("22\r");
    terminal.until(ANSWER);
}

#[test]
fn ctrl_c_cancels_the_call_under_way_and_does_not_quit() {
    let far = Far::start();
    let mut terminal = prompt(&far, &state("cancel"));
    terminal.type_in("wait\r");
    far.receive("wait");
    terminal.type_in("\u{3}");
    far.receive("rpc.cancel");
    terminal.until("cancelled");
    terminal.until("> ");
    // At the prompt it empties the line.
    terminal.type_in("nonsense");
    terminal.until("nonsense");
    terminal.type_in("\u{3}");
    terminal.until("> ");
    terminal.type_in("math/add 20 22\r");
    terminal.until(ANSWER);
}

#[test]
fn enter_runs_the_line_that_a_search_has_found() {
    let far = Far::start();
    let mut terminal = prompt(&far, &state("search"));
    for (line, params) in [("math/add 20 22\r", json!([20, 22])), ("math/add 40 2\r", json!([40, 2]))] {
        terminal.type_in(line);
        terminal.until(ANSWER);
        assert_eq!(far.receive("math/add")["params"], params);
        terminal.until("> ");
    }
    // Ctrl-R
    terminal.type_in("\u{12}20");
    terminal.until("math/add 20 22");
    terminal.type_in("\r");
    terminal.until(ANSWER);
    assert_eq!(far.receive("math/add")["params"], json!([20, 22]));
    terminal.until("> ");
    // The prompt is empty again, and Enter is what it was.
    terminal.type_in("math/add 1 41\r");
    terminal.until(ANSWER);
    assert_eq!(far.receive("math/add")["params"], json!([1, 41]));
}

#[test]
fn what_was_typed_is_there_the_next_time() {
    let (far, state) = (Far::start(), state("history"));
    let mut terminal = prompt(&far, &state);
    terminal.type_in("math/add 20 22\r");
    terminal.until(ANSWER);
    terminal.until("> ");
    terminal.type_in(".quit\r");
    assert_eq!(terminal.wait(), Some(0));
    let mut terminal = prompt(&far, &state);
    // The last but one.
    terminal.type_in("\u{1b}[A");
    terminal.until(".quit");
    terminal.type_in("\u{1b}[A");
    terminal.until("math/add 20 22");
    terminal.type_in("\r");
    terminal.until(ANSWER);
}

#[test]
fn a_connection_that_breaks_is_told_and_made_again() {
    let far = Far::start();
    let mut terminal = prompt(&far, &state("again"));
    far.hang_up();
    terminal.until("connection lost");
    terminal.until("reconnected");
    terminal.type_in("math/add 20 22\r");
    terminal.until(ANSWER);
}

#[test]
fn a_script_prints_results_and_ends_with_the_code_of_its_first_error() {
    let serving = Serving::start(&[]);
    let script = "# adds\nmath/add a=2 b=3\nmath/add {\n  \"a\": 4,\n  \"b\": 5\n}\n[{\"method\":\"sum\",\"params\":[1,2],\"id\":\"x\"}]\nnothing\nmath/add a=\n.quit\nmath/add 1 1\n";
    let (code, stdout, stderr) = parts(run_with(script, &["repl", &serving.url()]));
    let batch = r#"[{"jsonrpc":"2.0","result":3,"id":"x"}]"#;
    assert_eq!(stdout, format!("5\n9\n{batch}\n"), "{stderr}");
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("-32601") && stderr.contains("2 lines of the script failed: 8, 9"), "{stderr}");
}

#[test]
fn a_raw_text_is_sent_as_it_is() {
    let serving = Serving::start(&[]);
    for url in [serving.url(), serving.url().replace("http:", "ws:")] {
        let (code, stdout, stderr) =
            parts(run_with(".raw {\"jsonrpc\": \"2.0\", \"method\n", &["repl", &url]));
        assert_eq!(code, Some(0), "{stderr}");
        assert!(stdout.contains("-32700"), "{stdout}");
    }
}

#[test]
fn a_raw_text_that_is_broken_is_sent_at_once() {
    let serving = Serving::start(&[]);
    let url = serving.url().replace("http:", "ws:");
    let mut terminal = Terminal::start(&["repl", &url], &state("raw"));
    terminal.until("> ");
    // The brackets stay open.
    terminal.type_in(".raw {\"method\": \"wait\", \"params\": [\r");
    terminal.until("-32700");
}

#[test]
fn the_wire_is_shown_above_the_line_that_is_being_typed() {
    let far = Far::start();
    let mut terminal = Terminal::start(&["repl", &far.url, "-v"], &state("wire"));
    terminal.until("--> {\"jsonrpc\"");
    terminal.until("Connected to");
    terminal.until("> ");
    terminal.type_in("math/add 20 ");
    terminal.until("math/add 20 ");
    far.send(&json!({"jsonrpc": "2.0", "method": "onTick", "params": [7]}));
    terminal.until("<-- {\"jsonrpc\"");
    terminal.until("math/add 20 ");
    terminal.type_in("22\r");
    terminal.until(ANSWER);
}

#[test]
fn at_its_start_a_prompt_tries_again_if_it_is_told_to() {
    let (listener, url) = listener();
    drop(listener);
    let url = url.replace("http:", "tcp:");
    let (code, _, stderr) = parts(run_with("sum\n", &["repl", &url, "--retry", "1"]));
    assert_eq!(code, Some(3), "{stderr}");
    assert_eq!(stderr.matches("(attempt 2 of 2)").count(), 1, "{stderr}");
}

#[test]
fn a_batch_of_a_script_has_the_code_of_its_failure() {
    let serving = Serving::start(&[]);
    let script = "[{\"method\":\"sum\",\"id\":1},{\"method\":\"no/such\",\"id\":2}]\n";
    let (code, stdout, stderr) = parts(run_with(script, &["repl", &serving.url()]));
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stdout.contains("\"result\":0") && stderr.contains("1 of 2 calls failed"), "{stdout}{stderr}");
}

#[test]
fn a_prompt_needs_somebody_to_talk_to() {
    let (listener, url) = listener();
    drop(listener);
    for url in [url.clone(), url.replace("http:", "tcp:")] {
        let (code, _, stderr) = parts(run_with("sum\n", &["repl", &url]));
        assert_eq!(code, Some(3), "{stderr}");
        assert!(stderr.contains("nothing is listening"), "{stderr}");
    }
}

#[test]
fn a_script_may_be_empty_but_somebody_must_be_there() {
    let (listener, url) = listener();
    drop(listener);
    let (code, _, stderr) = parts(run_with("", &["repl", &url]));
    assert_eq!(code, Some(3), "{stderr}");
    let serving = Serving::start(&[]);
    assert_eq!(parts(run_with("", &["repl", &serving.url()])), (Some(0), String::new(), String::new()));
}

#[test]
fn the_methods_are_json_in_a_script() {
    let serving = Serving::start(&[]);
    let (code, stdout, stderr) = parts(run_with(".methods\n", &["repl", &serving.url()]));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        serde_json::from_str::<Vec<String>>(&stdout).unwrap().contains(&"math/add".to_owned()),
        "{stdout}"
    );
}

#[test]
fn a_stream_that_was_stopped_shows_nothing_more() {
    let serving = Serving::start(&[]);
    let url = serving.url().replace("http:", "ws:");
    let mut terminal = Terminal::start(&["repl", &url], &state("stop"));
    terminal.until("> ");
    // Our own servers understand the wish for a stream.
    terminal.type_in("ai/generate \"to be\"\r");
    terminal.until("#1 \"to \"");
    terminal.until("stream #1 ended");
    terminal.type_in("ticks seconds=0.001\r");
    terminal.until("#2 5");
    terminal.type_in(".stop\r");
    terminal.until("stream #2 stopped");
    terminal.type_in("nothing\r");
    terminal.until("-32601");
    let shown = terminal.type_and_see(".quit\r");
    assert!(!shown.contains("#2 "), "{shown}");
}

#[test]
fn without_colours_what_is_chosen_keeps_its_name() {
    let far = Far::start();
    let mut terminal = Terminal::start_with(&["repl", &far.url], &state("plain"), &[("NO_COLOR", "1")]);
    terminal.until("Far 1.0, 2 methods");
    terminal.until("> ");
    terminal.type_in("\t");
    // The menu shows both, the first of them chosen.
    terminal.until("math/add");
    terminal.until("wait");
    terminal.type_in("\r");
    terminal.until("math/add");
    terminal.type_in("20 22\r");
    terminal.until(ANSWER);
}
