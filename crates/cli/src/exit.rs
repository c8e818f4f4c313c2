//! How the program ends: one code for each kind of failure, for scripts to tell them apart.

use std::process::ExitCode;

use switchboard::CallError;

/// The code that the program ends with. Their list in the help is [`HELP`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// All went well.
    Done = 0,
    /// The far side answered with an error; of a batch, to some of its calls.
    Rejected = 1,
    /// The command line is wrong. The parser of the command line uses this code, too.
    Usage = 2,
    /// The far side could not be reached, or the connection broke.
    Unreachable = 3,
    /// No answer came in time.
    TimedOut = 4,
    /// What came back breaks the protocol, or is no JSON-RPC at all, or is longer than it may be.
    Protocol = 5,
    /// An address could not be listened on.
    CannotListen = 6,
    /// The result came but could not be written to stdout, or was read there too slowly.
    CannotWrite = 7,
    /// `check` found faults.
    Faulty = 8,
    /// A document differs from an older one so that callers break.
    Breaking = 9,
    /// A signal ended a call before it was done, or a second one a server, as shells number it.
    Interrupted = 130,
}

/// The codes, for the help of each command.
pub(crate) const HELP: &str = "\
Exit codes:
  0    all went well
  1    the far side answered with an error; `batch`, to some call
  2    the command line is wrong
  3    the far side could not be reached, or the connection broke
  4    no answer came in time, or the far side said so
  5    the answer breaks the protocol, is not JSON-RPC, or is too long
  6    an address could not be listened on
  7    the result could not be written, or was read too slowly
  8    `check` found faults
  9    `discover --diff`, a change breaks callers
  130  stopped by a signal; `serve`, by a second one";

impl Exit {
    /// The code for a call that failed so.
    pub(crate) fn of(error: &CallError) -> Exit {
        match error {
            CallError::Rejected(_) => Exit::Rejected,
            CallError::TimedOut => Exit::TimedOut,
            error if is_too_long(error) => Exit::Protocol,
            CallError::Transport(_) | CallError::Protocol(_) | CallError::Result(_) => Exit::Protocol,
            CallError::Params(_) | CallError::Unsupported(_) => Exit::Usage,
            CallError::Unread(_) => Exit::CannotWrite,
            _ => Exit::Unreachable,
        }
    }
}

/// Whether an answer came that is longer than it may be. A connection over which it came ends with it.
pub(crate) fn is_too_long(error: &CallError) -> bool {
    match error {
        CallError::Closed(what) => what.contains("limits.frame"),
        CallError::Transport(what) => what.contains("limits.reply"),
        _ => false,
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_in_the_help() {
        use Exit::*;
        let all = [
            Done,
            Rejected,
            Usage,
            Unreachable,
            TimedOut,
            Protocol,
            CannotListen,
            CannotWrite,
            Faulty,
            Breaking,
            Interrupted,
        ];
        let listed: Vec<u8> =
            HELP.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect();
        assert_eq!(listed, all.map(|exit| exit as u8));
    }
}
