//! Transcripts: what is said over a carrier, line by line.
//!
//! ```text
//! // A comment, which cites the rules that the lines below it show.
//! // carriers: one-answer duplex      only over these kinds; over all of them without this line
//! // behind a proxy: duplex           only if the proxy reaches the server over these kinds
//! // settings: versions=v2 depth=4    from here on, over a new connection; what is not named has its default
//! --> {"jsonrpc": "2.0", "method": "add", "params": [1, 2], "id": 1}
//! <-- {"jsonrpc": "2.0", "result": 3, "id": 1}
//! --> {"jsonrpc": "2.0", "method": "update"}
//! <-- !
//! ```
//!
//! `-->` sends one message. Each `<--` is one message that comes back, in this order, and `<-- !` says that none does.
//! Messages are compared as JSON: white space does not count, the spelling of numbers does, and `"<any>"` stands for any
//! value. The members of a response must stand in the order of the specification; that of other members does not count.

use switchboard_core::{Profile, Settings, Versions};

use crate::carrier::{Heard, Kind};
use crate::shape;
use crate::tree::Tree;

/// One file.
#[derive(Debug, Default)]
pub struct Transcript {
    carriers: Option<Vec<Kind>>,
    inner_carriers: Option<Vec<Kind>>,
    /// What is said, cut where the settings change.
    pub sections: Vec<Section>,
}

/// What is said over one connection.
#[derive(Debug, Default)]
pub struct Section {
    /// The settings of the side that answers.
    pub settings: Settings,
    /// What is said.
    pub steps: Vec<Step>,
}

/// One message and what it brings back.
#[derive(Debug)]
pub struct Step {
    /// Where it stands in the file.
    pub line: usize,
    /// The message.
    pub sent: String,
    /// What comes back.
    pub expected: Vec<Tree>,
    says_nothing: bool,
}

impl Transcript {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// Which line is no line of a transcript, and why.
    pub fn read(text: &str) -> Result<Transcript, String> {
        let mut transcript = Transcript { sections: vec![Section::default()], ..Transcript::default() };
        for (number, line) in text.lines().enumerate() {
            transcript.line(number + 1, line).map_err(|reason| format!("line {}: {reason}", number + 1))?;
        }
        let steps = || transcript.sections.iter().flat_map(|section| &section.steps);
        if let Some(step) = steps().find(|step| step.expected.is_empty() && !step.says_nothing) {
            return Err(format!("line {}: say what comes back, or `<-- !`", step.line));
        }
        Ok(transcript)
    }

    /// Whether it is for carriers of this kind, whose service is reached by a carrier of that kind.
    #[must_use]
    pub fn is_for(&self, kind: Kind, inner: Kind) -> bool {
        let has = |kinds: &Option<Vec<Kind>>, kind| kinds.as_ref().is_none_or(|kinds| kinds.contains(&kind));
        has(&self.carriers, kind) && has(&self.inner_carriers, inner)
    }

    fn line(&mut self, number: usize, line: &str) -> Result<(), String> {
        let section = self.sections.last_mut().expect("there is always a section");
        let read_kinds = |kinds: &str| kinds.split_whitespace().map(read_kind).collect::<Result<_, _>>();
        if let Some(carriers) = line.strip_prefix("// carriers:") {
            self.carriers = Some(read_kinds(carriers)?);
        } else if let Some(carriers) = line.strip_prefix("// behind a proxy:") {
            self.inner_carriers = Some(read_kinds(carriers)?);
        } else if let Some(settings) = line.strip_prefix("// settings:") {
            self.sections.push(Section { settings: read_settings(settings)?, steps: Vec::new() });
        } else if let Some(sent) = line.strip_prefix("--> ") {
            let (sent, expected) = (sent.to_owned(), Vec::new());
            section.steps.push(Step { line: number, sent, expected, says_nothing: false });
        } else if let Some(answer) = line.strip_prefix("<-- ") {
            let step = section.steps.last_mut().ok_or("nothing was sent")?;
            step.expect(answer)?;
        } else if !line.is_empty() && !line.starts_with("//") {
            return Err("begin a line with `// `, `--> ` or `<-- `".to_owned());
        }
        Ok(())
    }
}

impl Step {
    fn expect(&mut self, answer: &str) -> Result<(), String> {
        if self.says_nothing || (answer == "!" && !self.expected.is_empty()) {
            return Err("either something comes back or nothing".to_owned());
        }
        self.says_nothing = answer == "!";
        if !self.says_nothing {
            self.expected.push(Tree::read(answer).map_err(|error| error.to_string())?);
        }
        Ok(())
    }

    /// Says what is wrong with what came back.
    ///
    /// # Errors
    ///
    /// The first message that is not what the transcript says, is missing, or is one too many.
    pub fn check(&self, heard: &Heard) -> Result<(), String> {
        let Heard::Messages(messages) = heard else { return Err(format!("the carrier gave {heard:?}")) };
        for (place, message) in messages.iter().enumerate() {
            let found = Tree::of_message(message)?;
            shape::order(&found)?;
            match self.expected.get(place) {
                Some(expected) if found.matches(expected) => {}
                Some(expected) => return Err(format!("expected {expected}\n  found    {found}")),
                None => return Err(format!("expected nothing more\n  found    {found}")),
            }
        }
        match self.expected.get(messages.len()) {
            Some(missing) => Err(format!("expected {missing}\n  found    nothing")),
            None => Ok(()),
        }
    }
}

fn read_kind(name: &str) -> Result<Kind, String> {
    match name {
        "direct" => Ok(Kind::Direct),
        "one-answer" => Ok(Kind::OneAnswer),
        "events" => Ok(Kind::Events),
        "duplex" => Ok(Kind::Duplex),
        _ => Err(format!("carriers are direct, one-answer, events or duplex, not {name}")),
    }
}

fn read_settings(text: &str) -> Result<Settings, String> {
    let mut settings = Settings::default();
    for setting in text.split_whitespace() {
        let (name, value) = setting.split_once('=').ok_or_else(|| format!("{setting} is not name=value"))?;
        let Settings { limits, profile, .. } = &mut settings;
        let limit = match name {
            "frame" => &mut limits.frame,
            "batch" => &mut limits.batch,
            "depth" => &mut limits.depth,
            "members" => &mut limits.members,
            "number" => &mut limits.number,
            "name" => &mut limits.name,
            "id" => &mut limits.id,
            "reply" => &mut limits.reply,
            "batch_reply" => &mut limits.batch_reply,
            "batches" => {
                profile.batches = value == "yes";
                continue;
            }
            "null_params" => {
                profile.null_params = value == "yes";
                continue;
            }
            "profile" => {
                *profile = read_profile(value)?;
                continue;
            }
            "versions" => {
                profile.versions = read_versions(value)?;
                continue;
            }
            _ => return Err(format!("unknown setting {name}")),
        };
        *limit = value.parse().map_err(|_| format!("{value} is no number"))?;
    }
    Ok(settings)
}

fn read_profile(value: &str) -> Result<Profile, String> {
    match value {
        "lsp" => Ok(Profile::lsp()),
        "ethereum" => Ok(Profile::ethereum()),
        _ => Err(format!("profiles are lsp or ethereum, not {value}")),
    }
}

fn read_versions(value: &str) -> Result<Versions, String> {
    match value {
        "both" => Ok(Versions::Both),
        "v1" => Ok(Versions::V1),
        "v2" => Ok(Versions::V2),
        _ => Err(format!("versions are both, v1 or v2, not {value}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_in_a_transcript_is_told_with_its_line() {
        let check = |text: &str, expected: &str| {
            assert_eq!(Transcript::read(text).err().as_deref(), Some(expected), "{text}");
        };
        check("--> 1\n\n// end", "line 1: say what comes back, or `<-- !`");
        check("\n<-- 1", "line 2: nothing was sent");
        check("--> 1\n<-- !\n<-- 1", "line 3: either something comes back or nothing");
        check("--> 1\n<-- 1\n<-- !", "line 3: either something comes back or nothing");
        check("->> 1", "line 1: begin a line with `// `, `--> ` or `<-- `");
        check("// carriers: pigeon", "line 1: carriers are direct, one-answer, events or duplex, not pigeon");
        check("// settings: colour=red", "line 1: unknown setting colour");
        check("// settings: depth=deep", "line 1: deep is no number");
    }
}
