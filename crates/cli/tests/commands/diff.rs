//! `switchboard discover --diff`: what is different, and the code that it ends with.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;

use crate::describing::{DOCUMENT, Describing};
use crate::program::{listener, parts, program, run, run_with};

/// A folder with documents, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("switchboard-diff-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    /// Writes a document with one method, whose parameters are these.
    fn write(&self, name: &str, params: &str) -> String {
        let file = self.0.join(name);
        let text = format!(
            r#"{{"openrpc":"1.3.2","info":{{"title":"T","version":"1"}},"methods":[{{"name":"m","params":[{params}]}}]}}"#
        );
        fs::write(&file, text).unwrap();
        file.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

// OR-51
#[test]
fn changes_that_break_have_a_code_of_their_own() {
    let folder = Folder::new("codes");
    let none = folder.write("none.json", "");
    let optional = folder.write("optional.json", r#"{"name":"a","schema":{"pattern":"^a"}}"#);
    let other = folder.write("other.json", r#"{"name":"a","schema":{"pattern":"^b"}}"#);
    let check = |arguments: &[&str], expected: i32, told: &str| {
        let (code, stdout, stderr) = parts(run(&[&["discover"], arguments].concat()));
        assert_eq!(code, Some(expected), "{arguments:?} {stdout} {stderr}");
        assert!(stdout.contains(told), "{arguments:?} {stdout} {stderr}");
    };
    check(&[&none, "--diff", &none], 0, "[]");
    check(
        &[&optional, "--diff", &none],
        0,
        r#""severity":"harmless","method":"m","param":"a","place":"/methods/0/params/0""#,
    );
    check(&[&none, "--diff", &optional], 9, "the parameter `a` was removed");
    check(&[&other, "--diff", &optional], 0, "unsure");
    check(&[&other, "--diff", &optional, "--strict"], 9, "unsure");
}

#[test]
fn both_documents_may_come_from_anywhere() {
    let far = Describing::start();
    assert_eq!(
        parts(run(&["discover", &far.url, "--diff", &far.url])),
        (Some(0), "[]\n".to_owned(), String::new())
    );
    let (code, stdout, stderr) = parts(run_with(DOCUMENT, &["discover", &far.url, "--diff", "-"]));
    assert_eq!((code, stdout.as_str()), (Some(0), "[]\n"), "{stderr}");
    let fewer = DOCUMENT.replace("\"math/add\"", "\"math/plus\"");
    let (code, stdout, stderr) = parts(run_with(&fewer, &["discover", "-", "--diff", &far.url]));
    assert_eq!(code, Some(9), "{stdout}");
    assert!(stderr.contains("1 change breaks clients"), "{stderr}");
    let (code, _, stderr) = parts(run_with(DOCUMENT, &["discover", "-", "--diff", "-"]));
    assert_eq!(code, Some(2), "{stderr}");
}

#[test]
fn an_older_document_of_another_server_is_asked_for_without_credentials() {
    let far = Describing::start();
    let (old, url) = listener();
    let child = program(&["discover", &far.url, "--diff", &url, "-H", "X-Key: sekret", "--timeout", "5"])
        .env("SWITCHBOARD_TOKEN", "sekret")
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(old.accept().unwrap().0);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(lines.read_line(&mut head).unwrap() > 0, "{head}");
    }
    drop((lines, old));
    assert!(!head.contains("sekret"), "{head}");
    let (code, _, stderr) = parts(child.wait_with_output().unwrap());
    assert_ne!(code, Some(0), "{stderr}");
    assert!(stderr.contains("no credentials are sent"), "{stderr}");
}
