//! How workers, callers, stores and queues authenticate to a NATS server.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use nkeys::KeyPair;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer};
use serde_json::{Value, json};

use crate::broker::Broker;
use crate::carriers::Folder;
use crate::program::{Serving, parts, post, program};

/// What the environment says about the NATS server.
type Environment<'a> = &'a [(&'a str, &'a str)];

fn within(mut command: Command, environment: Environment<'_>) -> Command {
    for name in ["CREDS", "NKEY", "TOKEN", "USER", "PASSWORD", "CA", "CERT", "KEY"] {
        command.env_remove(format!("NATS_{name}"));
    }
    command.envs(environment.iter().copied());
    command
}

/// What the program wrote, and how it ended: code, stdout, stderr.
fn run(arguments: &[&str], environment: Environment<'_>) -> (Option<i32>, String, String) {
    parts(within(program(arguments), environment).output().unwrap())
}

fn file(folder: &Folder, name: &str, text: &str, mode: u32) -> String {
    let path = folder.file(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path
}

/// A worker, a caller, a store and a queue work with these variables.
fn accepted(broker: &Broker, scheme: &str, environment: Environment<'_>) {
    let place = broker.url().replace("nats://", scheme);
    let (url, queue) = (format!("{place}/math"), format!("{place}/queue"));
    let _worker = Serving::spawn(within(program(&["serve", "--listen", &url]), environment));
    let called = run(&["call", &url, "math/add", "2", "3"], environment);
    assert_eq!(called, (Some(0), "5\n".to_owned(), String::new()));
    let listen = ["serve", "--listen", "http://127.0.0.1:0"];
    let shared = ["--idempotency", "1h", "--store", &place, "--jobs", &queue];
    let server = Serving::spawn(within(program(&[&listen[..], &shared].concat()), environment));
    let call = r#"{"jsonrpc":"2.0","method":"math/add","params":[2,3],"id":1}"#;
    assert_eq!(post(&server.url(), "idempotency-key: once", call)["result"], 5);
    let job = ["job", "submit", &server.url(), "math/add", "2", "3", "--wait", "1m"];
    assert_eq!(run(&job, &[]), (Some(0), "5\n".to_owned(), String::new()));
}

/// Neither of them works with these variables, and the error says this.
fn refused(broker: &Broker, scheme: &str, environment: Environment<'_>, says: &str) {
    let place = broker.url().replace("nats://", scheme);
    let (url, queue) = (format!("{place}/math"), format!("{place}/queue"));
    let listen = ["serve", "--listen", "http://127.0.0.1:0"];
    let commands: [&[&str]; 4] = [
        &["call", &url, "math/add", "2", "3"],
        &["serve", "--listen", &url],
        &[&listen[..], &["--idempotency", "1h", "--store", &place]].concat(),
        &[&listen[..], &["--jobs", &queue]].concat(),
    ];
    for command in commands {
        let (code, stdout, stderr) = run(command, environment);
        assert!(code.is_some_and(|code| code != 0), "{command:?} with {environment:?}: {stdout}{stderr}");
        assert!(stderr.to_lowercase().contains(says), "{command:?} with {environment:?}: {stderr}");
    }
}

const VIOLATION: &str = "authorization violation";

#[test]
fn by_token() {
    let broker = Broker::start(&["--auth", "a-token-of-ours"]);
    accepted(&broker, "nats://", &[("NATS_TOKEN", "a-token-of-ours")]);
    refused(&broker, "nats://", &[("NATS_TOKEN", "another-token")], VIOLATION);
    refused(&broker, "nats://", &[], VIOLATION);
}

#[test]
fn by_the_seed_of_an_nkey() {
    let (folder, key) = (Folder::new("nats-nkey"), KeyPair::new_user());
    let rules = format!("authorization {{ users = [ {{ nkey: {} }} ] }}", key.public_key());
    let broker = Broker::start(&["--config", &file(&folder, "broker.conf", &rules, 0o644)]);
    let right = file(&folder, "right.nk", &format!("{}\n", key.seed().unwrap()), 0o600);
    accepted(&broker, "nats://", &[("NATS_NKEY", &right)]);
    let wrong = file(&folder, "wrong.nk", &KeyPair::new_user().seed().unwrap(), 0o600);
    refused(&broker, "nats://", &[("NATS_NKEY", &wrong)], VIOLATION);
    let readable = file(&folder, "readable.nk", &key.seed().unwrap(), 0o644);
    refused(&broker, "nats://", &[("NATS_NKEY", &readable)], "chmod 600");
    refused(&broker, "nats://", &[("NATS_NKEY", &folder.file("missing.nk"))], "missing.nk");
}

/// Claims about a key, signed by another one.
fn token(issuer: &KeyPair, subject: &KeyPair, claims: &Value) -> String {
    let encode = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let public = subject.public_key();
    let claims = json!({ "jti": public, "iat": 0, "iss": issuer.public_key(), "name": "test", "sub": public, "nats": claims });
    let text = format!("{}.{}", encode(json!({ "typ": "JWT", "alg": "ed25519-nkey" })), encode(claims));
    let signature = issuer.sign(text.as_bytes()).unwrap();
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// A credentials file, as the tools of NATS write it.
fn credentials(token: &str, user: &KeyPair) -> String {
    let seed = user.seed().unwrap();
    format!(
        "-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    )
}

#[test]
fn by_a_credentials_file() {
    let folder = Folder::new("nats-creds");
    let (operator, system, account, user) =
        (KeyPair::new_operator(), KeyPair::new_account(), KeyPair::new_account(), KeyPair::new_user());
    let limits = json!({
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1,
        "leaf": -1, "mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1,
    });
    let of_account = json!({ "type": "account", "version": 2, "limits": limits });
    let of_system = json!({ "type": "account", "version": 2, "limits": { "subs": -1, "conn": -1, "data": -1,
        "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "leaf": -1 } });
    let of_user = json!({ "type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1 });
    let rules = format!(
        "operator: {}\nsystem_account: {}\nresolver: MEMORY\nresolver_preload {{\n  {}: {}\n  {}: {}\n}}\n",
        token(&operator, &operator, &json!({ "type": "operator", "version": 2 })),
        system.public_key(),
        system.public_key(),
        token(&operator, &system, &of_system),
        account.public_key(),
        token(&operator, &account, &of_account),
    );
    let broker = Broker::start(&["--config", &file(&folder, "broker.conf", &rules, 0o644)]);
    let right = credentials(&token(&account, &user, &of_user), &user);
    let path = file(&folder, "right.creds", &right, 0o600);
    accepted(&broker, "nats://", &[("NATS_CREDS", &path)]);
    // The claims are those of an account that the server does not know.
    let foreign = credentials(&token(&KeyPair::new_account(), &user, &of_user), &user);
    let foreign = file(&folder, "foreign.creds", &foreign, 0o600);
    refused(&broker, "nats://", &[("NATS_CREDS", &foreign)], VIOLATION);
    let readable = file(&folder, "readable.creds", &right, 0o640);
    refused(&broker, "nats://", &[("NATS_CREDS", &readable)], "chmod 600");
    let (url, listen) = (format!("{}/math", broker.url()), "http://127.0.0.1:0");
    let broken = file(&folder, "broken.creds", "-----BEGIN NATS USER JWT-----\n", 0o600);
    let (code, _, stderr) = run(&["call", &url, "math/add", "2", "3"], &[("NATS_CREDS", &broken)]);
    assert!(code != Some(0) && stderr.contains("broken.creds (NATS_CREDS)"), "{stderr}");
    // An option names the file of a store as well.
    let store = broker.url();
    let named =
        ["serve", "--listen", listen, "--idempotency", "1h", "--store", &store, "--store-credentials"];
    let mut named = named.to_vec();
    named.push(&path);
    let _server = Serving::spawn(within(program(&named), &[]));
}

#[test]
fn by_certificates() {
    let folder = Folder::new("nats-tls");
    let authority_key = rcgen::KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new(Vec::<String>::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = file(&folder, "ca.pem", &authority.self_signed(&authority_key).unwrap().pem(), 0o644);
    let issuer = Issuer::new(authority, authority_key);
    let issued = |name: &str| {
        let key = rcgen::KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &issuer).unwrap();
        let certificate = file(&folder, &format!("{name}.pem"), &certificate.pem(), 0o644);
        (certificate, file(&folder, &format!("{name}.key"), &key.serialize_pem(), 0o600))
    };
    let (server, server_key) = issued("127.0.0.1");
    let (client, client_key) = issued("client");
    let broker = Broker::start(&[
        "--tls",
        "--tlsverify",
        &format!("--tlscert={server}"),
        &format!("--tlskey={server_key}"),
        &format!("--tlscacert={ca}"),
    ]);
    let all = [("NATS_CA", &*ca), ("NATS_CERT", &*client), ("NATS_KEY", &*client_key)];
    accepted(&broker, "nats+tls://", &all);
    // A server that wants TLS gets it anyway.
    accepted(&broker, "nats://", &all);
    let place = "cannot";
    refused(&broker, "nats+tls://", &all[..1], place);
    refused(&broker, "nats+tls://", &all[1..], place);
    refused(&broker, "nats+tls://", &all[..2], "belong together");
    let (own, own_key) = folder.certificate();
    refused(&broker, "nats+tls://", &[all[0], ("NATS_CERT", &own), ("NATS_KEY", &own_key)], place);
    // A server without TLS is not talked to without it.
    let plain = Broker::start(&[]);
    refused(&plain, "nats+tls://", &[], place);
}
