//! Where the history of the prompt is kept.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

/// The file of the history, in a directory that is there: `$XDG_STATE_HOME/switchboard/history`, where the variable
/// stands for `~/.local/state` if it is not set. Only its owner reads it, since parameters may be secrets.
pub(crate) fn file() -> std::io::Result<Option<PathBuf>> {
    let Some(file) = place(std::env::var_os("XDG_STATE_HOME"), std::env::var_os("HOME")) else {
        return Ok(None);
    };
    if let Some(directory) = file.parent() {
        fs::create_dir_all(directory)?;
    }
    let mut options = fs::OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(&file)?;
    Ok(Some(file))
}

fn place(state: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let state = state.map(PathBuf::from).filter(|path| path.is_absolute());
    let directory = state.or_else(|| Some(PathBuf::from(home?).join(".local/state")))?;
    Some(directory.join("switchboard/history"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_is_where_programs_keep_such_things() {
        let check = |state: Option<&str>, home: Option<&str>, expected: Option<&str>| {
            assert_eq!(place(state.map(Into::into), home.map(Into::into)), expected.map(PathBuf::from));
        };
        check(Some("/s"), Some("/h"), Some("/s/switchboard/history"));
        check(None, Some("/h"), Some("/h/.local/state/switchboard/history"));
        check(Some("relative"), Some("/h"), Some("/h/.local/state/switchboard/history"));
        check(None, None, None);
    }
}
