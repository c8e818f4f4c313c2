//! Credentials, keys and signatures appear in no log, whether they are right or wrong: SEC-T-05, SEC-E-02, SEC-E-05.
#![cfg(all(feature = "jwt", feature = "signing"))]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod issuer;

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use switchboard_core::{ErrorObject, Router, Settings};
use switchboard_layers::Clock;
use switchboard_layers::audit::Audit;
use switchboard_layers::identity::jwt::{Jwt, KeySet};
use switchboard_layers::identity::{ApiKeys, Authentication, Identity, NewApiKey, Proof, Tokens};
use switchboard_layers::signing::{Sign, SignedMessage, SigningKeys, Verify};
use switchboard_layers::store::{MemoryStore, StoreLimits};
use switchboard_transport::http::{Endpoint, HttpServer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use self::issuer::{AUDIENCE, ISSUER, Signer, claims, set};

/// Keeps all that is logged, at every level.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Visit for Log {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0.lock().unwrap(), " {field}={value:?}").unwrap();
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut self.clone());
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut self.clone());
    }

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
        self.0.lock().unwrap().push('\n');
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

const TOKEN: &str = "2f9c1b7e55a04d13";
const BOB: &str =
    "bob-1 hmac-sha256 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f subject=bob";
const MESSAGE: &str = r#"{"jsonrpc":"2.0","method":"ping","id":1}"#;

/// Sends a request with these headers; returns the answer.
async fn ask(address: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let request = format!(
        "POST / HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n{headers}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[test]
fn secrets_appear_in_no_log_and_in_no_answer() {
    let log = Log::default();
    let audited = log.clone();
    let audit = Audit::to_fn(move |line| audited.0.lock().unwrap().push_str(line)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (secrets, answers) =
        tracing::subscriber::with_default(log.clone(), || runtime.block_on(present_all(&audit)));
    audit.flush(std::time::Duration::from_secs(20));
    let log = log.0.lock().unwrap();
    assert!(log.contains("bad_signature") && log.contains("authentication-failed"), "the logs work: {log}");
    for secret in secrets {
        assert!(secret.len() >= 16 && !log.contains(&secret), "{secret}: {log}");
        assert!(!answers.contains(&secret), "{secret}: {answers}");
    }
}

/// Presents each kind of credential to a server: as it is, and changed. Returns all that must not be seen, and the answers.
async fn present_all(audit: &Audit) -> (Vec<String>, String) {
    let signer = Signer::ed25519("a");
    let key = NewApiKey::generate(&Identity::new("carol", Proof::ApiKey)).unwrap();
    let jwt = Jwt::new(ISSUER, [AUDIENCE], KeySet::parse(set(&[&signer])).unwrap());
    let authentication = Authentication::new(Tokens::parse(&format!("alice:{TOKEN}")).unwrap())
        .or(ApiKeys::parse(&key.line).unwrap())
        .or(jwt)
        .with_audit(audit.clone());
    let clock = Clock::system();
    let store = Arc::new(MemoryStore::with_clock(StoreLimits::default(), clock.clone()));
    let verify = Verify::new(SigningKeys::parse(BOB).unwrap(), ["here"], store)
        .required_for([])
        .with_audit(audit.clone());
    let router = Router::builder().method("ping", |(): (), _| Ok::<_, ErrorObject>("pong")).build().unwrap();
    let server = HttpServer::bind("127.0.0.1:0").await.unwrap();
    let address = server.local_addr().to_string();
    let settings = Settings::default().with_admission(Some(authentication.clone().into()));
    let service = router.layered(authentication).layered(verify);
    tokio::spawn(server.serve_endpoint(Endpoint::new(service).with_settings(settings)));

    let token = signer.sign(&claims());
    let (mut secrets, mut answers) = (Vec::new(), String::new());
    for right in [TOKEN.to_owned(), key.key, token] {
        let wrong = format!("{right}{TOKEN}");
        for credential in [&right, &wrong] {
            answers += &ask(&address, &format!("authorization: Bearer {credential}\r\n"), MESSAGE).await;
        }
        secrets.extend([right, wrong]);
    }
    let sign = Sign::new(Arc::new(BOB.parse().unwrap()), "here").with_clock(clock);
    let signed = SignedMessage::sign(MESSAGE, &sign).unwrap();
    let members: Value = serde_json::from_str(&signed).unwrap();
    secrets.push(members["signature"]["sig"].as_str().unwrap().to_owned());
    secrets.push(BOB.split(' ').nth(2).unwrap().to_owned());
    let alice = format!("authorization: Bearer {TOKEN}\r\n");
    for message in [signed.clone(), signed.clone(), signed.replace("\"id\":1", "\"id\":2")] {
        answers += &ask(&address, &alice, &message).await;
    }
    // Right ones were accepted, wrong ones were not.
    assert_eq!(answers.matches("HTTP/1.1 200").count(), 4, "{answers}");
    assert_eq!(answers.matches("HTTP/1.1 401").count(), 5, "{answers}");
    (secrets, answers)
}
