//! The exit codes of the program: one for each kind of failure, so that scripts can tell them apart.

use std::process::ExitCode;

use switchboard::CallError;

/// The code that the program ends with. Their list in the help is [`HELP`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Success.
    Done = 0,
    /// The server answered with an error; for a batch, to at least one call.
    Rejected = 1,
    /// The command line is wrong. The parser of the command line uses this code too.
    Usage = 2,
    /// The server could not be reached, or the connection broke.
    Unreachable = 3,
    /// No answer in time.
    TimedOut = 4,
    /// The answer violates the protocol, is not JSON-RPC, or is too large.
    Protocol = 5,
    /// The server cannot listen on an address.
    CannotListen = 6,
    /// The result could not be written to stdout, or was read there too slowly.
    CannotWrite = 7,
    /// `check` found faults.
    Faulty = 8,
    /// A document has breaking changes compared with an older one.
    Breaking = 9,
    /// The configuration has errors.
    Configuration = 10,
    /// `replay` got other answers than the recorded ones.
    Differs = 11,
    /// A signal interrupted a call, or a second signal a server; numbered as shells do.
    Interrupted = 130,
}

/// The codes, for the help of each command.
pub(crate) const HELP: &str = "\
Exit codes:
  0    success
  1    the server answered with an error; for `batch`, to at least one call
  2    invalid command line
  3    the server could not be reached, or the connection broke
  4    timeout: no answer in time
  5    the answer violates the protocol, is not JSON-RPC, or is too large
  6    cannot listen on an address
  7    the result could not be written, or was read too slowly
  8    `check` found faults
  9    `discover --diff` found a breaking change
  10   the configuration has errors
  11   `replay` got answers that differ from the recorded ones
  130  interrupted by a signal; for `serve`, `tap`, `top` and `watch`, by a second one";

impl Exit {
    /// The code for a call that failed with this error.
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

/// Whether the answer was too large. A connection ends with such an answer.
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
            Configuration,
            Differs,
            Interrupted,
        ];
        let listed: Vec<u8> =
            HELP.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect();
        assert_eq!(listed, all.map(|exit| exit as u8));
    }
}
