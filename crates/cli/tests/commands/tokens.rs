//! `serve --tokens`: nothing is answered without a token.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use crate::carriers::Folder;
use crate::program::{Serving, parts, program, run};

const ALICE: &str = "2f9c1b7e55a04d13";

/// A file with these lines and this mode, which is gone when it is dropped.
pub(crate) struct CredentialFile(std::path::PathBuf);

impl CredentialFile {
    pub(crate) fn new(name: &str, text: &str, mode: u32) -> CredentialFile {
        let path = std::env::temp_dir().join(format!("switchboard-{name}-{}", std::process::id()));
        fs::write(&path, text).expect("the temporary folder is writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("it is our file");
        CredentialFile(path)
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().expect("the temporary folder has a plain name")
    }
}

impl Drop for CredentialFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn calls_need_a_token_over_http_and_websocket_and_so_does_discovery() {
    let file = CredentialFile::new("tokens", &format!("alice:{ALICE}\n"), 0o600);
    let serving = Serving::start(&["--tokens", file.path()]);
    let http = serving.urls()[0].clone();
    for url in [http.clone(), http.replace("http:", "ws:")] {
        let (code, _, stderr) = parts(run(&["call", &url, "math/add", "2", "3"]));
        assert_ne!(code, Some(0), "{url}");
        assert!(stderr.contains("--token"), "{url}: {stderr}");
        let (code, stdout, stderr) = parts(run(&["call", &url, "math/add", "2", "3", "--token", ALICE]));
        assert_eq!((code, stdout.as_str()), (Some(0), "5\n"), "{url}: {stderr}");
    }
    let (code, ..) = parts(run(&["discover", &http]));
    assert_ne!(code, Some(0));
    let (_, stdout, _) = parts(run(&["call", &http, "rpc.whoami", "--token", ALICE]));
    assert!(stdout.contains("\"subject\":\"alice\""), "{stdout}");
}

#[test]
fn a_token_is_sent_over_every_transport_and_never_shown() {
    let file = CredentialFile::new("every-tokens", &format!("alice:{ALICE}\n"), 0o600);
    let folder = Folder::new("every-token");
    let (certificate, key) = folder.certificate();
    let unix = format!("unix:{}", folder.file("rpc.sock"));
    let serving = Serving::start(&[
        "--listen",
        "tcp://127.0.0.1:0?framing=lsp",
        "--listen",
        "tls://127.0.0.1:0",
        "--listen",
        &unix,
        "--tls-cert",
        &certificate,
        "--tls-key",
        &key,
        "--tokens",
        file.path(),
    ]);
    let exec = format!("exec:{} serve --stdio --tokens {}", env!("CARGO_BIN_EXE_switchboard"), file.path());
    let urls: Vec<String> = serving.urls().into_iter().chain([exec]).collect();
    assert_eq!(urls.len(), 5, "{urls:?}");
    for url in &urls {
        let call = |more: &[&str]| {
            let call = ["call", url, "rpc.whoami", "--cacert", &certificate];
            parts(run(&[&call, more].concat()))
        };
        let (code, _, stderr) = call(&[]);
        assert_eq!(code, Some(1), "{url}: {stderr}");
        assert!(stderr.contains("--token"), "{url}: {stderr}");
        for more in [&[][..], &["--retry", "1"], &["-v"], &["--v1"]] {
            let (code, stdout, stderr) = call(&[&["--token", ALICE], more].concat());
            assert_eq!(code, Some(0), "{url} {more:?}: {stderr}");
            assert!(stdout.contains("\"subject\":\"alice\""), "{url} {more:?}: {stdout}");
            assert!(!stderr.contains(ALICE), "{url}: {stderr}");
        }
        for (more, expected) in
            [(&[][..], 1), (&["--retry", "1"][..], if url.starts_with("http") { 1 } else { 3 })]
        {
            let (code, _, stderr) = call(&[&["--token", "sekret-sekret-sekret"], more].concat());
            assert_eq!(code, Some(expected), "{url} {more:?}: {stderr}");
            assert!(stderr.contains("--token") && !stderr.contains("sekret"), "{url}: {stderr}");
        }
    }
    for command in [
        &["watch", &urls[1], "ticks", "--count", "1"][..],
        &["discover", &urls[1]],
        &["notify", &urls[1], "sum"],
    ] {
        let mut command = program(command);
        let (code, _, stderr) = parts(command.env("SWITCHBOARD_TOKEN", ALICE).output().expect("it runs"));
        assert_eq!(code, Some(0), "{stderr}");
    }
}

#[test]
fn the_process_at_stdio_may_be_trusted_and_no_other_caller() {
    let file = CredentialFile::new("stdio-tokens", &format!("bob:{ALICE}\n"), 0o600);
    let path = env!("CARGO_BIN_EXE_switchboard");
    let who = |url: &str, more: &[&str]| parts(run(&[&["call", url, "rpc.whoami"], more].concat()));
    for more in [String::new(), format!("--tokens {}", file.path())] {
        let url = format!("exec:{path} serve --stdio --stdio-user alice {more}");
        let (_, stdout, stderr) = who(&url, &[]);
        assert!(stdout.contains(r#""subject":"alice","proof":"stdio""#), "{stdout} {stderr}");
    }
    let url = format!("exec:{path} serve --stdio --stdio-user alice --tokens {}", file.path());
    let (_, stdout, _) = who(&url, &["--token", ALICE]);
    assert!(stdout.contains("\"subject\":\"bob\""), "a login counts more: {stdout}");
    let options = ["serve", "0", "--stdio", "--stdio-user", "alice", "--tokens", file.path()];
    let mut command = program(&options);
    // It serves as long as its input is open.
    command.stdin(Stdio::piped());
    let serving = Serving::spawn(command);
    let (code, ..) = who(&serving.url(), &[]);
    assert_eq!(code, Some(1));
}

#[test]
fn a_file_that_cannot_be_used_is_explained_and_never_quoted() {
    for (text, mode, expected) in [
        ("alice:2f9c1b7e55a04d13\n", 0o644, "chmod 600"),
        ("alice:hunter2\n", 0o600, "line 1: the token is shorter than 16 characters"),
        ("", 0o600, "the file has no tokens"),
    ] {
        let file = CredentialFile::new("bad-tokens", text, mode);
        let (code, _, stderr) = parts(run(&["serve", "0", "--tokens", file.path()]));
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains(expected) && !stderr.contains("hunter2"), "{stderr}");
    }
}

#[test]
fn wrong_tokens_are_recorded_in_the_audit_log_without_their_text() {
    let file = CredentialFile::new("audited-tokens", &format!("alice:{ALICE}\n"), 0o600);
    let audit = CredentialFile::new("audit", "", 0o600);
    let serving = Serving::start(&["--tokens", file.path(), "--audit", audit.path()]);
    let url = serving.urls()[0].clone();
    let (code, ..) = parts(run(&["call", &url, "math/add", "2", "3", "--token", "a-wrong-token-123"]));
    assert_ne!(code, Some(0));
    // A server that ends has written its last lines.
    serving.signal("TERM");
    let (status, _) = serving.wait();
    assert!(status.success());
    let text = fs::read_to_string(audit.path()).expect("the server wrote it");
    assert!(text.contains(r#""event":"authentication-failed""#), "{text}");
    assert!(text.contains(r#""peer":"127.0.0.1:"#) && !text.contains("a-wrong-token"), "{text}");
}
