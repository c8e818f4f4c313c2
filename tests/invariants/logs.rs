//! No parameters and no results in logs.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use switchboard_core::{ErrorObject, Router, Settings, Versions};
use switchboard_tests::demo;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::ask;

/// Keeps all that is logged, at every level, with the names of the fields.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Log {
    /// Runs `work` with this as the log, and gives what it wrote.
    fn of(work: impl Future<Output = ()>) -> String {
        let log = Log::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        tracing::subscriber::with_default(log.clone(), || runtime.block_on(work));
        let Log(text) = log;
        std::mem::take(&mut *text.lock().unwrap())
    }
}

struct Line<'a>(&'a mut String);

impl Visit for Line<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut text = self.0.lock().unwrap();
        span.record(&mut Line(&mut text));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut Line(&mut self.0.lock().unwrap()));
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = self.0.lock().unwrap();
        event.record(&mut Line(&mut text));
        text.push('\n');
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

const MARK: &str = "hunter2";

/// Good calls and bad ones, each with the mark in it.
fn bodies() -> Vec<String> {
    let mut bodies = Vec::new();
    for method in ["echo", "later", "add", "sum", "greet", "fail", "crash", "lose", "count", "nobody"] {
        for params in [format!("[\"{MARK}\"]"), format!("{{\"{MARK}\":\"{MARK}\"}}")] {
            bodies.push(format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params},"id":1}}"#));
            bodies.push(format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#));
            bodies.push(format!(r#"{{"method":"{method}","params":{params},"id":1}}"#));
        }
    }
    bodies.push(format!("[{}]", bodies.join(",")));
    bodies.push(format!("{{\"jsonrpc\":\"2.0\",\"params\":[\"{MARK}\"]"));
    bodies.push(format!("\"{MARK}\""));
    bodies.push(format!(r#"{{"jsonrpc":"2.0","result":"{MARK}","id":1}}"#));
    bodies.push(format!(r#"{{"jsonrpc":"2.0","error":{{"code":1,"message":"{MARK}"}},"id":null}}"#));
    bodies.push(format!(r#"{{"jsonrpc":"2.0","method":"echo","params":"{MARK}","id":1,"token":"{MARK}"}}"#));
    bodies
}

#[test]
fn what_callers_send_is_not_logged() {
    let router = Arc::new(demo::router());
    let log = Log::of(async {
        for versions in [Versions::Both, Versions::V1, Versions::V2] {
            let mut settings = Settings::default();
            settings.profile.versions = versions;
            for body in bodies() {
                ask(Arc::clone(&router), body, &settings).await;
            }
        }
    });
    assert!(log.contains("incident") && log.contains("the disk is full"), "the log works: {log}");
    assert!(log.contains("a notification failed"), "the log works: {log}");
    assert!(!log.contains(MARK), "{log}");
}

#[test]
fn a_caller_cannot_forge_a_line_of_the_log() {
    // SEC-E-05
    let name = r"crash\u001b[31m\nERROR forged";
    let crash = |(): (), _| -> Result<(), ErrorObject> { panic!("first line\nERROR forged") };
    let router = Router::builder().method("crash\u{1b}[31m\nERROR forged", crash).build().unwrap();
    let body = format!(r#"{{"jsonrpc":"2.0","method":"{name}","id":1}}"#);
    let log = Log::of(async {
        ask(router, body, &Settings::default()).await;
    });
    assert!(log.contains("forged"), "{log}");
    assert!(!log.contains('\u{1b}') && !log.contains("\nERROR"), "{log}");
}
