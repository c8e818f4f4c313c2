//! Running other programs: built like a shell line, shown like a shell line, failed with that line.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::step::Failure;
use crate::{summary, workspace};

/// A program to run, with its arguments and environment. It runs in the root of the repository.
pub(crate) struct Program {
    name: String,
    path: OsString,
    args: Vec<String>,
    env: Vec<(&'static str, String)>,
    unset: Vec<&'static str>,
}

impl Program {
    /// A program found on the `PATH`.
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            path: name.into(),
            args: Vec::new(),
            env: Vec::new(),
            unset: Vec::new(),
        }
    }

    /// The cargo that started this program, with a line of arguments separated by blanks.
    pub(crate) fn cargo(line: &str) -> Self {
        let path = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        Self { path, ..Self::new("cargo") }.args(line.split_whitespace())
    }

    /// A program at a path of the file system.
    pub(crate) fn at(path: &Path) -> Self {
        Self::new(&path.display().to_string())
    }

    /// Adds one argument.
    pub(crate) fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    pub(crate) fn args<A: Into<String>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable of the environment.
    pub(crate) fn env(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.env.push((key, value.into()));
        self
    }

    /// Takes a variable out of the environment.
    pub(crate) fn unset(mut self, key: &'static str) -> Self {
        self.unset.push(key);
        self
    }

    /// Runs to the end. The output streams through.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        println!("  $ {self}");
        let start = Instant::now();
        let status = self.spawn(Stdio::inherit())?.wait();
        let status = status.map_err(|error| self.failed(&format!("cannot be waited for: {error}")))?;
        self.expect_success(status)?;
        println!("    {}", summary::seconds(start.elapsed()));
        Ok(())
    }

    /// Runs to the end, or kills it when the limit has passed and fails. The output streams through.
    pub(crate) fn run_within(&self, limit: Duration) -> Result<(), Failure> {
        const POLL: Duration = Duration::from_millis(20);
        println!("  $ {self}");
        let start = Instant::now();
        let mut child = self.spawn(Stdio::inherit())?;
        loop {
            let status = child.try_wait();
            match status.map_err(|error| self.failed(&format!("cannot be waited for: {error}")))? {
                Some(status) => break self.expect_success(status)?,
                None if start.elapsed() < limit => thread::sleep(POLL),
                None => {
                    // It may have ended in this moment; either way it is gone after the wait.
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(self.failed(&format!("was still running after {}", summary::seconds(limit))));
                }
            }
        }
        println!("    {}", summary::seconds(start.elapsed()));
        Ok(())
    }

    /// Runs to the end and returns what it wrote to its standard output. Its errors stream through.
    pub(crate) fn output(&self) -> Result<String, Failure> {
        let output = self.spawn(Stdio::piped())?.wait_with_output();
        let output = output.map_err(|error| self.failed(&format!("cannot be read: {error}")))?;
        self.expect_success(output.status)?;
        String::from_utf8(output.stdout).map_err(|_| self.failed("wrote something that is not UTF-8"))
    }

    /// Whether it runs and ends well. Prints nothing.
    pub(crate) fn succeeds(&self) -> bool {
        let mut command = self.command();
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    /// Starts it with standard error piped, for a caller that filters what streams through.
    pub(crate) fn spawn_filtered(&self) -> Result<Child, Failure> {
        println!("  $ {self}");
        let child = self.command().stderr(Stdio::piped()).spawn();
        child.map_err(|error| self.failed(&format!("does not start: {error}")))
    }

    /// Turns an unhappy exit status into a failure that names the command.
    pub(crate) fn expect_success(&self, status: ExitStatus) -> Result<(), Failure> {
        if status.success() { Ok(()) } else { Err(self.failed(&format!("ended with {status}"))) }
    }

    fn spawn(&self, stdout: Stdio) -> Result<Child, Failure> {
        let child = self.command().stdout(stdout).spawn();
        child.map_err(|error| self.failed(&format!("does not start: {error}")))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.args).current_dir(workspace::root()).stdin(Stdio::null());
        for key in &self.unset {
            command.env_remove(key);
        }
        command.envs(self.env.iter().map(|(key, value)| (key, value)));
        command
    }

    fn failed(&self, how: &str) -> Failure {
        Failure::new(
            format!("`{self}` {how}"),
            "read its output above, fix the problem, and run that command again",
        )
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (key, value) in &self.env {
            write!(f, "{key}={} ", quoted(value))?;
        }
        f.write_str(&quoted(&self.name))?;
        self.args.iter().try_for_each(|arg| write!(f, " {}", quoted(arg)))
    }
}

/// The word as a shell needs it to be written.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%*".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Where on the `PATH` a program is, if it is there.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join(&file))
        .find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_shown_as_a_line_to_paste_into_a_shell() {
        let program =
            Program::new("cargo").args(["doc", "--no-deps"]).arg("it's").env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(program.to_string(), r"RUSTDOCFLAGS='-D warnings' cargo doc --no-deps 'it'\''s'");
    }

    #[test]
    fn an_empty_argument_stays_visible() {
        assert_eq!(Program::new("true").arg("").to_string(), "true ''");
    }

    #[test]
    fn a_failure_names_the_exact_command() {
        let failure = Program::cargo("test --workspace").failed("ended with exit status: 101").to_string();
        assert!(failure.starts_with("`cargo test --workspace` ended with exit status: 101\n"), "{failure}");
    }
}
