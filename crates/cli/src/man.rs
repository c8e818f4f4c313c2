//! `switchboard man`: the manual, made of the same words as the help.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::Man as Page;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  switchboard man | man -l -                       # the first page
  switchboard man ~/.local/share/man/man1          # all pages, one for each command";

/// Prints the manual, or writes all of its pages to a folder.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Man {
    /// The folder to write the pages to. It is made if it is not there.
    folder: Option<PathBuf>,
}

impl Man {
    /// Runs the command.
    pub(crate) fn run(self, command: Command) -> Result<(), Failure> {
        let cannot = |error: std::io::Error, what: &str| {
            Failure::new(Exit::CannotWrite, format!("cannot write {what}: {error}"))
        };
        let Some(folder) = self.folder else {
            let mut page = Vec::new();
            // As in the folder: it has no page of its own.
            Page::new(command.disable_help_subcommand(true))
                .render(&mut page)
                .map_err(|error| cannot(error, "the page"))?;
            return output::bytes(&page).map(drop);
        };
        let written =
            std::fs::create_dir_all(&folder).and_then(|()| clap_mangen::generate_to(command, &folder));
        written.map_err(|error| cannot(error, &folder.display().to_string()))
    }
}
