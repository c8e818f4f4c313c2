//! `exec` URLs: messages with a child process.

use switchboard_core::{CallError, Peer};

use super::{BadCommand, Bare, Command, StartError};
use crate::carrier::{Carrier, ConnectSetup, Url, UrlError};
use crate::dial::DialError;
use crate::framing::Framing;
use crate::raw::Raw;
use crate::server::BoxFuture;

/// Messages over standard input and output of a child process.
#[derive(Debug)]
pub(crate) struct ChildCarrier;

impl Carrier for ChildCarrier {
    fn schemes(&self) -> &'static [&'static str] {
        &["exec"]
    }

    fn check(&self, url: &Url) -> Result<(), UrlError> {
        command_line(url).and_then(|_| Framing::of(url)).map(drop)
    }

    fn connect(&self, url: Url, setup: ConnectSetup) -> BoxFuture<'static, Result<Peer, DialError>> {
        Box::pin(async move {
            let command = command(&url, &setup)?;
            // Programs that talk over standard input and output mostly write one message per line.
            let options = setup.stream_options(Framing::of(&url)?.unwrap_or(Framing::Lines));
            Ok(super::connect(&command, setup.service, &options).await?)
        })
    }

    fn open(&self, url: Url, setup: ConnectSetup) -> BoxFuture<'static, Result<Raw, DialError>> {
        Box::pin(async move {
            let command = command(&url, &setup)?;
            Ok(Raw::child(Bare::start(&command)?))
        })
    }
}

impl From<StartError> for DialError {
    fn from(error: StartError) -> DialError {
        DialError::new(error.to_string(), CallError::from(error).is_permanent())
    }
}

fn command(url: &Url, setup: &ConnectSetup) -> Result<Command, DialError> {
    let command = command_line(url)?.parse();
    let command: Command = command.map_err(|error: BadCommand| DialError::Refused(error.to_string()))?;
    let command = setup.env.iter().fold(command, |command, (name, value)| command.env(name, value));
    let command = setup.folder.iter().fold(command, Command::folder);
    Ok(setup.label.iter().fold(command, Command::label))
}

fn command_line(url: &Url) -> Result<String, UrlError> {
    match url.text_without("framing") {
        Some(command) if command.trim().is_empty() => {
            Err(UrlError::Empty(url.to_string(), "command; write it as \"exec:program argument\""))
        }
        Some(command) => Ok(command),
        None => Err(UrlError::UnexpectedHost(url.to_string(), url.scheme().to_owned(), "COMMAND")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_must_name_a_command() {
        let check = |url: &str, expected: &str| {
            let error = ChildCarrier.check(&url.parse().unwrap()).expect_err(url).to_string();
            assert!(error.contains(expected), "{url}: {error}");
        };
        check("exec:", "has no command");
        check("exec:  ?framing=lsp", "has no command");
        check("exec://server", "write it as \"exec:COMMAND\"");
        assert!(ChildCarrier.check(&"exec:get http://a/?x=1".parse().unwrap()).is_ok());
    }
}
