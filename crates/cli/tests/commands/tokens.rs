//! `serve --tokens`: nothing is answered without a token.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::program::{Serving, parts, run};

const ALICE: &str = "2f9c1b7e55a04d13";

/// A file with these lines and this mode, which is gone when it is dropped.
struct TokenFile(std::path::PathBuf);

impl TokenFile {
    fn new(name: &str, text: &str, mode: u32) -> TokenFile {
        let path = std::env::temp_dir().join(format!("switchboard-{name}-{}", std::process::id()));
        fs::write(&path, text).expect("the temporary folder is writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("it is our file");
        TokenFile(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("the temporary folder has a plain name")
    }
}

impl Drop for TokenFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn calls_need_a_token_over_http_and_websocket_and_so_does_discovery() {
    let file = TokenFile::new("tokens", &format!("alice:{ALICE}\n"), 0o600);
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
fn a_file_that_cannot_be_used_is_explained_and_never_quoted() {
    for (text, mode, expected) in [
        ("alice:2f9c1b7e55a04d13\n", 0o644, "chmod 600"),
        ("alice:hunter2\n", 0o600, "line 1: the token is shorter than 16 characters"),
        ("", 0o600, "the file has no tokens"),
    ] {
        let file = TokenFile::new("bad-tokens", text, mode);
        let (code, _, stderr) = parts(run(&["serve", "0", "--tokens", file.path()]));
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains(expected) && !stderr.contains("hunter2"), "{stderr}");
    }
}

#[test]
fn wrong_tokens_are_recorded_in_the_audit_log_without_their_text() {
    let file = TokenFile::new("audited-tokens", &format!("alice:{ALICE}\n"), 0o600);
    let audit = TokenFile::new("audit", "", 0o600);
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
