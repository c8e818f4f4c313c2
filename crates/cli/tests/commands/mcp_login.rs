//! `switchboard login` and `logout`, with a server that needs a token and issues it itself.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::program::{parts, program};

/// A server at `/mcp`, its metadata, and an authorization server whose user always agrees.
struct Guarded {
    url: String,
    /// The paths that were asked for.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Guarded {
    fn start() -> Guarded {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let (url, asked) = (format!("{origin}/mcp"), Arc::<Mutex<Vec<String>>>::default());
        let seen = Arc::clone(&asked);
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                let (origin, seen) = (origin.clone(), Arc::clone(&seen));
                std::thread::spawn(move || answer(stream, &origin, &seen));
            }
        });
        Guarded { url, asked }
    }

    fn asked(&self, path: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|asked| *asked == path).count()
    }
}

fn answer(mut stream: TcpStream, origin: &str, seen: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut lines: Vec<String> = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if line == "\r\n" {
            break;
        }
        lines.push(line.trim_end().to_owned());
    }
    let header = |name: &str| {
        let found = lines.iter().find_map(|line| {
            let (given, value) = line.split_once(": ")?;
            given.eq_ignore_ascii_case(name).then(|| value.to_owned())
        });
        found.unwrap_or_default()
    };
    let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    let target = lines[0].split(' ').nth(1).unwrap();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    seen.lock().unwrap().push(path.to_owned());
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (status, more, result) = match path {
        "/mcp" if header("authorization") != "Bearer t0ken" => {
            (401, "www-authenticate: Bearer scope=\"desk\"\r\n".to_owned(), json!({}))
        }
        "/mcp" => {
            (200, String::new(), json!({"jsonrpc": "2.0", "id": message["id"], "result": result(&message)}))
        }
        "/.well-known/oauth-protected-resource/mcp" => (
            200,
            String::new(),
            json!({"resource": format!("{origin}/mcp"), "authorization_servers": [origin]}),
        ),
        "/.well-known/oauth-authorization-server" => (
            200,
            String::new(),
            json!({
                "issuer": origin, "authorization_endpoint": format!("{origin}/authorize"),
                "token_endpoint": format!("{origin}/token"), "registration_endpoint": format!("{origin}/register"),
                "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"],
            }),
        ),
        "/register" => (201, String::new(), json!({"client_id": "c1", "token_endpoint_auth_method": "none"})),
        "/authorize" => {
            let params: HashMap<&str, &str> =
                query.split('&').filter_map(|pair| pair.split_once('=')).collect();
            let back = params["redirect_uri"].replace("%3A", ":").replace("%2F", "/");
            (302, format!("location: {back}?code=c0de&state={}\r\n", params["state"]), json!({}))
        }
        "/token" => {
            (200, String::new(), json!({"access_token": "t0ken", "token_type": "Bearer", "expires_in": 3600}))
        }
        _ => (404, String::new(), json!({})),
    };
    let text = result.to_string();
    let head =
        format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nconnection: close\r\n{more}");
    let _ = write!(stream, "{head}content-length: {}\r\n\r\n{text}", text.len());
}

fn result(message: &Value) -> Value {
    match message["method"].as_str() {
        Some("server/discover") => json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}),
        _ => {
            json!({"resultType": "complete", "tools": [{"name": "hello", "inputSchema": {"type": "object"}}],
            "ttlMs": 0, "cacheScope": "private"})
        }
    }
}

/// A folder for the configuration, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        Folder(std::env::temp_dir().join(format!("switchboard-{name}-{}", std::process::id())))
    }

    fn run(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        parts(program(arguments).env("XDG_CONFIG_HOME", &self.0).output().unwrap())
    }

    fn file(&self) -> PathBuf {
        self.0.join("switchboard/tokens.json")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The head of the answer to a GET.
fn get(url: &str) -> String {
    let rest = url.strip_prefix("http://").unwrap();
    let (place, target) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(place).unwrap();
    write!(stream, "GET /{target} HTTP/1.1\r\nhost: {place}\r\nconnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// Logs in, as a user whose browser is this test.
fn log_in(server: &Guarded, folder: &Path) -> String {
    let mut command = program(&["login", &server.url, "--no-browser"]);
    let mut child = command.env("XDG_CONFIG_HOME", folder).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    let page = get(line.trim().strip_prefix("Log in at ").unwrap());
    let back = page.lines().find_map(|line| line.strip_prefix("location: ")).unwrap();
    assert!(back.starts_with("http://127.0.0.1:"), "{back}");
    assert!(get(back).contains("You are logged in"));
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert!(child.wait().unwrap().success(), "{rest}");
    line + &rest
}

#[test]
fn a_user_logs_in_calls_and_logs_out() {
    use std::os::unix::fs::PermissionsExt as _;
    let (server, folder) = (Guarded::start(), Folder::new("login"));
    let (code, _, stderr) = folder.run(&["tools", &server.url]);
    assert_eq!(code, Some(3), "{stderr}");
    assert!(stderr.contains(&format!("log in with `switchboard login {}`", server.url)), "{stderr}");
    assert_eq!(server.asked("/register") + server.asked("/authorize"), 0);
    let said = log_in(&server, &folder.0);
    assert!(said.ends_with(&format!("Logged in to {}\n", server.url)) && !said.contains("t0ken"), "{said}");
    let mode = std::fs::metadata(folder.file()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let (code, stdout, stderr) = folder.run(&["tools", &server.url]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("\"hello\""), "{stdout}");
    let (_, stdout, _) = folder.run(&["login", "--list"]);
    let line: Value = serde_json::from_str(stdout.trim()).unwrap();
    assert_eq!((&line["url"], &line["scopes"]), (&json!(server.url), &json!(["desk"])));
    assert!(!stdout.contains("t0ken"), "{stdout}");
    let (code, _, stderr) = folder.run(&["logout", &server.url]);
    assert_eq!((code, stderr), (Some(0), format!("Logged out of {}\n", server.url)));
    let (code, _, stderr) = folder.run(&["logout", &server.url]);
    assert_eq!(code, Some(1), "{stderr}");
    assert_eq!(folder.run(&["tools", &server.url]).0, Some(3));
    assert_eq!(folder.run(&["login", "--list"]).1, "");
}

#[test]
fn a_token_of_the_command_line_needs_no_login() {
    let (server, folder) = (Guarded::start(), Folder::new("token"));
    let (code, stdout, stderr) = folder.run(&["tools", &server.url, "--token", "t0ken"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("\"hello\""), "{stdout}");
    let (code, _, stderr) = folder.run(&["tools", &server.url, "--token", "wrong"]);
    assert_eq!(code, Some(3), "{stderr}");
    assert!(stderr.contains("check the token") && !stderr.contains("wrong"), "{stderr}");
    assert_eq!(server.asked("/.well-known/oauth-protected-resource/mcp"), 0, "nothing is looked up");
    assert!(!folder.0.exists());
}

#[test]
fn where_no_login_is_possible_is_said() {
    let folder = Folder::new("open");
    let serving = crate::program::Serving::start(&[]);
    let check = |arguments: &[&str], code: i32, expected: &str| {
        let (found, _, stderr) = folder.run(arguments);
        assert_eq!(found, Some(code), "{stderr}");
        assert!(stderr.contains(expected), "{stderr}");
    };
    let open = format!("{}/mcp", serving.url().trim_end_matches('/'));
    check(&["login", &open], 1, "does not ask for a login; use it without a login");
    check(&["login", "exec:server"], 2, "only servers over http and https have logins");
    check(&["login", "nowhere"], 2, "is not a URL");
    check(&["login"], 2, "<URL>");
}
