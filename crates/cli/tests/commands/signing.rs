//! Signed calls: `call --sign`, `serve --signing-keys`, `sign` and `verify`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::program::{Serving, parts, run, run_with};

const BOB: &str =
    "bob-1 hmac-sha256 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f subject=bob\n";

/// A file that only its owner can read, which is gone when it is dropped.
struct KeyFile(std::path::PathBuf);

impl KeyFile {
    fn new(name: &str, text: &str) -> KeyFile {
        let path = std::env::temp_dir().join(format!("switchboard-{name}-{}", std::process::id()));
        fs::write(&path, text).expect("the temporary folder is writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is our file");
        KeyFile(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("the temporary folder has a plain name")
    }
}

impl Drop for KeyFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn calls_must_be_signed_and_answers_are_over_every_transport() {
    let keys = KeyFile::new("signing-keys", BOB);
    let store = std::env::temp_dir().join(format!("switchboard-signing-store-{}", std::process::id()));
    let place = format!("file:{}", store.display());
    let serving =
        Serving::start(&["--signing-keys", keys.path(), "--store", &place, "--listen", "tcp://127.0.0.1:0"]);
    let urls = serving.urls();
    let mut all = urls.clone();
    all.push(urls[0].replace("http:", "ws:"));
    for url in &all {
        let (code, _, stderr) = parts(run(&["call", url, "math/add", "2", "3"]));
        assert_eq!(code, Some(1), "{url}: {stderr}");
        assert!(stderr.contains("-32002"), "{url}: {stderr}");
        let signed =
            run(&["call", url, "math/add", "2", "3", "--sign", keys.path(), "--require-signed-answers"]);
        let (code, stdout, stderr) = parts(signed);
        assert_eq!((code, stdout.as_str()), (Some(0), "5\n"), "{url}: {stderr}");
    }
    // Whole HTTP requests, by RFC 9421.
    let over_http = [
        "call",
        &urls[0],
        "math/add",
        "2",
        "3",
        "--sign",
        keys.path(),
        "--sign-http",
        "--require-signed-answers",
    ];
    let (code, stdout, stderr) = parts(run(&over_http));
    assert_eq!((code, stdout.as_str()), (Some(0), "5\n"), "{stderr}");
    let (code, ..) =
        parts(run(&["call", &urls[0], "math/add", "2", "3", "--sign", &format!("{}#eve", keys.path())]));
    assert_eq!(code, Some(2));
    let _ = fs::remove_file(store);
}

#[test]
fn only_the_named_methods_need_a_signature() {
    let keys = KeyFile::new("some-keys", BOB);
    let serving = Serving::start(&["--signing-keys", keys.path(), "--require-signature", "math/*"]);
    let url = serving.urls()[0].clone();
    let (code, ..) = parts(run(&["call", &url, "math/add", "2", "3"]));
    assert_eq!(code, Some(1));
    let (code, stdout, _) = parts(run(&["call", &url, "echo", "hi"]));
    assert_eq!((code, stdout.contains("hi")), (Some(0), true));
}

#[test]
fn scripts_sign_and_verify_messages() {
    let keys = KeyFile::new("script-keys", BOB);
    let message = r#"{"jsonrpc":"2.0","method":"transfer","params":{"amount":100},"id":7}"#;
    let audience = "https://bank.example/rpc";
    let (code, signed, stderr) = parts(run_with(message, &["sign", keys.path(), audience]));
    assert_eq!(code, Some(0), "{stderr}");
    let (code, stdout, _) = parts(run_with(&signed, &["verify", keys.path(), audience, "--explain"]));
    assert_eq!(code, Some(0));
    assert!(
        stdout.starts_with("switchboard-signature-v1\nkind=request\nalg=hmac-sha256\nkid=bob-1\n"),
        "{stdout}"
    );
    assert!(stdout.ends_with("accepted: signed by bob with the key bob-1\n"), "{stdout}");
    let changed = signed.replace("100", "900");
    let (code, _, stderr) = parts(run_with(&changed, &["verify", keys.path(), audience]));
    assert_eq!(code, Some(1));
    assert!(stderr.contains("bad_signature"), "{stderr}");
}

/// The examples of `docs/signing.md` in other languages make messages that are accepted.
#[test]
fn the_documented_examples_sign_as_we_do() {
    let page = include_str!("../../../../docs/signing.md");
    let block = |language: &str| {
        let (_, rest) = page.split_once(&format!("```{language}\n")).expect("the page has an example");
        rest.split_once("\n```").expect("the example ends").0
    };
    let keys = KeyFile::new("documented-keys", BOB);
    let audience = "https://bank.example/rpc";
    let arguments =
        format!(r#"("{audience}", KEY, "bob-1", "transfer", {{"amount": 100, "to": "J\u00fcrgen"}}, 7)"#);
    let hex = BOB.split(' ').nth(2).expect("the third field");
    let python =
        format!("{}\nKEY = bytes.fromhex('{hex}')\nprint(signed_call{arguments})\n", block("python"));
    let script = format!(
        "{}\nconst KEY = Buffer.from('{hex}', 'hex');\nconsole.log(signedCall{arguments});\n",
        block("javascript")
    );
    for (program, flag, source) in [("python3", "-c", python), ("node", "-e", script)] {
        let output = match std::process::Command::new(program).args([flag, &source]).output() {
            Ok(output) => output,
            // Machines without it skip the example.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => panic!("{program}: {error}"),
        };
        let signed = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
        let (code, stdout, stderr) = parts(run_with(&signed, &["verify", keys.path(), audience]));
        assert_eq!(code, Some(0), "{program}: {stdout}{stderr}{signed}");
    }
}

#[test]
fn a_new_key_signs_and_its_line_verifies() {
    for algorithm in ["ed25519", "hmac-sha256"] {
        let made = run(&["key", "new", "alice", "--sign", algorithm, "--scope", "math/*", "--expires", "1d"]);
        let (code, line, secret) = parts(made);
        assert_eq!(code, Some(0), "{secret}");
        assert_eq!(secret.contains("ed25519-private"), algorithm == "ed25519", "{secret}");
        assert!(line.contains("subject=alice scopes=math/* until="), "{line}");
        let (server, client) = (KeyFile::new("new-server", &line), KeyFile::new("new-client", &secret));
        let serving = Serving::start(&["--signing-keys", server.path()]);
        let url = serving.urls()[0].clone();
        let (code, stdout, stderr) =
            parts(run(&["call", &url, "math/add", "2", "3", "--sign", client.path()]));
        assert_eq!((code, stdout.as_str()), (Some(0), "5\n"), "{stderr}");
        let (code, ..) = parts(run(&["call", &url, "echo", "hi", "--sign", client.path()]));
        assert_eq!(code, Some(1), "it is out of the key's scope");
    }
}

#[test]
fn a_key_that_is_removed_from_the_file_is_refused_within_seconds() {
    let keys = KeyFile::new("revoked-keys", BOB);
    let serving = Serving::start(&["--signing-keys", keys.path()]);
    let url = serving.urls()[0].clone();
    let signer = KeyFile::new("revoked-signer", BOB);
    let call = || parts(run(&["call", &url, "math/add", "2", "3", "--sign", signer.path()])).0;
    assert_eq!(call(), Some(0));
    fs::write(keys.path(), BOB.replace("bob-1", "bob-2")).unwrap();
    let began = std::time::Instant::now();
    while call() == Some(0) {
        assert!(began.elapsed() < std::time::Duration::from_secs(60), "the key is still accepted");
    }
}

#[test]
fn a_transfer_with_a_used_nonce_or_an_old_timestamp_is_refused() {
    let serving = Serving::start(&[]);
    let url = serving.urls()[0].clone();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let transfer = |timestamp: u64, nonce: &str| {
        let (timestamp, nonce) = (format!("timestamp={timestamp}"), format!("nonce={nonce}"));
        parts(run(&["call", &url, "transfer", "amount=100", &timestamp, &nonce]))
    };
    let (code, stdout, stderr) = transfer(now + 2, "xy12");
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("\"amount\":100"), "{stdout}");
    for (timestamp, nonce, why) in [(now + 2, "xy12", "nonce"), (1_728_623_456, "xy13", "timestamp")] {
        let (code, _, stderr) = transfer(timestamp, nonce);
        assert_eq!(code, Some(1), "{stderr}");
        assert!(stderr.contains("-32002") && stderr.contains(why), "{stderr}");
    }
}

#[test]
fn calls_with_the_same_idempotency_key_run_once() {
    let serving = Serving::start(&["--idempotency", "1h"]);
    let url = serving.urls()[0].clone();
    let call = |message: &str, header: &str| {
        let chat = ["call", &url, "continueChat", "s1", message, "--header", header];
        parts(run(&chat)).1
    };
    let first = call("hello", "Idempotency-Key: pay-1");
    assert_eq!(call("hello", "Idempotency-Key: pay-1"), first);
    assert_ne!(call("hello", "Idempotency-Key: pay-2"), first);
}
