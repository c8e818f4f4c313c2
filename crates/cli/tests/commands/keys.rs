//! `switchboard key new` and `serve --keys`.

use crate::program::{Serving, parts, program, run};
use crate::terminal::at_terminal;
use crate::tokens::CredentialFile;

/// A new key and the line for it, as a script gets them.
fn new_key(more: &[&str]) -> (String, String) {
    let (code, line, key) = parts(run(&[&["key", "new"], more].concat()));
    assert_eq!(code, Some(0), "{key}");
    (key, line)
}

// SEC-T-10
#[test]
fn a_key_works_as_a_token_and_in_its_header_over_http_and_websocket() {
    let (key, line) = new_key(&["alice", "--role", "admin", "--scope", "read", "--expires", "90d"]);
    let file = CredentialFile::new("keys", &line, 0o600);
    let serving = Serving::start(&["--keys", file.path()]);
    let http = serving.url();
    for url in [http.clone(), http.replace("http:", "ws:")] {
        let (code, ..) = parts(run(&["call", &url, "math/add", "2", "3"]));
        assert_ne!(code, Some(0), "{url}");
        let header = format!("X-API-Key: {}", key.trim_end());
        for credential in [["--token", key.trim_end()], ["-H", &header]] {
            let arguments = [&["call", &url, "rpc.whoami"], &credential[..]].concat();
            let (code, stdout, stderr) = parts(run(&arguments));
            assert_eq!(code, Some(0), "{url}: {stderr}");
            assert!(
                stdout.contains(r#""subject":"alice","proof":"api-key","roles":["admin"],"scopes":["read"]"#),
                "{stdout}"
            );
            assert!(stdout.contains(r#""expires":"#), "{stdout}");
        }
    }
}

#[test]
fn tokens_and_keys_are_accepted_side_by_side() {
    let (key, line) = new_key(&["bob"]);
    let keys = CredentialFile::new("both-keys", &line, 0o600);
    let tokens = CredentialFile::new("both-tokens", "alice:2f9c1b7e55a04d13\n", 0o600);
    let serving = Serving::start(&["--tokens", tokens.path(), "--keys", keys.path()]);
    for (token, name) in [("2f9c1b7e55a04d13", "alice"), (key.trim_end(), "bob")] {
        let (_, stdout, stderr) = parts(run(&["call", &serving.url(), "rpc.whoami", "--token", token]));
        assert!(stdout.contains(&format!("\"subject\":\"{name}\"")), "{stdout} {stderr}");
    }
}

#[test]
fn the_line_goes_to_stdout_and_the_key_to_stderr() {
    let (key, line) = new_key(&["alice"]);
    assert!(key.starts_with("sb_") && key.ends_with('\n') && key.lines().count() == 1, "{key}");
    assert!(line.ends_with(" name=alice\n") && line.lines().count() == 1, "{line}");
    let (_, secret) = key.trim_end().rsplit_once('_').unwrap();
    assert!(!line.contains(secret));
    let (code, text) = at_terminal(program(&["key", "new", "alice"]));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("It is shown only once:\n\nsb_") && text.contains("--keys FILE"), "{text}");
    // Redirected as the examples do: the person still sees the key.
    let (_, text) = at_terminal_with_stdout_elsewhere(&["key", "new", "alice"]);
    assert!(text.contains("sb_") && text.contains("chmod 600") && !text.contains("name=alice"), "{text}");
}

/// What a person sees whose shell redirects stdout.
fn at_terminal_with_stdout_elsewhere(arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "exec \"$@\" > /dev/null", "sh", env!("CARGO_BIN_EXE_switchboard")]).args(arguments);
    at_terminal(command)
}

#[test]
fn a_file_or_name_that_cannot_be_used_is_explained() {
    let (key, line) = new_key(&["alice"]);
    for (text, mode, expected) in [
        (&line, 0o644, "chmod 600"),
        (&key, 0o600, "line 1: write `PREFIX SHA256 name=NAME`"),
        (&String::new(), 0o600, "the file has no keys; make one with: switchboard key new NAME"),
    ] {
        let file = CredentialFile::new("bad-keys", text, mode);
        let (code, _, stderr) = parts(run(&["serve", "0", "--keys", file.path()]));
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains(expected) && !stderr.contains(key.trim_end()), "{stderr}");
    }
    for wrong in [&["two words"][..], &["alice", "--role", "a,b"], &["alice", "--expires", "soon"]] {
        let (code, stdout, stderr) = parts(run(&[&["key", "new"], wrong].concat()));
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{stderr}");
    }
}
