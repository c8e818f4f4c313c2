//! Which methods become tools, and how: options of the command line, and the same from a file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;
use switchboard::access::Pattern;
use switchboard::mcp::adapt::{Remote, Update, Updates};

use crate::failure::Failure;
use crate::{suggest, text};

/// The options of the command line.
#[derive(Debug, Args)]
pub(super) struct AdaptOptions {
    /// OpenRPC document of the server, for servers without `rpc.discover`.
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    document: Option<PathBuf>,
    /// Offer only methods with a matching name, such as 'math/*'. Can be repeated.
    #[arg(long, value_name = "PATTERN", help_heading = HEADING)]
    only: Vec<Pattern>,
    /// Leave out methods with a matching name. Can be repeated.
    #[arg(long, value_name = "PATTERN", help_heading = HEADING)]
    without: Vec<Pattern>,
    /// Give the tool of a method another name. Can be repeated.
    #[arg(long, value_name = "METHOD=NAME", value_parser = pair, help_heading = HEADING)]
    rename: Vec<(String, String)>,
    /// Give the tool of a method another description. Can be repeated.
    #[arg(long, value_name = "METHOD=TEXT", value_parser = pair, help_heading = HEADING)]
    describe: Vec<(String, String)>,
    /// Make a method a resource: variables of the URI are its params. Can be repeated.
    #[arg(long, value_name = "METHOD=URI", value_parser = pair, help_heading = HEADING)]
    resource: Vec<(String, String)>,
    /// Say what a notification of the server means: `tools` reads its description again; `resource:URI` updates a resource, whose
    /// variables are params of the notification. Other notifications are dropped. Can be repeated.
    #[arg(long, value_name = "NOTIFICATION=TARGET", value_parser = update, help_heading = HEADING)]
    on: Vec<(String, Update)>,
    /// Pass params by position, even if the description allows names.
    #[arg(long, help_heading = HEADING)]
    by_position: bool,
    /// Read these options from a TOML file too.
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    file: Option<PathBuf>,
}

const HEADING: &str = "Tools";

/// The options of a file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct AdaptFile {
    document: Option<PathBuf>,
    only: Vec<String>,
    without: Vec<String>,
    rename: BTreeMap<String, String>,
    describe: BTreeMap<String, String>,
    resource: BTreeMap<String, String>,
    on: BTreeMap<String, String>,
    by_position: bool,
}

/// The options of both.
#[derive(Debug)]
pub(super) struct Adapt {
    pub(super) document: Option<PathBuf>,
    only: Vec<Pattern>,
    without: Vec<Pattern>,
    rename: BTreeMap<String, String>,
    describe: BTreeMap<String, String>,
    resource: BTreeMap<String, String>,
    on: BTreeMap<String, Update>,
    by_position: bool,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((method, value)) if !method.is_empty() && !value.is_empty() => {
            Ok((method.to_owned(), value.to_owned()))
        }
        _ => Err("write it as NAME=VALUE".to_owned()),
    }
}

fn update(text: &str) -> Result<(String, Update), String> {
    let (notification, update) = pair(text)?;
    Ok((
        notification,
        update.parse().map_err(|error: switchboard::mcp::adapt::UnknownUpdate| error.to_string())?,
    ))
}

impl AdaptOptions {
    /// Reads the file, and adds the options of the command line.
    pub(super) fn read(&self) -> Result<Adapt, Failure> {
        let file = match &self.file {
            Some(path) => AdaptFile::read(path)?,
            None => AdaptFile::default(),
        };
        let wrong = |error: &dyn std::fmt::Display| self.wrong(error);
        let patterns = |texts: &[String], more: &[Pattern]| -> Result<Vec<Pattern>, Failure> {
            let parsed = texts.iter().map(|text| text.parse::<Pattern>().map_err(|error| wrong(&error)));
            parsed.chain(more.iter().cloned().map(Ok)).collect()
        };
        let mut on = BTreeMap::new();
        for (notification, update) in file.on {
            on.insert(notification, update.parse::<Update>().map_err(|error| wrong(&error))?);
        }
        on.extend(self.on.iter().cloned());
        let all = |mut pairs: BTreeMap<String, String>, more: &[(String, String)]| {
            pairs.extend(more.iter().cloned());
            pairs
        };
        Ok(Adapt {
            document: self.document.clone().or(file.document),
            only: patterns(&file.only, &self.only)?,
            without: patterns(&file.without, &self.without)?,
            rename: all(file.rename, &self.rename),
            describe: all(file.describe, &self.describe),
            resource: all(file.resource, &self.resource),
            on,
            by_position: self.by_position || file.by_position,
        })
    }

    fn wrong(&self, error: &dyn std::fmt::Display) -> Failure {
        let name = self.file.as_deref().map(text::name).unwrap_or_default();
        Failure::usage(format!("{name}: {error}"))
    }
}

impl AdaptFile {
    fn read(path: &PathBuf) -> Result<AdaptFile, Failure> {
        let text = text::read(path)?;
        toml::from_str(&text).map_err(|error| Failure::usage(format!("{}: {error}", text::name(path))))
    }
}

impl Adapt {
    /// The service for the notifications of the server.
    pub(super) fn updates(&self) -> Updates {
        self.on.iter().fold(Updates::default(), |updates, (notification, update)| {
            updates.on(notification.as_str(), update.clone())
        })
    }

    /// Whether notifications mean something.
    pub(super) fn has_updates(&self) -> bool {
        !self.on.is_empty()
    }

    /// The server as these options want it.
    pub(super) fn apply(&self, mut remote: Remote) -> Result<Remote, Failure> {
        let known = remote.methods();
        for method in self.rename.keys().chain(self.describe.keys()).chain(self.resource.keys()) {
            if !known.contains(method) {
                let failure = Failure::usage(format!("the server has no method {method:?}"));
                let names = known.iter().map(String::as_str);
                let advice = || "list its methods with `switchboard discover URL`".to_owned();
                return Err(failure.advise(suggest::did_you_mean(method, names).unwrap_or_else(advice)));
            }
        }
        for name in self.rename.values() {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            if !name.chars().all(is_plain) || name.len() > 64 {
                return Err(Failure::usage(format!("{name:?} cannot be the name of a tool"))
                    .advise("use up to 64 letters, digits, `_` and `-`"));
            }
        }
        for pattern in &self.only {
            remote = remote.keep(pattern.clone());
        }
        for pattern in &self.without {
            remote = remote.without(pattern.clone());
        }
        for (method, name) in &self.rename {
            remote = remote.rename(method, name);
        }
        for (method, text) in &self.describe {
            remote = remote.describe(method, text);
        }
        for (method, uri) in &self.resource {
            remote = remote.resource(method, uri);
        }
        if remote.methods().is_empty() {
            return Err(Failure::usage("no method of the server is left after `--only` and `--without`")
                .advise("list its methods with `switchboard discover URL`"));
        }
        Ok(if self.by_position { remote.by_position() } else { remote })
    }
}
