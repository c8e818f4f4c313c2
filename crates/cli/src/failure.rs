//! Why a command failed, and what to do next.

use switchboard::{CallError, ErrorObject};

use crate::exit::Exit;

/// Why a command failed.
#[derive(Debug, PartialEq)]
pub(crate) enum Failure {
    /// The server answered with this error; and what to do about it.
    Rejected(ErrorObject, Option<String>),
    /// Anything else that went wrong.
    Trouble(Trouble),
    /// A text of several lines that says everything, or nothing where stdout has said it.
    Shown(Exit, String),
}

/// What went wrong on this side, or with the connection.
#[derive(Debug, PartialEq)]
pub(crate) struct Trouble {
    exit: Exit,
    /// What happened.
    pub(crate) what: String,
    /// What to do about it.
    pub(crate) advice: Option<String>,
}

impl Failure {
    /// A failure that ends the program with this code.
    pub(crate) fn new(exit: Exit, what: impl Into<String>) -> Failure {
        Failure::Trouble(Trouble { exit, what: what.into(), advice: None })
    }

    /// The command line is wrong.
    pub(crate) fn usage(what: impl Into<String>) -> Failure {
        Failure::new(Exit::Usage, what)
    }

    /// The same failure with advice on what to do about it.
    pub(crate) fn advise(mut self, advice: impl Into<String>) -> Failure {
        match &mut self {
            Failure::Rejected(_, given) => *given = Some(advice.into()),
            Failure::Trouble(trouble) => trouble.advice = Some(advice.into()),
            Failure::Shown(..) => {}
        }
        self
    }

    /// The same failure without this end of its text.
    pub(crate) fn without(mut self, end: &str) -> Failure {
        if let Failure::Trouble(trouble) = &mut self
            && trouble.what.ends_with(end)
        {
            trouble.what.truncate(trouble.what.len() - end.len());
        }
        self
    }

    /// The same failure with the place where it happened.
    pub(crate) fn at(mut self, place: impl Into<String>) -> Failure {
        if let Failure::Trouble(trouble) = &mut self {
            trouble.what = format!("{}: {}", place.into(), trouble.what);
        }
        self
    }

    /// The code that the program ends with.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Failure::Rejected(..) => Exit::Rejected,
            Failure::Trouble(trouble) => trouble.exit,
            Failure::Shown(exit, _) => *exit,
        }
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Failure {
        match error {
            CallError::Rejected(error) => Failure::Rejected(error, None),
            other => Failure::new(Exit::of(&other), other.to_string()),
        }
    }
}
