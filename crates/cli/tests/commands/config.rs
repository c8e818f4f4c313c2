//! Configuration files: read, checked, shown, reloaded.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use crate::program::{Serving, parts, program, run};

/// A folder with files, which is gone when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("switchboard-config-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// Writes a file that only we can read, and tells its path.
    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs the program in this folder, so that it shows short paths.
fn run_in(folder: &Folder, arguments: &[&str]) -> (Option<i32>, String, String) {
    parts(program(arguments).current_dir(&folder.0).output().unwrap())
}

/// Starts a server with this file. It listens where the file says.
fn serve(file: &str, more: &[&str]) -> Serving {
    Serving::spawn(program(&[&["serve", "--config", file][..], more].concat()))
}

fn call(url: &str, words: &[&str]) -> (Option<i32>, String, String) {
    parts(run(&[&["call", url][..], words].concat()))
}

const RULES: &str = r#"
listen = "http://127.0.0.1:0"
[auth]
tokens = "tokens.txt"
[roles]
teller = "bob"
[access]
rules = [
  { allow = ["math/*", "rpc.*"], who = "anyone" },
  { allow = "getUser", who = "role:teller", when = { "/id" = { max = 2 } } },
]
tests = ["bob may getUser 2", "bob may not getUser 3", "anonymous may not getUser 1"]
"#;
const TOKENS: &str = "alice:2f9c1b7e55a04d13\nbob:9b1f0e6c2d7a4853\n";
const ALICE: &str = "2f9c1b7e55a04d13";
const BOB: &str = "9b1f0e6c2d7a4853";

#[test]
fn the_example_is_valid_and_shown_whole() {
    let folder = Folder::new("example");
    let (_, example, _) = parts(run(&["config", "example"]));
    let file = folder.write("switchboard.toml", &example);
    let (code, stdout, stderr) = parts(run(&["config", "check", &file]));
    assert_eq!((code, &*stderr), (Some(0), ""), "{stdout}");
    assert!(stdout.contains("3 access rules, 3 access tests"), "{stdout}");
    let (code, shown, _) = parts(run(&["config", "show", &file]));
    assert_eq!(code, Some(0));
    assert!(shown.contains("drain_time = \"10s\"  # default"), "{shown}");
    assert!(shown.contains(&format!("batch = 100  # {file}:12")), "{shown}");
    // What is shown says the same.
    let again = folder.write("again.toml", &shown);
    let (code, shown_again, stderr) = parts(run(&["config", "show", &again]));
    assert_eq!(code, Some(0), "{stderr}");
    let values = |text: &str| {
        text.lines().filter_map(|line| Some(line.rsplit_once("  #")?.0.to_owned())).collect::<Vec<_>>()
    };
    assert_eq!(values(&shown), values(&shown_again));
    let (code, schema, _) = parts(run(&["config", "schema"]));
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    assert_eq!(
        (code, &schema["properties"]["limits"]["properties"]["batch"]["default"]),
        (Some(0), &100.into())
    );
}

#[test]
fn every_fault_is_shown_with_its_line_and_what_to_write() {
    let folder = Folder::new("faults");
    let text = "time_out = \"10s\"\ntimeout = 5\n\"limits.batch\" = 5\n[auth]\nvalidate = true\ntokens = \"missing.txt\"\n[roles]\nteller = \"bob\"\n\
                [access]\nrules = [\n  { allow = \"math/*\", who = \"role:tellers\" },\n  { allow = \"x\" },\n]\n\
                tests = [\"bob may math/add\", \"bob might\"]\n";
    let file = folder.write("switchboard.toml", text);
    for arguments in [&["config", "check", &file][..], &["serve", "--config", &file]] {
        let (code, _, stderr) = parts(run(arguments));
        assert_eq!(code, Some(10), "{stderr}");
        for expected in [
            "unknown key `time_out`",
            "switchboard.toml:1:1",
            "did you mean `timeout`?",
            "write limits.batch without quotes",
            "write \"5s\", \"5ms\" or \"5m\"",
            "`validate` is a top-level key; move this line above the first `[…]`",
            "no user has the role `tellers`",
            "did you mean `teller`?",
            "add `who`",
            "missing.txt",
            "access test failed: the call is denied",
            "switchboard acl explain --as bob math/add",
            "WHO may [not] METHOD",
        ] {
            assert!(stderr.contains(expected), "{expected}: {stderr}");
        }
    }
    let broken = folder.write("broken.toml", "a = \nb = [1,\n");
    let (code, _, stderr) = parts(run(&["config", "check", &broken]));
    assert_eq!((code, stderr.matches("error: invalid TOML").count()), (Some(10), 2), "{stderr}");
}

#[test]
fn secrets_are_filled_in_and_never_shown() {
    let folder = Folder::new("secrets");
    folder.write("host", "secret.example.com\n");
    let file = folder.write(
        "switchboard.toml",
        "[http]\nallow_host = [\"${SB_TEST_HOST}\", \"${file:host}\", \"plain.example.com\"]\n",
    );
    let (code, shown, stderr) = parts(
        program(&["config", "show", &file]).env("SB_TEST_HOST", "hidden.example.com").output().unwrap(),
    );
    assert_eq!(code, Some(0), "{stderr}");
    assert!(shown.contains("allow_host = [\"***\", \"***\", \"plain.example.com\"]"), "{shown}");
    let (code, _, stderr) = parts(run(&["config", "show", &file]));
    assert_eq!(code, Some(10));
    assert!(stderr.contains("environment variable `SB_TEST_HOST` is not set"), "{stderr}");
}

#[test]
fn rules_decide_who_calls_what_and_discovery_shows_no_more() {
    let folder = Folder::new("rules");
    folder.write("tokens.txt", TOKENS);
    let file = folder.write("switchboard.toml", RULES);
    let serving = serve(&file, &[]);
    let url = serving.url();
    let ws = url.replace("http:", "ws:");
    assert_eq!(call(&url, &["math/add", "2", "3"]).1, "5\n");
    for url in [&url, &ws] {
        let check = |words: &[&str], expected: Option<i32>| {
            let (code, stdout, stderr) = call(url, words);
            assert_eq!(code, expected, "{url} {words:?}: {stdout}{stderr}");
        };
        check(&["getUser", "1", "--token", BOB], Some(0));
        check(&["getUser", "id=2", "--token", BOB], Some(0));
        check(&["getUser", "3", "--token", BOB], Some(1));
        check(&["getUser", "1", "--token", ALICE], Some(1));
    }
    // Strangers cannot tell what exists.
    let strip = |text: String| text.replace("no/such", "M").replace("getUser", "M");
    assert_eq!(strip(call(&url, &["getUser", "1"]).2), strip(call(&url, &["no/such", "1"]).2));
    let methods = |token: &[&str]| {
        let (_, document, _) = parts(run(&[&["discover", &url, "--json"][..], token].concat()));
        let document: serde_json::Value = serde_json::from_str(&document).unwrap();
        let names = document["methods"].as_array().unwrap().iter();
        names.map(|method| method["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (open, bobs) = (methods(&[]), methods(&["--token", BOB]));
    assert!(open.contains(&"math/add".to_owned()) && !open.contains(&"getUser".to_owned()), "{open:?}");
    assert!(bobs.contains(&"getUser".to_owned()) && !bobs.contains(&"echo".to_owned()), "{bobs:?}");
}

#[test]
fn an_explanation_names_the_rule_that_decides() {
    let folder = Folder::new("explain");
    folder.write("tokens.txt", TOKENS);
    let file = folder.write("switchboard.toml", RULES);
    let explain = |who: &str, words: &[&str]| {
        parts(run(&[&["acl", "explain", "--config", &file, "--as", who][..], words].concat()))
    };
    let (code, stdout, _) = explain("bob", &["getUser", "5"]);
    assert_eq!(code, Some(1));
    assert!(stdout.starts_with("DENY  getUser as bob (roles: teller)\n"), "{stdout}");
    assert!(stdout.contains("/id is 5; this rule allows 2 or less"), "{stdout}");
    let (code, stdout, _) = explain("bob", &["getUser", "id=1"]);
    assert_eq!(code, Some(0));
    assert!(stdout.contains(&format!("Allowed by {file}:10.")), "{stdout}");
    let (code, stdout, _) = explain("anonymous", &["getUser", "1"]);
    assert!(code == Some(1) && stdout.contains("HTTP 401"), "{stdout}");
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_file() {
    let folder = Folder::new("precedence");
    let file = folder.write("switchboard.toml", "listen = \"http://127.0.0.1:0\"\n[limits]\nbatch = 1\n");
    let batch = r#"[{"jsonrpc":"2.0","method":"sum","id":1},{"jsonrpc":"2.0","method":"sum","id":2}]"#;
    let answers = |more: &[&str], variable: Option<&str>| {
        let mut command = program(&[&["serve", "--config", &file][..], more].concat());
        command.envs(variable.map(|value| ("SWITCHBOARD__LIMITS__BATCH", value)));
        let serving = Serving::spawn(command);
        let output = std::process::Command::new("curl")
            .args(["-s", "-H", "content-type: application/json", "-d", batch, &serving.url()])
            .output();
        String::from_utf8(output.unwrap().stdout).unwrap().matches("\"result\"").count()
    };
    assert_eq!(answers(&[], None), 0);
    assert_eq!(answers(&[], Some("2")), 2);
    assert_eq!(answers(&["--max-batch", "1"], Some("2")), 0);
    assert_eq!(answers(&["--set", "limits.batch=2"], Some("1")), 2);
}

#[test]
fn changes_apply_to_open_connections_and_a_bad_file_changes_nothing() {
    let folder = Folder::new("reload");
    folder.write("tokens.txt", TOKENS);
    let file = folder.write("switchboard.toml", RULES);
    let mut serving = serve(&file, &["--no-watch"]);
    let url = serving.url();
    let may_echo = || call(&url, &["echo", "hi"]).0 == Some(0);
    assert!(!may_echo());
    // A connection that lasts.
    let mut repl = program(&["repl", &url.replace("http:", "ws:")])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let (mut input, output) = (repl.stdin.take().unwrap(), repl.stdout.take().unwrap());
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(output));
    let mut ask = |line: &str| {
        std::io::Write::write_all(&mut input, format!("{line}\n").as_bytes()).unwrap();
        lines.next().unwrap().unwrap()
    };
    assert_eq!(ask("math/add 1 1"), "2");

    folder.write("switchboard.toml", &RULES.replace("\"math/*\"", "\"echo\", \"math/add\""));
    serving.signal("HUP");
    let said = serving.read_until("Configuration reloaded");
    assert!(said.contains("Configuration reloaded"), "{said}");
    assert!(may_echo());
    assert_eq!(ask("echo hi"), "\"hi\"");

    folder.write("switchboard.toml", &RULES.replace("tests = [", "tests = [\"bob may not math/add\", "));
    serving.signal("HUP");
    let said = serving.read_until("The configuration in use stays.");
    assert!(said.contains("access test failed: the call is allowed"), "{said}");
    assert!(may_echo());

    folder.write("switchboard.toml", &RULES.replace(":0\"", ":1\""));
    serving.signal("HUP");
    let said = serving.read_until("The configuration in use stays.");
    assert!(said.contains("`listen` changed") && said.contains("restart the server"), "{said}");
    assert!(may_echo());
    drop(input);
    repl.wait().unwrap();
}

#[test]
fn a_file_that_changes_is_read_again() {
    let folder = Folder::new("watch");
    folder.write("tokens.txt", TOKENS);
    let file = folder.write("switchboard.toml", RULES);
    let mut serving = serve(&file, &[]);
    let url = serving.url();
    assert_eq!(call(&url, &["echo", "hi"]).0, Some(1));
    folder.write("switchboard.toml", &RULES.replace("\"math/*\"", "\"**\""));
    // The access test no longer holds, so a second change is needed.
    let said = serving.read_until("The configuration in use stays.");
    assert!(said.contains("access test failed"), "{said}");
    folder.write("switchboard.toml", &RULES.replace("\"math/*\"", "\"echo\""));
    let said = serving.read_until("Configuration reloaded");
    assert!(said.contains("access.rules") || said.contains("Configuration reloaded"), "{said}");
    assert_eq!(call(&url, &["echo", "hi"]).0, Some(0));
}

/// The rules of a file to include.
const BANK: &str = r#"rate = { limit = "100/s" }
[auth]
tokens = "tokens.txt"
[roles]
teller = "bob"
[access]
rules = { allow = "getUser", who = "role:teller" }
tests = "bob may getUser 2"
"#;

#[test]
fn included_files_add_keys_and_rules() {
    let folder = Folder::new("include");
    folder.write("conf.d/tokens.txt", TOKENS);
    folder.write("conf.d/20-bank.toml", BANK);
    folder.write("conf.d/10-math.toml", "[access]\nrules = [{ allow = \"math/*\", who = \"anyone\" }]\n");
    folder.write("conf.d/.hidden.toml", "broken");
    folder.write("conf.d/notes.txt", "broken");
    let main = "include = [\"conf.d/*.toml\", \"none.d/*.toml\"]\nrate = [{ limit = \"9/s\" }]\n[roles]\nadmin = \"alice\"\n\
                [access]\nrules = [{ allow = \"echo\", who = \"role:admin\" }]\n";
    folder.write("etc/main.toml", &main.replace("conf.d/", "../conf.d/"));
    folder.write("main.toml", main);
    for file in ["main.toml", "etc/main.toml"] {
        let (code, stdout, stderr) = run_in(&folder, &["config", "check", file]);
        assert_eq!(code, Some(0), "{stderr}");
        assert!(stdout.contains("3 access rules, 1 access tests"), "{stdout}");
    }
    // Rules are named after their file, in the order of the files.
    let (code, stdout, _) =
        run_in(&folder, &["acl", "explain", "--config", "main.toml", "--as", "bob", "getUser", "2"]);
    assert_eq!(code, Some(0), "{stdout}");
    let places: Vec<&str> = stdout.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
    assert_eq!(places[1..4], ["main.toml:6", "conf.d/10-math.toml:2", "conf.d/20-bank.toml:7"], "{stdout}");
    assert!(stdout.contains("Allowed by conf.d/20-bank.toml:7."), "{stdout}");
    // What is shown has everything, with the paths as seen from the main file.
    let (_, shown, _) = run_in(&folder, &["config", "show", "main.toml"]);
    assert!(shown.contains("tokens = \"conf.d/tokens.txt\"  # conf.d/20-bank.toml:3"), "{shown}");
    folder.write("shown.toml", &shown);
    let (code, again, stderr) = run_in(&folder, &["config", "show", "shown.toml"]);
    assert!(code == Some(0) && again.contains("conf.d/tokens.txt"), "{stderr}{again}");
    // The same without a main file.
    let (code, printed, stderr) = run_in(&folder, &["serve", "--include", "conf.d/*.toml", "--print-config"]);
    assert!(code == Some(0) && printed.contains("tokens = \"conf.d/tokens.txt\""), "{stderr}{printed}");
}

#[test]
fn faults_of_included_files_are_shown_in_their_files() {
    let folder = Folder::new("include-faults");
    let check = |main: &str, included: &str, expected: &[&str]| {
        folder.write("main.toml", main);
        folder.write("conf.d/a.toml", included);
        let (code, _, stderr) = run_in(&folder, &["config", "check", "main.toml"]);
        assert_eq!(code, Some(10), "{stderr}");
        for expected in expected {
            assert!(stderr.contains(expected), "{expected}: {stderr}");
        }
    };
    let main = "include = \"conf.d/a.toml\"\ntimeout = \"1s\"\n[roles]\nadmin = \"alice\"\n";
    check(main, "\n\ntime_out = 5\n", &["unknown key `time_out`", "conf.d/a.toml:3:1"]);
    check(main, "\na = \n", &["invalid TOML", "conf.d/a.toml:2:"]);
    check(main, "\ntimeout = \"2s\"\n", &["`timeout` is set twice", "conf.d/a.toml:2:1", "main.toml:2:1"]);
    check(main, "roles.admin = \"bob\"\n", &["`roles.admin` is set twice", "a.toml:1:7", "main.toml:4:1"]);
    check(main, "include = \"b.toml\"\n", &["cannot include others", "conf.d/a.toml:1:1"]);
    check(main, "timeout = \"${SB_NO_SUCH}\"\n", &["`SB_NO_SUCH` is not set", "conf.d/a.toml:1:11"]);
    check("include = \"b.toml\"\n", "", &["cannot read b.toml", "main.toml:1:11", "the file does not exist"]);
    check("include = \"conf.d\"\n", "", &["cannot read conf.d", "write FOLDER/*.toml"]);
    check("include = \"*/a.toml\"\n", "", &["invalid value for `include`", "such as conf.d/*.toml"]);
    // A file that two patterns match is read once, and the main file does not include itself.
    folder.write("main.toml", "include = [\"*.toml\", \"conf.d/a.toml\", \"conf.d/*.toml\"]\n");
    folder.write("conf.d/a.toml", "timeout = \"1s\"\n");
    let (code, _, stderr) = run_in(&folder, &["config", "check", "main.toml"]);
    assert_eq!(code, Some(0), "{stderr}");
}

#[test]
fn included_files_are_watched_and_new_ones_found() {
    let folder = Folder::new("include-watch");
    let file = folder.write(
        "main.toml",
        "listen = \"http://127.0.0.1:0\"\ninclude = \"conf.d/*.toml\"\n\
         [access]\nrules = { allow = \"math/*\", who = \"anyone\" }\n",
    );
    let mut serving = serve(&file, &[]);
    let url = serving.url();
    let may_echo = || call(&url, &["echo", "hi"]).0 == Some(0);
    assert!(!may_echo());
    folder.write("conf.d/a.toml", "access.rules = { allow = \"echo\" }\n");
    let said = serving.read_until("The configuration in use stays.");
    assert!(said.contains("conf.d/a.toml:1:16") && said.contains("add `who`"), "{said}");
    folder.write("conf.d/a.toml", "access.rules = { allow = \"echo\", who = \"anyone\" }\n");
    serving.read_until("Configuration reloaded: access.rules");
    assert!(may_echo());
    fs::remove_file(folder.0.join("conf.d/a.toml")).unwrap();
    serving.read_until("Configuration reloaded: access.rules");
    assert!(!may_echo());
}

#[test]
fn a_path_that_moves_to_another_folder_is_another_one() {
    let folder = Folder::new("include-moved");
    folder.write("tokens.txt", TOKENS);
    folder.write("conf.d/tokens.txt", &TOKENS.replace(BOB, "7c0d5e1f8a2b4936"));
    let tokens = "auth.tokens = \"tokens.txt\"\n";
    let main = "listen = \"http://127.0.0.1:0\"\ninclude = \"conf.d/*.toml\"\n";
    let file = folder.write("main.toml", &format!("{main}{tokens}"));
    let mut serving = serve(&file, &["--no-watch"]);
    let url = serving.url();
    let may_add = || call(&url, &["math/add", "2", "3", "--token", BOB]).0 == Some(0);
    assert!(may_add());
    folder.write("main.toml", main);
    folder.write("conf.d/auth.toml", tokens);
    serving.signal("HUP");
    serving.read_until("Configuration reloaded: auth.tokens");
    assert!(!may_add());
}

#[test]
fn a_command_line_becomes_a_file() {
    let folder = Folder::new("print");
    folder.write("tokens.txt", TOKENS);
    let words = "8077 --listen unix:/tmp/x.sock --tokens tokens.txt --max-batch 5 --max-body 65536 --drain-time 5 --idle-time never \
                 --no-playground --allow-host ${HOME}.example.com --allow-host 007 --set rate=[{limit=\"5/s\"}]";
    let flags: Vec<&str> = words.split(' ').collect();
    let (code, printed, stderr) = run_in(&folder, &[&["serve", "--print-config"][..], &flags[..]].concat());
    assert_eq!((code, &*stderr), (Some(0), ""), "{printed}");
    let expected = "listen = [\"8077\", \"unix:/tmp/x.sock\"]\ndrain_time = \"5s\"\nrate = [\n  { limit = \"5/s\" },\n]\n\n\
                    [http]\nallow_host = [\"$${HOME}.example.com\", \"007\"]\nplayground = false\n\n\
                    [limits]\nbody = \"65536\"\nbatch = 5\nidle = \"never\"\n\n[auth]\ntokens = \"tokens.txt\"\n";
    assert_eq!(printed, expected);
    folder.write("switchboard.toml", &printed);
    let (_, again, stderr) = run_in(&folder, &["serve", "--config", "switchboard.toml", "--print-config"]);
    assert_eq!(again, printed, "{stderr}");
    assert_eq!(run_in(&folder, &["serve", "--print-config"]).1, "");
    // What is wrong is not printed.
    let (code, stdout, stderr) = run_in(&folder, &["serve", "--tokens", "no-such.txt", "--print-config"]);
    assert_eq!((code, &*stdout), (Some(2), ""), "{stderr}");
}

#[test]
fn a_printed_configuration_has_references_in_place_of_secrets() {
    let folder = Folder::new("print-secrets");
    folder.write("etc/host", "secret.example.com\n");
    folder.write("etc/tokens.txt", TOKENS);
    let file = "log.audit = \"-\"\nstore = \"file:state\"\n[auth]\ntokens = \"${SB_TEST_NAME}.txt\"\n\
                [http]\nallow_host = [\"${file:host}\", \"${SB_TEST_NAME}.example.com\"]\n";
    folder.write("etc/switchboard.toml", file);
    let print = |file: &str| {
        let mut command = program(&["serve", "--config", file, "--print-config"]);
        parts(command.env("SB_TEST_NAME", "tokens").current_dir(&folder.0).output().unwrap())
    };
    let (code, printed, stderr) = print("etc/switchboard.toml");
    assert_eq!(code, Some(0), "{stderr}");
    for expected in [
        "store = \"file:etc/state\"",
        "tokens = \"etc/${SB_TEST_NAME}.txt\"",
        "allow_host = [\"${file:etc/host}\", \"${SB_TEST_NAME}.example.com\"]",
        "audit = \"-\"",
    ] {
        assert!(printed.contains(expected), "{expected}: {printed}");
    }
    folder.write("switchboard.toml", &printed);
    assert_eq!(print("switchboard.toml").1, printed);
}

#[test]
fn upstreams_come_from_any_file_and_only_a_gateway_reads_them() {
    let folder = Folder::new("upstreams");
    folder.write(
        "conf.d/math.toml",
        "[upstream.math]\nurl = \"exec:./math\"\n[[route]]\nmethods = \"math/add\"\ncache = \"1h\"\n",
    );
    folder.write("conf.d/limits.toml", "[upstream.math]\ntimeout = \"5s\"\n");
    folder
        .write("main.toml", "include = \"conf.d/*.toml\"\nroute = [{ methods = \"x\", upstream = false }]\n");
    let (code, stdout, stderr) = run_in(&folder, &["config", "check", "main.toml"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("OK, 0 access rules, 0 access tests, 1 upstream, 2 routes"), "{stdout}");
    let (_, shown, _) = run_in(&folder, &["config", "show", "main.toml"]);
    let expected = "[upstream.math]\nurl = \"exec:./math\"  # conf.d/math.toml:2\n";
    assert!(shown.contains(expected), "{shown}");
    assert!(shown.contains("timeout = \"5s\"  # conf.d/limits.toml:2"), "{shown}");
    assert!(shown.contains("cwd = \"conf.d\"  # conf.d/math.toml:2"), "{shown}");
    folder.write("shown.toml", &shown);
    assert_eq!(run_in(&folder, &["config", "check", "shown.toml"]).0, Some(0), "{shown}");
    let (code, _, stderr) = run_in(&folder, &["serve", "--config", "main.toml"]);
    assert_eq!(code, Some(10), "{stderr}");
    assert!(stderr.contains("upstreams belong to `switchboard gateway`"), "{stderr}");
    folder.write("conf.d/limits.toml", "[upstream.math]\nurl = \"exec:a\"\n");
    let (code, _, stderr) = run_in(&folder, &["config", "check", "main.toml"]);
    assert_eq!(code, Some(10), "{stderr}");
    assert!(stderr.contains("`upstream.math.url` is set twice"), "{stderr}");
}
