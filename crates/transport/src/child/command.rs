//! The command to start.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process;
use std::str::FromStr;
use std::time::Duration;

/// A program with its arguments, started without a shell (SEC-X-02).
///
/// # Examples
///
/// ```
/// use switchboard_transport::child::Command;
///
/// let command: Command = "my-server --root 'a folder' --quiet".parse()?;
/// assert_eq!(command, Command::new("my-server").args(["--root", "a folder", "--quiet"]));
/// # Ok::<_, switchboard_transport::child::BadCommand>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    inherits_env: bool,
    folder: Option<PathBuf>,
    label: Option<String>,
    pub(super) grace: Duration,
}

/// What a child sees of our environment: enough to find programs and files, and no secrets.
const ENVIRONMENT: [&str; 10] =
    ["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];

/// The text is not a command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadCommand {
    /// It is empty.
    #[error("the command is empty: write the program and its arguments")]
    Empty,
    /// A quote is not closed.
    #[error("unclosed {0} in the command: close it, or escape it with a backslash")]
    OpenQuote(char),
}

impl Command {
    /// This program, without arguments.
    pub fn new(program: impl Into<OsString>) -> Command {
        Command {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            inherits_env: false,
            folder: None,
            label: None,
            grace: Duration::from_secs(2),
        }
    }

    /// Appends these arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Command {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets this environment variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Command {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Passes on the whole environment. Otherwise the program sees a few variables such as `PATH` and `HOME`.
    #[must_use]
    pub fn inherit_env(mut self) -> Command {
        self.inherits_env = true;
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Command {
        self.folder = Some(folder.into());
        self
    }

    /// Sets the time between closing its input, asking it to exit and killing it: 2 s by default.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Command {
        self.grace = grace;
        self
    }

    /// Sets the name under which its standard error is logged: by default the program.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Command {
        self.label = Some(label.into());
        self
    }

    /// The name for the log.
    pub(super) fn logged(&self) -> String {
        self.label.clone().unwrap_or_else(|| self.name())
    }

    /// The program, for messages.
    pub(super) fn name(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }

    pub(super) fn to_std(&self) -> process::Command {
        let mut command = process::Command::new(&self.program);
        command.args(&self.args);
        if !self.inherits_env {
            command.env_clear();
            let kept = ENVIRONMENT.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
            command.envs(kept);
        }
        command.envs(self.env.iter().map(|(name, value)| (name as &OsStr, value as &OsStr)));
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command
    }
}

impl FromStr for Command {
    type Err = BadCommand;

    /// Words apart by white space. Quotes of both kinds keep a word together; a backslash takes the next character as it
    /// is, except between single quotes. Nothing else has a meaning: there are no variables, no patterns, no pipes.
    fn from_str(text: &str) -> Result<Command, BadCommand> {
        let mut words: Vec<String> = Vec::new();
        let mut word: Option<String> = None;
        let mut quote = None;
        let mut chars = text.chars();
        while let Some(char) = chars.next() {
            match (char, quote) {
                (_, Some(open)) if char == open => quote = None,
                ('\'' | '"', None) => {
                    quote = Some(char);
                    word.get_or_insert_default();
                }
                ('\\', None | Some('"')) => word.get_or_insert_default().extend(chars.next()),
                (_, None) if char.is_whitespace() => words.extend(word.take()),
                _ => word.get_or_insert_default().push(char),
            }
        }
        if let Some(open) = quote {
            return Err(BadCommand::OpenQuote(open));
        }
        words.extend(word);
        let mut words = words.into_iter();
        let program = words.next().filter(|program| !program.is_empty()).ok_or(BadCommand::Empty)?;
        Ok(Command::new(program).args(words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let (program, args) = expected.split_first().unwrap();
        assert_eq!(text.parse(), Ok(Command::new(*program).args(args.iter().copied())), "{text}");
    }

    #[test]
    fn quotes_and_backslashes_keep_words_together() {
        check("a", &["a"]);
        check("  a  b\tc ", &["a", "b", "c"]);
        check(r#"a 'b c' "d e" f\ g"#, &["a", "b c", "d e", "f g"]);
        check(r#"a '' "" x'y'"z""#, &["a", "", "", "xyz"]);
        check(r#"a '\' "\"" $HOME | * ;"#, &["a", "\\", "\"", "$HOME", "|", "*", ";"]);
    }

    #[test]
    fn what_is_no_command_is_refused() {
        assert_eq!("".parse::<Command>(), Err(BadCommand::Empty));
        assert_eq!(" '' a".parse::<Command>(), Err(BadCommand::Empty));
        assert_eq!("a 'b".parse::<Command>(), Err(BadCommand::OpenQuote('\'')));
        assert_eq!("a \"b\\\"".parse::<Command>(), Err(BadCommand::OpenQuote('"')));
    }
}
