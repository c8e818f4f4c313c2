//! `switchboard man`: man pages with the same texts as the help.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::Man as Page;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  switchboard man | man -l -                       # read the main page
  switchboard man ~/.local/share/man/man1          # install all pages, one per command";

/// Prints the man page, or writes all man pages to a folder.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Man {
    /// Folder for the pages. It is created if it does not exist.
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
            // As in the folder: `help` has no page.
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
