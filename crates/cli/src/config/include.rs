//! `include`: more files with keys, by name or by pattern.

use std::io;
use std::path::{Path, PathBuf};

use switchboard::access::Pattern;

use super::faults::Fault;
use super::key::Kind;
use super::keys;
use super::reader::text;
use super::source::Source;
use super::tree::{Node, Place, Table, Value};

/// The key of the files to include.
pub(crate) const KEY: &str = "include";

/// Keys whose entries are collected from all files. The others may be set once.
const COLLECTED: &[&str] = &["rate", "route", "access.rules", "access.tests", "auth.revoked"];

/// Reads the files that the value of `include` names, and adds what they set.
pub(crate) fn include(value: &Node, source: &mut Source, table: &mut Table, faults: &mut Vec<Fault>) {
    for item in value.each() {
        let folder = match &item.place {
            Place::File(span) => source.file(span).folder(),
            _ => Path::new(""),
        };
        let found = text(item).and_then(|pattern| matching(folder, &pattern));
        let paths = found.unwrap_or_else(|advice| {
            faults.push(Fault::new(item.place.clone(), "invalid value for `include`", advice));
            Vec::new()
        });
        for path in paths {
            let shown = path.display().to_string();
            match source.include(path) {
                Ok(Some(file)) => merge(table, file.parse(faults), "", faults),
                Ok(None) => {}
                Err(error) => {
                    faults.push(Fault::new(item.place.clone(), format!("cannot read {shown}"), why(&error)));
                }
            }
        }
    }
}

/// The files with a name that matches the pattern, in the order of their names. A relative pattern starts at this folder.
fn matching(base: &Path, pattern: &str) -> Result<Vec<PathBuf>, String> {
    let wrong =
        || "write a file, or a pattern with `*` in the name of the file, such as conf.d/*.toml".to_owned();
    let (folder, name) = pattern.rsplit_once('/').unwrap_or(("", pattern));
    if folder.contains('*') || name.is_empty() {
        return Err(wrong());
    }
    if !name.contains('*') {
        return Ok(vec![base.join(pattern)]);
    }
    let names = name.parse::<Pattern>().map_err(|_| wrong())?;
    let folder = base.join(&pattern[..pattern.len() - name.len()]);
    let is_here = folder.as_os_str().is_empty();
    let entries = match std::fs::read_dir(if is_here { Path::new(".") } else { &folder }) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("cannot read the folder {}: {error}", folder.display())),
    };
    let is_hidden = |found: &str| found.starts_with('.') && !name.starts_with('.');
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .filter(|name| names.matches(&*name.to_string_lossy()) && !is_hidden(&name.to_string_lossy()))
        .map(|name| folder.join(name))
        .filter(|path| !path.is_dir())
        .collect();
    found.sort();
    Ok(found)
}

fn why(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "the file does not exist".to_owned(),
        io::ErrorKind::IsADirectory => "this is a folder; write FOLDER/*.toml for the files in it".to_owned(),
        _ => error.to_string(),
    }
}

/// Adds the entries of an included file to those that are there.
pub(super) fn merge(into: &mut Table, from: Table, prefix: &str, faults: &mut Vec<Fault>) {
    for entry in from.0 {
        let path = format!("{prefix}{}", entry.name);
        if path == KEY {
            let advice = "include more files in the main file";
            faults.push(Fault::new(entry.name_place, "an included file cannot include others", advice));
            continue;
        }
        let Some(there) = into.0.iter_mut().find(|other| other.name == entry.name) else {
            into.0.push(entry);
            continue;
        };
        match (&mut there.node.value, entry.node.value) {
            (_, value) if COLLECTED.contains(&&*path) => {
                let more = Node { value, place: entry.node.place };
                let all = [there.node.each(), more.each()].concat();
                there.node.value = Value::List(all);
            }
            (Value::Table(there), Value::Table(table)) if is_group(&path) => {
                merge(there, table, &format!("{path}."), faults);
            }
            _ => {
                let fault =
                    Fault::new(entry.name_place, format!("`{path}` is set twice"), "remove one of them");
                faults.push(fault.with_other(there.name_place.clone(), "it is also set here"));
            }
        }
    }
}

/// Whether the entries of this table are set one by one.
fn is_group(path: &str) -> bool {
    matches!(keys::kind_of(path), None | Some(Kind::Named(_) | Kind::Form(_)))
}
