//! One case: what is sent, which answers are correct, and which rule says so.

use futures_util::future::BoxFuture;

use super::bench::Bench;
use super::era::Era;
use super::outcome::{Outcome, Pattern};
use super::profile::Point;
use super::wire::Request;

/// A case.
#[derive(Debug)]
pub(crate) struct Case {
    /// Its name, for `--only`.
    pub(crate) name: &'static str,
    /// The area that it belongs to, set by the list of all cases.
    pub(crate) area: &'static str,
    /// What a correct server does.
    pub(crate) claim: &'static str,
    /// The rules that require it.
    pub(crate) rules: &'static [&'static str],
    pub(crate) severity: Severity,
    pub(crate) needs: Vec<Need>,
    /// The case that has to pass before this one can be judged. Until it does, this one is not run.
    pub(crate) rests_on: Option<&'static str>,
    /// The case that tests the same behaviour with plainer input. If both fail for the same reason, that is one fault.
    pub(crate) like: Option<&'static str>,
    /// Whether the server has to answer a valid call on a new connection afterwards.
    pub(crate) is_hostile: bool,
    /// Whether it takes long or sends much; `--quick` skips it.
    pub(crate) is_slow: bool,
    pub(crate) sends: Sends,
    /// The answers that are accepted, the best first.
    pub(crate) outcomes: Vec<(Level, Outcome)>,
}

/// How serious a violation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    /// The specification requires it.
    Must,
    /// It is recommended.
    Should,
    /// It is informative.
    Info,
}

/// What a case requires of the server or its transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// A call that succeeds.
    Good,
    /// A method that returns its parameter.
    Echo,
    /// `subtract`, as in the specification's examples.
    Subtract,
    /// A server that speaks 1.0.
    Old,
    /// A server that speaks 2.0.
    New,
    /// Any number can be an identifier.
    WideIds,
    /// Messages can contain line breaks.
    LineBreaks,
    /// HTTP.
    Http,
    /// HTTP/2.
    Http2,
    /// A transport whose connections stay open in both directions.
    Duplex,
    /// This framing, or `ws`.
    Framing(&'static str),
    /// Messages that are delimited by something other than their JSON.
    Framed,
    /// A server that accepts several connections; a program that was started has one caller.
    Shared,
    /// A server of the Model Context Protocol that speaks this era. The case is sent in it.
    Era(Era),
    /// A server that declares this capability in the era of the case.
    Capability(&'static str),
    /// A server that offers this: a name that can be filled in, without its `@`.
    Sample(&'static str),
    /// Sessions that have an identifier.
    SessionId,
    /// A revision of sessions that is at least this one.
    Revision(&'static str),
    /// A URL that names this machine.
    Loopback,
}

/// How good an answer is, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Correct.
    Right,
    /// The specification allows it, although another answer would be better.
    Allowed,
    /// Good servers differ here.
    Common(Point),
    /// Servers of some kinds do it; for others it is a fault.
    Special(Point),
}

/// A case that is more than a message and its answer. It returns what it received, as `Err` if that is wrong.
pub(crate) type Script = for<'a> fn(&'a mut Bench) -> BoxFuture<'a, Result<String, String>>;

/// What is sent.
pub(crate) enum Sends {
    /// The call that this server is known to answer.
    Good,
    /// One message, in the framing of the transport. Names that begin with `@` are filled in.
    Message(Vec<u8>),
    /// These bytes, on a new connection.
    Bytes(Vec<u8>),
    /// This HTTP request.
    Http(Box<Request>),
    /// Several steps, described in words.
    Script(&'static str, &'static str, Script),
}

impl std::fmt::Debug for Sends {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Sends::Good => "Good",
            Sends::Message(_) => "Message",
            Sends::Bytes(_) => "Bytes",
            Sends::Http(_) => "Http",
            Sends::Script(..) => "Script",
        })
    }
}

/// A case that sends the call that this server is known to answer.
pub(crate) fn good(name: &'static str, claim: &'static str, rules: &'static [&'static str]) -> Case {
    new(name, claim, rules, Sends::Good)
}

/// A case that sends this message.
pub(crate) fn case(
    name: &'static str,
    claim: &'static str,
    rules: &'static [&'static str],
    message: impl AsRef<[u8]>,
) -> Case {
    new(name, claim, rules, Sends::Message(message.as_ref().to_vec()))
}

/// A case that sends these bytes, without the framing of the transport.
pub(crate) fn bytes(
    name: &'static str,
    claim: &'static str,
    rules: &'static [&'static str],
    bytes: impl AsRef<[u8]>,
) -> Case {
    new(name, claim, rules, Sends::Bytes(bytes.as_ref().to_vec()))
}

/// A case that sends an HTTP request.
pub(crate) fn http(
    name: &'static str,
    claim: &'static str,
    rules: &'static [&'static str],
    request: Request,
) -> Case {
    new(name, claim, rules, Sends::Http(Box::new(request))).needs(Need::Http)
}

/// A case of several steps: `does` describes them, `expects` their correct result.
pub(crate) fn script(
    name: &'static str,
    claim: &'static str,
    rules: &'static [&'static str],
    (does, expects): (&'static str, &'static str),
    script: Script,
) -> Case {
    new(name, claim, rules, Sends::Script(does, expects, script))
}

fn new(name: &'static str, claim: &'static str, rules: &'static [&'static str], sends: Sends) -> Case {
    Case {
        name,
        area: "",
        claim,
        rules,
        severity: Severity::Must,
        needs: Vec::new(),
        rests_on: None,
        like: None,
        is_hostile: false,
        is_slow: false,
        sends,
        outcomes: Vec::new(),
    }
}

impl Case {
    /// It is only recommended.
    pub(crate) fn should(mut self) -> Case {
        self.severity = Severity::Should;
        self
    }

    /// It is only informative.
    pub(crate) fn info(mut self) -> Case {
        self.severity = Severity::Info;
        self
    }

    pub(crate) fn needs(mut self, need: Need) -> Case {
        self.needs.push(need);
        self
    }

    /// Needs this before everything else, so that a report names it first.
    pub(crate) fn needs_first(mut self, need: Need) -> Case {
        self.needs.insert(0, need);
        self
    }

    /// The era that it is sent in, unless it can be any.
    pub(crate) fn era(&self) -> Option<Era> {
        self.needs.iter().find_map(|need| match need {
            Need::Era(era) => Some(*era),
            _ => None,
        })
    }

    /// It may harm the server, which has to answer afterwards.
    pub(crate) fn hostile(mut self) -> Case {
        self.is_hostile = true;
        self
    }

    /// Sets [`rests_on`](Case::rests_on).
    pub(crate) fn rests_on(mut self, name: &'static str) -> Case {
        self.rests_on = Some(name);
        self
    }

    /// Sets [`like`](Case::like).
    pub(crate) fn like(mut self, name: &'static str) -> Case {
        self.like = (self.name != name).then_some(name);
        self
    }

    pub(crate) fn slow(mut self) -> Case {
        self.is_slow = true;
        self
    }

    /// This is correct.
    pub(crate) fn right(self, outcome: impl Into<Outcome>) -> Case {
        self.at(Level::Right, outcome)
    }

    /// This is allowed.
    pub(crate) fn allowed(self, outcome: impl Into<Outcome>) -> Case {
        self.at(Level::Allowed, outcome)
    }

    /// Good servers do this.
    pub(crate) fn common(self, point: Point, outcome: impl Into<Outcome>) -> Case {
        self.at(Level::Common(point), outcome)
    }

    /// Servers of some kinds do this.
    pub(crate) fn special(self, point: Point, outcome: impl Into<Outcome>) -> Case {
        self.at(Level::Special(point), outcome)
    }

    fn at(mut self, level: Level, outcome: impl Into<Outcome>) -> Case {
        self.outcomes.push((level, outcome.into()));
        self
    }
}

impl From<Pattern> for Outcome {
    fn from(pattern: Pattern) -> Outcome {
        Outcome::One(pattern)
    }
}

impl Severity {
    /// As it is written in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Severity::Must => "must",
            Severity::Should => "should",
            Severity::Info => "info",
        }
    }
}
