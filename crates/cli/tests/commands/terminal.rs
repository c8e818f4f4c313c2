//! What a person sees: the program at a terminal.

use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::describing::Describing;
use crate::program::{Serving, program};

/// What the program shows on a terminal, and its code.
fn shown(arguments: &[&str], environment: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = program(arguments);
    command.envs(environment.iter().copied());
    at_terminal(command)
}

/// What a program shows on a terminal of 80 columns, stdout and stderr, and its code.
pub(crate) fn at_terminal(mut command: Command) -> (Option<i32>, String) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let size = Winsize { ws_row: 25, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&master, size).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let slave = open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    command.env("TERM", "xterm");
    command.stdout(Stdio::from(slave.try_clone().unwrap())).stderr(Stdio::from(slave));
    let mut child = command.spawn().unwrap();
    // It holds the program's side of the terminal, whose end would not be seen otherwise.
    drop(command);
    let mut bytes = Vec::new();
    // That the program's side is closed is an error here.
    let _ = File::from(master).read_to_end(&mut bytes);
    let text = String::from_utf8(bytes).unwrap().replace("\r\n", "\n");
    (child.wait().unwrap().code(), text)
}

/// The same without the colours, of which there must be some.
fn plain(arguments: &[&str]) -> (Option<i32>, String) {
    let (code, text) = shown(arguments, &[]);
    assert!(text.contains('\u{1b}'), "no colours in {text}");
    let (same, plain) = shown(arguments, &[("NO_COLOR", "1")]);
    assert_eq!(code, same);
    assert!(!plain.contains('\u{1b}'), "colours in {plain}");
    assert_eq!(anstream::adapter::strip_str(&text).to_string(), plain);
    (code, plain)
}

#[test]
fn a_result_is_laid_out() {
    let serving = Serving::start(&[]);
    let (code, text) = plain(&["call", &serving.url(), "echo", r#"message={"a":[1,"x"]}"#]);
    assert_eq!((code, text.as_str()), (Some(0), "{\n  \"a\": [\n    1,\n    \"x\"\n  ]\n}\n"));
}

#[test]
fn json_and_raw_are_for_programs() {
    let serving = Serving::start(&[]);
    let url = serving.url();
    let message = "message=[1, \"\u{9b}\"]";
    let check = |more: &str, expected: &str| {
        let output = shown(&["call", &url, "echo", message, more], &[]);
        assert_eq!(output, (Some(0), expected.to_owned()), "{more}");
    };
    check("--json", "[1,\"\\u009b\"]\n");
    check("--raw", "[1, \"\\u009b\"]\n");
    for more in ["--json", "--raw"] {
        let expected = format!(
            "{{\"code\":-32601,\"message\":\"Method not found\",\"data\":{{\"method\":\"nothing\"}},\
             \"advice\":\"`switchboard discover {url}` lists the methods\"}}\n"
        );
        assert_eq!(shown(&["call", &url, "nothing", more], &[]), (Some(1), expected), "{more}");
    }
}

#[test]
fn answers_to_a_batch_are_a_table() {
    let serving = Serving::start(&[]);
    let file = std::env::temp_dir().join(format!("switchboard-batch-{}", std::process::id()));
    std::fs::write(&file, "math/add 2 3\nmath/sqrt -1\necho message=[1,2]\n").unwrap();
    let (code, text) = plain(&["batch", &serving.url(), &file.display().to_string()]);
    std::fs::remove_file(file).unwrap();
    let expected = "id  method     answer\n\
         1   math/add   5\n\
         2   math/sqrt  error -32001 Invalid user data {\"details\":\"x must not be\n               \
         negative\"}\n\
         3   echo       [1,2]\n\
         error: 1 of 3 calls failed\n";
    assert_eq!((code, text.as_str()), (Some(1), expected));
}

#[test]
fn methods_are_a_table_and_one_of_them_is_shown_in_detail() {
    let far = Describing::start();
    let (code, text) = plain(&["discover", &far.url]);
    let expected = "Demo 1.0\n\n\
         method           result  summary\n\
         math/add(a, b)   number  Adds two numbers.\n\
         math/subtract()  number\n";
    assert_eq!((code, text.as_str()), (Some(0), expected));
    let (code, text) = plain(&["discover", &far.url, "math/add"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("a          number  The first.\n"), "{text}");
    assert!(text.contains("safe: it changes nothing\n"), "{text}");
}

#[test]
fn a_method_that_is_not_there_is_told_with_one_that_is() {
    let far = Describing::start();
    let (code, text) = plain(&["call", &far.url, "math/ad", "1", "2"]);
    assert_eq!(code, Some(1));
    assert_eq!(text, "error -32601 Method not found: math/ad\ndid you mean `math/add`?\n");
    let (code, text) = plain(&["watch", &far.url, "math/ad"]);
    assert_eq!((code, text.contains("did you mean `math/add`?")), (Some(1), true), "{text}");
    let (_, text) = plain(&["call", &far.url, "zzz"]);
    let expected =
        format!("error -32601 Method not found: zzz\n`switchboard discover {}` lists the methods\n", far.url);
    assert_eq!(text, expected);
}

#[test]
fn parameters_that_are_wrong_are_told_with_what_they_should_be() {
    let far = Describing::start();
    let (code, text) = plain(&["call", &far.url, "math/add", "1"]);
    assert_eq!(code, Some(1));
    assert!(text.starts_with("error -32602 Invalid params\n"), "{text}");
    assert!(text.ends_with("expected math/add(a, b)\n  a: number  The first.\n  b: number\n"), "{text}");
}

#[test]
fn a_far_side_that_does_not_describe_itself_is_left_alone() {
    let far = Describing::silent();
    let output = plain(&["call", &far.url, "no/such"]);
    assert_eq!(output, (Some(1), "error -32601 Method not found: no/such\n".to_owned()));
}
