//! What security costs: bearer token, rate limit, access rules, signatures and replay protection.

use std::hint::black_box;
use std::io;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::{http, interleave, timing};
use crate::cases::secured::{BARE, Signed};
use crate::cases::{self, Case};
use crate::findings::Findings;
use crate::options::Options;
use crate::report::{Row, Section};
use crate::security::{self, IN_PROCESS, OVER_HTTP};
use crate::servers;
use crate::workload::Workload;

const TIME: &str = "ns/call";

const CPU: &str = "CPU us";

/// How many messages are signed at once, before the time is taken.
const MESSAGES: u32 = 1000;

/// Compares calls in process, and requests over 16 connections.
///
/// # Errors
/// When a server does not start, or an answer is wrong.
pub fn run(options: &Options) -> io::Result<Findings> {
    let mut findings = Findings::default();
    let section = Section {
        title: IN_PROCESS.to_owned(),
        columns: vec![TIME],
        ratios: security::ratios(TIME, [BARE, "jsonrpsee-tower"]),
        rows: in_process(options)?,
    };
    let goals = security::goals(&section, TIME);
    findings.add(section, goals);
    let section = Section {
        title: OVER_HTTP.to_owned(),
        columns: vec!["requests/s", CPU, http::LOAD],
        ratios: security::ratios(CPU, ["switchboard", "jsonrpsee"]),
        rows: http::measure(options, servers::SECURITY, Workload::Add, &security::header(), 16)?,
    };
    let goals = security::goals(&section, CPU);
    findings.add(section, goals);
    Ok(findings)
}

/// A case that is timed.
enum Subject {
    Repeated(Box<dyn Case>),
    Signed(Box<Signed>),
}

fn in_process(options: &Options) -> io::Result<Vec<Row>> {
    let mut subjects = Vec::new();
    for case in cases::security() {
        cases::check(&*case, Workload::Add)?;
        subjects.push((case.name().to_owned(), Subject::of(case)));
    }
    let body = Workload::Add.body();
    interleave(&mut subjects, options.rounds(), |subject| {
        Ok(vec![subject.nanoseconds(options.local_round(), &body)])
    })
}

impl Subject {
    fn of(case: Box<dyn Case>) -> Self {
        let signed = [Signed::without_replies(), Signed::with_replies()];
        match signed.into_iter().find(|signed| signed.name() == case.name()) {
            Some(signed) => Self::Signed(Box::new(signed)),
            None => Self::Repeated(case),
        }
    }

    fn nanoseconds(&self, duration: Duration, body: &Bytes) -> f64 {
        match self {
            Self::Repeated(case) => timing::nanoseconds(duration, || case.call(black_box(body).clone())),
            Self::Signed(signed) => answering(signed, duration, body),
        }
    }
}

/// The mean time of an answer to a signed message, without the time to sign it.
fn answering(signed: &Signed, duration: Duration, body: &Bytes) -> f64 {
    let (mut elapsed, mut calls) = (Duration::ZERO, 0);
    while elapsed < duration {
        let messages = signed.messages(body, MESSAGES);
        let start = Instant::now();
        signed.answer_signed_messages(messages);
        elapsed += start.elapsed();
        calls += MESSAGES;
    }
    elapsed.as_nanos() as f64 / f64::from(calls)
}
