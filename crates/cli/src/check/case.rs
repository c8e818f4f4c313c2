//! One case: what is sent, what may come, and which rule says so.

use futures_util::future::BoxFuture;

use super::bench::Bench;
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
    /// What is claimed of the server.
    pub(crate) claim: &'static str,
    /// The rules that say so.
    pub(crate) rules: &'static [&'static str],
    pub(crate) severity: Severity,
    pub(crate) needs: Vec<Need>,
    /// Whether a good call on a new connection has to be answered afterwards.
    pub(crate) is_hostile: bool,
    /// Whether it takes long, or much; `--quick` leaves it out.
    pub(crate) is_slow: bool,
    pub(crate) sends: Sends,
    /// What may come, the best first.
    pub(crate) outcomes: Vec<(Level, Outcome)>,
}

/// How bad it is if it does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    /// The specification demands it.
    Must,
    /// It is recommended.
    Should,
    /// It is good to know.
    Info,
}

/// What a case cannot do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// A call that succeeds.
    Good,
    /// A method that gives back its parameter.
    Echo,
    /// `subtract`, as in the specification.
    Subtract,
    /// A server that answers 1.0.
    Old,
    /// A server that answers 2.0, too.
    New,
    /// Identifiers may be any numbers.
    WideIds,
    /// Messages may hold line breaks.
    LineBreaks,
    /// HTTP.
    Http,
    /// A carrier that stays open both ways.
    Duplex,
    /// This framing, or `ws`.
    Framing(&'static str),
    /// Messages that are told apart by something else than their JSON.
    Framed,
    /// A server that many can connect to; a program that is started has one caller.
    Shared,
}

/// How good an outcome is, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// As it should be.
    Right,
    /// The specification allows it, and something else would be better.
    Allowed,
    /// Good servers differ here.
    Common(Point),
    /// Servers of some kinds do it, and from others it is a fault.
    Special(Point),
}

/// A case that is more than a message and its answer: says what came, or what came that should not.
pub(crate) type Script = for<'a> fn(&'a mut Bench) -> BoxFuture<'a, Result<String, String>>;

/// What is sent.
pub(crate) enum Sends {
    /// One message, in whatever the carrier puts around it. Names that begin with `@` are filled in.
    Message(Vec<u8>),
    /// These bytes on a connection of their own.
    Bytes(Vec<u8>),
    /// This request of HTTP.
    Http(Box<Request>),
    /// Several things, told in words.
    Script(&'static str, &'static str, Script),
}

impl std::fmt::Debug for Sends {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Sends::Message(_) => "Message",
            Sends::Bytes(_) => "Bytes",
            Sends::Http(_) => "Http",
            Sends::Script(..) => "Script",
        })
    }
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

/// A case that sends these bytes, without what the carrier puts around messages.
pub(crate) fn bytes(
    name: &'static str,
    claim: &'static str,
    rules: &'static [&'static str],
    bytes: impl AsRef<[u8]>,
) -> Case {
    new(name, claim, rules, Sends::Bytes(bytes.as_ref().to_vec()))
}

/// A case that sends a request of HTTP.
pub(crate) fn http(
    name: &'static str,
    claim: &'static str,
    rules: &'static [&'static str],
    request: Request,
) -> Case {
    new(name, claim, rules, Sends::Http(Box::new(request))).needs(Need::Http)
}

/// A case that does several things: `does` says which, `expects` what should come of them.
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
        is_hostile: false,
        is_slow: false,
        sends,
        outcomes: Vec::new(),
    }
}

impl Case {
    /// It is recommended only.
    pub(crate) fn should(mut self) -> Case {
        self.severity = Severity::Should;
        self
    }

    /// It is good to know only.
    pub(crate) fn info(mut self) -> Case {
        self.severity = Severity::Info;
        self
    }

    pub(crate) fn needs(mut self, need: Need) -> Case {
        self.needs.push(need);
        self
    }

    /// It may hurt the server, which has to answer afterwards.
    pub(crate) fn hostile(mut self) -> Case {
        self.is_hostile = true;
        self
    }

    pub(crate) fn slow(mut self) -> Case {
        self.is_slow = true;
        self
    }

    /// This is as it should be.
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
