//! Runs cases one after the other, and judges what comes of them.
//!
//! One at a time, so that what breaks a server is known by its name.

use std::time::{Duration, Instant};

use tokio::time::timeout;

use super::bench::Bench;
use super::case::{Case, Level, Need, Sends};
use super::difference::difference;
use super::found::{INVALID, Invalid, Manner, NOT_FOUND};
use super::message::Message;
use super::outcome::{Came, End, Outcome, shortened};
use super::profile::Verdict;
use super::progress::Progress;
use super::report::Finding;
use super::shown;
use super::watch::Watch;
use super::wire::Carrier;

/// Runs these cases, and tells how far it is.
pub(crate) async fn run(bench: &mut Bench, cases: Vec<Case>, progress: &mut Progress) -> Vec<Finding> {
    let mut watch = Watch::default();
    let mut findings = Vec::with_capacity(cases.len());
    let mut lost = None;
    for case in cases {
        // It may end a moment after the case that ended it.
        if let Some((end, last)) = bench.death().zip(findings.last_mut()) {
            died(last, end);
        }
        progress.begins(&case);
        let finding = match lost {
            None => one(bench, &case, &mut watch).await,
            Some(last) => {
                let note = format!("the server no longer answers, since {last}");
                Finding { note, ..untried(bench, &case) }
            }
        };
        // Once more, for a server that was started again meanwhile.
        if lost.is_none() && finding.verdict == Verdict::Fail && bench.is_well().await.is_err() {
            lost = Some(case.name);
        }
        progress.ends(&finding);
        findings.push(finding);
    }
    if !bench.is_old() {
        findings.extend(watch.findings(bench.profile));
    }
    findings
}

/// Runs one case.
pub(crate) async fn one(bench: &mut Bench, case: &Case, watch: &mut Watch) -> Finding {
    let begun = Instant::now();
    let mut finding = untried(bench, case);
    if let Some(why) = case.needs.iter().find_map(|need| lacks(bench, *need)) {
        finding.note = why.to_owned();
        return finding;
    }
    // Each wait in it has its time; this is for the sum of them.
    let limit = bench.timeout * 4 + Duration::from_secs(2);
    let late = || (Verdict::Fail, format!("no end within {limit:?}"), String::new());
    let tried = timeout(limit, try_it(bench, case, watch)).await;
    (finding.verdict, finding.came, finding.note) = tried.unwrap_or_else(|_| late());
    if case.is_hostile
        && let Err(why) = bench.is_well().await
    {
        (finding.verdict, finding.note) = (Verdict::Fail, format!("the server did not recover: {why}"));
    }
    if let Some(end) = bench.death() {
        died(&mut finding, end);
    }
    finding.time = begun.elapsed();
    finding
}

/// A program that ends in a case has failed it, whatever else came of it.
fn died(finding: &mut Finding, end: String) {
    (finding.verdict, finding.note) = (Verdict::Fail, end);
}

/// The finding of a case that was not tried.
fn untried(bench: &Bench, case: &Case) -> Finding {
    Finding {
        name: case.name,
        area: case.area,
        claim: case.claim,
        rules: case.rules,
        severity: case.severity,
        verdict: Verdict::Skip,
        sent: sent(bench, case),
        expected: expected(case),
        came: String::new(),
        note: String::new(),
        time: Duration::ZERO,
    }
}

async fn try_it(bench: &mut Bench, case: &Case, watch: &mut Watch) -> (Verdict, String, String) {
    let awaited = case.outcomes.first().map_or(0, |(_, outcome)| outcome.messages());
    let came = match &case.sends {
        Sends::Message(message) => bench.ask(&bench.fill(message), awaited).await,
        Sends::Bytes(bytes) => bench.ask_bytes(&bench.fill(bytes), awaited).await,
        Sends::Http(request) => {
            let mut request = request.clone();
            request.body = bench.fill(&request.body);
            let came = bench.request(&request).await;
            if request.method == "DELETE" {
                // It may have ended the session.
                bench.introduce().await;
            }
            came
        }
        Sends::Script(_, _, script) => {
            return match script(bench).await {
                Ok(came) => (Verdict::Pass, came, String::new()),
                Err(came) => (bench.profile.fault(case.severity), came, String::new()),
            };
        }
    };
    // What is answered in 1.0 has another shape.
    if case.area != "v1" && !case.name.starts_with("version-") {
        watch.look(case.name, &came);
    }
    let seen = seen(bench, case, &came);
    let (mut verdict, mut note) = judge(bench, case, &seen);
    if verdict != Verdict::Pass
        && let Some(seen) = seen_as_invalid(bench, case, &seen)
    {
        (verdict, note) = judge(bench, case, &seen);
    }
    let right = case.outcomes.iter().find(|(level, _)| *level == Level::Right);
    if verdict != Verdict::Pass
        && note.is_empty()
        && let Some((_, right)) = right
    {
        note = difference(right, &came);
    }
    (verdict, came.to_string(), note)
}

/// The rules about unknown methods.
const ABOUT_UNKNOWN: [&str; 2] = ["J2-34", "J2-06"];

/// The rules about identifiers that come back.
const ABOUT_IDS: [&str; 3] = ["J2-14", "J2-16", "J2-28"];

/// What came, as it counts for this case: the code of unknown methods, and identifiers that are always strings, count where
/// they are what the case is about.
fn seen(bench: &Bench, case: &Case, came: &Came) -> Came {
    let mut seen = came.clone();
    if bench.found.manner == Manner::TextIds && !case.rules.iter().any(|rule| ABOUT_IDS.contains(rule)) {
        seen.messages = seen.messages.into_iter().map(Message::renumbered).collect();
    }
    if bench.is_old() && case.area == "framing" {
        // What an error holds is not defined in 1.0.
        seen.messages = seen.messages.into_iter().map(|it| it.with_code(NOT_FOUND)).collect();
    }
    if let Some(code) = bench.found.unknown
        && !case.rules.iter().any(|rule| ABOUT_UNKNOWN.contains(rule))
    {
        seen.messages = seen.messages.into_iter().map(|it| it.recoded(code, NOT_FOUND)).collect();
    }
    seen
}

/// What came, where the server has an answer of its own for what is no request, or none: that is a fault of the cases
/// that are about the answer, and of no others.
fn seen_as_invalid(bench: &Bench, case: &Case, came: &Came) -> Option<Came> {
    let mut seen = came.clone();
    match bench.found.invalid.filter(|_| !case.rules.contains(&"J2-33"))? {
        Invalid::Code(code) => {
            seen.messages = seen.messages.into_iter().map(|it| it.recoded(code, INVALID)).collect();
        }
        Invalid::Silence if seen.messages.is_empty() && seen.end == End::Open => {
            let refusal =
                format!(r#"{{"jsonrpc":"2.0","error":{{"code":{INVALID},"message":""}},"id":null}}"#);
            seen.messages.push(Message::parse(refusal.as_bytes()));
        }
        Invalid::Silence => return None,
    }
    Some(seen)
}

/// What to think of what came.
fn judge(bench: &Bench, case: &Case, came: &Came) -> (Verdict, String) {
    if let End::Unsent(why) = &came.end {
        return (Verdict::Fail, format!("it could not be sent: {why}"));
    }
    let fitting = case.outcomes.iter().filter(|(_, outcome)| outcome.fits(came));
    let level = fitting.map(|(level, _)| *level).min();
    let verdict = level.map_or_else(
        || bench.profile.fault(case.severity),
        |level| bench.profile.verdict(level, case.severity),
    );
    let name = bench.profile.name();
    let note = match level {
        Some(Level::Common(point) | Level::Special(point)) if verdict == Verdict::Pass => {
            format!("the profile {name} takes it: {}", point.what())
        }
        Some(Level::Common(point)) => format!("good servers differ here: {}", point.what()),
        // What it would be in another profile does not say what is wrong with it in this one.
        Some(Level::Special(_) | Level::Right) => String::new(),
        Some(Level::Allowed) => "it is allowed; what is expected would be better".to_owned(),
        // Whatever the case is about, an answer has to be JSON.
        None if came.is_garbage() => return (Verdict::Fail, "what came is no JSON".to_owned()),
        None => String::new(),
    };
    (verdict, note)
}

/// Why a case cannot be tried, if it cannot.
fn lacks(bench: &Bench, need: Need) -> Option<&'static str> {
    let carrier = bench.carrier();
    let framing = match carrier {
        Carrier::Http => "http",
        Carrier::WebSocket => "ws",
        Carrier::Stream(framing) => framing.name(),
    };
    let (is_there, why) = match need {
        Need::Good => (
            bench.found.good.is_some(),
            "no call that succeeds is known; name one with --method and --params",
        ),
        Need::Echo => (
            bench.found.echo.is_some(),
            "no method that gives back its parameter is known; name one with --echo",
        ),
        Need::Subtract => {
            (bench.found.has_subtract, "the server has no `subtract` as the specification shows it")
        }
        Need::Old => (bench.found.has_old, "the server does not speak 1.0"),
        Need::New => (!bench.is_old(), "the profile is of servers that speak 1.0 only"),
        Need::WideIds => (!bench.profile.has_small_ids(), "identifiers are whole numbers of 32 bits here"),
        Need::LineBreaks => (framing != "lines", "lines hold no line breaks"),
        Need::Http => (carrier == Carrier::Http, "it is about HTTP"),
        Need::Duplex => (carrier != Carrier::Http, "HTTP carries one message at a time"),
        Need::Framed => (framing != "json", "nothing but their JSON tells messages apart"),
        Need::Framing(name) => (framing == name, "it is about another framing"),
        Need::Shared => (bench.endpoint.is_shared(), "a program that is started has one caller"),
    };
    (!is_there).then_some(why)
}

fn sent(bench: &Bench, case: &Case) -> String {
    let text = |bytes: &[u8]| shortened(&String::from_utf8_lossy(&bench.fill(bytes)), 300);
    match &case.sends {
        Sends::Message(bytes) | Sends::Bytes(bytes) => text(bytes),
        Sends::Http(request) => {
            let mut request = request.clone();
            request.body = bench.fill(&request.body);
            shown::head_and_body(&request.bytes(&bench.endpoint), &bench.endpoint.headers)
        }
        Sends::Script(does, ..) => (*does).to_owned(),
    }
}

fn expected(case: &Case) -> String {
    if let Sends::Script(_, expects, _) = &case.sends {
        return (*expects).to_owned();
    }
    let best = case.outcomes.iter().filter(|(level, _)| *level == Level::Right).map(|(_, it)| it);
    best.map(Outcome::to_string).collect::<Vec<_>>().join(", or ")
}
