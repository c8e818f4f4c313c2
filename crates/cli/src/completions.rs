//! `switchboard completions`: scripts that let a shell complete the command line.

use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  switchboard completions bash > ~/.local/share/bash-completion/completions/switchboard
  switchboard completions zsh > ~/.zfunc/_switchboard
  switchboard completions fish > ~/.config/fish/completions/switchboard.fish";

/// Prints a shell completion script.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Completions {
    /// Shell to print the script for.
    shell: Shell,
}

impl Completions {
    /// Runs the command.
    pub(crate) fn run(self, mut command: Command) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "switchboard", &mut script);
        output::bytes(&script).map(drop)
    }
}
