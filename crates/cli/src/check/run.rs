//! Runs cases one after the other, and judges their answers.
//!
//! One at a time, so that the case that breaks a server is known by its name. A fault is reported once: cases that cannot be judged
//! because of it, or that fail for the same reason, are skipped and name it.

use std::time::{Duration, Instant};

use tokio::time::timeout;

use super::bench::Bench;
use super::case::{Case, Level, Need, Sends};
use super::difference::difference;
use super::era::Era;
use super::found::{INVALID, Invalid, Manner, NOT_FOUND};
use super::message::Message;
use super::outcome::{Came, End, Outcome, shortened};
use super::profile::{MCP, Verdict};
use super::progress::Progress;
use super::report::Finding;
use super::shown;
use super::watch::{self, Watch};
use super::wire::Carrier;

/// How many findings these cases lead to: one each, and one for each claim about all responses.
pub(crate) fn count(bench: &Bench, cases: &[Case]) -> usize {
    cases.len() + if bench.is_old() { 0 } else { watch::claims().len() }
}

/// Runs these cases, and shows the progress.
pub(crate) async fn run(bench: &mut Bench, cases: Vec<Case>, progress: &mut Progress) -> Vec<Finding> {
    let mut watch = Watch::default();
    let mut findings = Vec::with_capacity(cases.len());
    let mut lost = None;
    for case in cases {
        // A program may end a moment after the case that ended it.
        if let Some((end, last)) = bench.death().zip(findings.last_mut()) {
            died(last, end);
        }
        progress.begins(&case);
        bench.speak(case.era());
        let fault = case.rests_on.and_then(|base| fault(&findings, base));
        let mut finding = match (lost, fault) {
            (Some(last), _) => {
                let note = format!("not run: the server has not answered since `{last}`");
                untried(bench, &case).explained(last, note)
            }
            (None, Some(fault)) => untried(bench, &case).explained(fault, unless_fixed(fault)),
            (None, None) => one(bench, &case, &mut watch).await,
        };
        if let Some(base) = same_fault(&case, &finding, &findings) {
            finding = finding.explained(base, format!("fails for the same reason as `{base}`"));
        }
        // Once more, for a server that was restarted meanwhile.
        if lost.is_none() && finding.verdict == Verdict::Fail && bench.is_well().await.is_err() {
            lost = Some(case.name);
        }
        progress.ends(&finding);
        findings.push(finding);
    }
    if !bench.is_old() {
        for (base, mut finding) in watch.findings(bench.profile) {
            if let Some(fault) = fault(&findings, base) {
                finding = finding.explained(fault, unless_fixed(fault));
            }
            progress.ends(&finding);
            findings.push(finding);
        }
    }
    findings
}

/// The fault that keeps cases from being judged that rest on this one: its own, or the one that kept it from being run.
fn fault(findings: &[Finding], base: &str) -> Option<&'static str> {
    let base = findings.iter().find(|finding| finding.name == base)?;
    if base.verdict == Verdict::Fail { Some(base.name) } else { base.because }
}

fn unless_fixed(fault: &str) -> String {
    format!("not run because `{fault}` fails")
}

/// The case that this one is like, if both went wrong, and for the same reason.
fn same_fault(case: &Case, finding: &Finding, findings: &[Finding]) -> Option<&'static str> {
    let find = |name: &str| findings.iter().find(|finding| finding.name == name);
    let base = find(case.like?)?;
    // It may itself be the fault of another.
    let base = base.because.map_or(Some(base), find)?;
    let is_wrong = matches!(finding.verdict, Verdict::Fail | Verdict::Warn);
    let is_as_bad = base.verdict == Verdict::Fail || base.verdict == finding.verdict;
    let is_same = is_as_bad && base.note == finding.note && !base.note.is_empty();
    (is_wrong && is_same).then_some(base.name)
}

/// Runs one case.
pub(crate) async fn one(bench: &mut Bench, case: &Case, watch: &mut Watch) -> Finding {
    let begun = Instant::now();
    bench.speak(case.era());
    let mut finding = untried(bench, case);
    if let Some(why) = case.needs.iter().find_map(|need| lacks(bench, *need)) {
        finding.note = why.to_owned();
        return finding;
    }
    // Each wait in it has its own limit; this one is for their sum.
    let limit = bench.timeout * 3 + bench.patience() + Duration::from_secs(2);
    let late = || (Verdict::Fail, format!("the case did not end within {limit:?}"), String::new());
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

/// A program that ends during a case has failed it, whatever it answered.
fn died(finding: &mut Finding, end: String) {
    (finding.verdict, finding.note) = (Verdict::Fail, end);
}

/// The finding of a case that was not run.
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
        because: None,
        time: Duration::ZERO,
    }
}

async fn try_it(bench: &mut Bench, case: &Case, watch: &mut Watch) -> (Verdict, String, String) {
    let awaited = case.outcomes.first().map_or(0, |(_, outcome)| outcome.messages());
    let came = match &case.sends {
        Sends::Good => answer_alone(bench.greet().await),
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
    // Answers in 1.0 have another shape, and what MCP servers say about a refused HTTP request need not be a response.
    let is_refused = came.head.as_ref().is_some_and(|head| head.status >= 400);
    let is_free = case.area.starts_with(MCP) && is_refused;
    if case.area != "v1" && !case.name.starts_with("version-") && !is_free {
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

/// The answer to the valid call, without what else came on its new connection. Other cases judge that.
fn answer_alone(mut came: Came) -> Came {
    let is_answer = |message: &Message| matches!(message, Message::One(response) if response.has_id("1"));
    if came.messages.iter().any(is_answer) {
        came.messages.retain(is_answer);
    }
    came
}

/// The rules about unknown methods.
const ABOUT_UNKNOWN: [&str; 2] = ["J2-34", "J2-06"];

/// The rules about identifiers that come back.
const ABOUT_IDS: [&str; 3] = ["J2-14", "J2-16", "J2-28"];

/// The answer as this case judges it. The code for unknown methods, and identifiers that always come back as strings, matter only
/// to the cases about them.
fn seen(bench: &Bench, case: &Case, came: &Came) -> Came {
    let mut seen = came.clone();
    if bench.found.manner == Manner::TextIds && !case.rules.iter().any(|rule| ABOUT_IDS.contains(rule)) {
        seen.messages = seen.messages.into_iter().map(Message::renumbered).collect();
    }
    if bench.is_old() && case.area == "framing" {
        // The contents of an error are not defined in 1.0.
        seen.messages = seen.messages.into_iter().map(|it| it.with_code(NOT_FOUND)).collect();
    }
    if let Some(code) = bench.found.unknown
        && !case.rules.iter().any(|rule| ABOUT_UNKNOWN.contains(rule))
    {
        seen.messages = seen.messages.into_iter().map(|it| it.recoded(code, NOT_FOUND)).collect();
    }
    seen
}

/// The answer as this case judges it, if the server has an unusual answer to invalid requests, or none: that is a fault of
/// the cases about that answer only.
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

/// The verdict on an answer.
fn judge(bench: &Bench, case: &Case, came: &Came) -> (Verdict, String) {
    if let End::Unsent(why) = &came.end {
        return (Verdict::Fail, format!("the message could not be sent: {why}"));
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
            format!("accepted by the profile {name}: {}", point.what())
        }
        Some(Level::Common(point)) => format!("good servers differ here: {}", point.what()),
        // What another profile makes of it does not say what is wrong in this one.
        Some(Level::Special(_) | Level::Right) => String::new(),
        Some(Level::Allowed) => "allowed, but the expected answer would be better".to_owned(),
        // Whatever the case is about, an answer has to be JSON.
        None if came.is_garbage() => return (Verdict::Fail, "the answer is not JSON".to_owned()),
        None => String::new(),
    };
    (verdict, note)
}

/// Why a case cannot be run, if it cannot.
fn lacks(bench: &Bench, need: Need) -> Option<&'static str> {
    let carrier = bench.carrier();
    let side = bench.side();
    let framing = match carrier {
        Carrier::Http => "http",
        Carrier::WebSocket => "ws",
        Carrier::Stream(framing) => framing.name(),
    };
    let (is_there, why) = match need {
        Need::Good => {
            (bench.found.good.is_some(), "no call is known to succeed; name one with --method and --params")
        }
        Need::Echo => {
            (bench.found.echo.is_some(), "no method is known to return its parameter; name one with --echo")
        }
        Need::Subtract => {
            (bench.found.has_subtract, "the server has no `subtract` method as in the specification")
        }
        Need::Old => (bench.found.has_old, "the server does not speak 1.0"),
        Need::New => (!bench.is_old(), "the profile is for servers that only speak 1.0"),
        Need::WideIds => (!bench.profile.has_small_ids(), "identifiers are 32-bit integers in this profile"),
        Need::LineBreaks => (framing != "lines", "a line cannot contain line breaks"),
        Need::Http => (carrier == Carrier::Http, "for HTTP only"),
        Need::Http2 => (bench.found.has_http2, "the server does not speak HTTP/2"),
        Need::Duplex => (carrier != Carrier::Http, "for connections that stay open, not HTTP"),
        Need::Framed => (framing != "json", "messages are delimited by their JSON only"),
        Need::Framing(name) => (framing == name, "for another framing"),
        Need::Shared => (bench.endpoint.is_shared(), "a program started by `check` has only one client"),
        Need::Era(Era::Sessions) => {
            (side.is_some(), "the server has no sessions: it does not know `initialize`")
        }
        Need::Era(Era::Stateless) => {
            (side.is_some(), "the server has no stateless requests: it does not know `server/discover`")
        }
        Need::Capability(name) => {
            (side.is_some_and(|side| side.declares(name)), "the server does not declare the capability")
        }
        Need::Sample(name) => (
            side.is_some_and(|side| side.samples.contains_key(name)),
            "the server offers nothing that can be tried without effects",
        ),
        Need::SessionId => {
            (side.is_some_and(|side| side.has_session_id), "the sessions of the server have no identifier")
        }
        Need::Revision(first) => (
            side.is_some_and(|side| side.version.as_str() >= first),
            "the server speaks only older revisions",
        ),
        Need::Loopback => (bench.endpoint.is_loopback(), "the server is not on this machine"),
    };
    (!is_there).then_some(why)
}

fn sent(bench: &Bench, case: &Case) -> String {
    let text = |bytes: &[u8]| shortened(&String::from_utf8_lossy(&bench.fill(bytes)), 300);
    match &case.sends {
        Sends::Good => bench.good(1),
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
