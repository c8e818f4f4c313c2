//! Reads recordings. Anyone can have written one, so nothing in it is taken for granted.

use std::path::Path;

use serde::Deserialize;

use super::{Entry, FORMAT, Header, VERSION};
use crate::failure::Failure;
use crate::{text, units};

/// One run of `tap`: its calls in the order in which they began, and how many are missing.
#[derive(Debug, Default)]
pub(crate) struct Run {
    pub(crate) entries: Vec<Entry>,
    pub(crate) lost: u64,
}

/// Reads a recording from a file, or from stdin if the place is `-`.
pub(crate) fn read(place: &Path) -> Result<Vec<Run>, Failure> {
    let text = text::read(place)?;
    parse(&text).map_err(|fault| {
        let advice = match fault.line {
            1 => "name a file that `switchboard tap --record` wrote",
            _ => "delete the line, or record again with `switchboard tap --record`",
        };
        Failure::usage(format!("{}, line {}: {}", text::name(place), fault.line, fault.what)).advise(advice)
    })
}

/// What is wrong with a recording.
#[derive(Debug, PartialEq)]
struct Fault {
    /// In this line, counted from 1.
    line: usize,
    what: String,
}

fn parse(text: &str) -> Result<Vec<Run>, Fault> {
    let mut runs = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let fault = |what: String| Fault { line: number + 1, what };
        if line.trim().is_empty() {
            continue;
        }
        let Some(run) = runs.last_mut() else {
            header(line).map_err(fault)?;
            runs.push(Run::default());
            continue;
        };
        match line_of(line).map_err(fault)? {
            Line::Header => runs.push(Run::default()),
            Line::Lost(count) => run.lost = run.lost.saturating_add(count),
            Line::Entry(entry) => run.entries.push(*entry),
        }
    }
    if runs.is_empty() {
        return Err(Fault { line: 1, what: "the file is empty".to_owned() });
    }
    for run in &mut runs {
        run.entries.sort_by_key(|entry| entry.id);
    }
    Ok(runs)
}

/// What a line after the first one is.
enum Line {
    Header,
    Lost(u64),
    Entry(Box<Entry>),
}

/// The members that tell lines apart.
#[derive(Deserialize)]
struct Kind {
    #[serde(default)]
    format: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    lost: Option<u64>,
}

fn line_of(line: &str) -> Result<Line, String> {
    let kind: Kind = serde_json::from_str(line).map_err(|error| described(&error))?;
    match kind {
        Kind { format: Some(_), .. } => header(line).map(|_| Line::Header),
        Kind { lost: Some(count), .. } => Ok(Line::Lost(count)),
        _ => entry(line).map(|entry| Line::Entry(Box::new(entry))),
    }
}

/// Reads the line that a recording begins with.
pub(super) fn header(line: &str) -> Result<Header, String> {
    let not = || format!("this is not a recording: it does not begin with {{\"format\":\"{FORMAT}\"}}");
    let header: Header = serde_json::from_str(line).map_err(|_| not())?;
    match header.version {
        _ if header.format != FORMAT => Err(not()),
        VERSION => Ok(header),
        version => Err(format!(
            "the recording has version {version}; this program reads version {VERSION}, newer ones may read it"
        )),
    }
}

fn entry(line: &str) -> Result<Entry, String> {
    let entry: Entry = serde_json::from_str(line).map_err(|error| described(&error))?;
    let longest = units::LONGEST.as_secs_f64() * 1000.0;
    for (name, time) in [("at", entry.at), ("ms", entry.ms)] {
        if !(0.0..=longest).contains(&time) {
            return Err(format!("`{name}` is {time}, which is not a time in milliseconds"));
        }
    }
    Ok(entry)
}

/// What the parser found wrong, without its own count of lines.
fn described(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().map_or_else(|| text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::recording::{Part, RecordedError, Side};
    use switchboard::Json;

    const HEADER: &str = r#"{"format":"switchboard-recording","version":1,"time":"now"}"#;
    const CALL: &str = r#"{"id":1,"at":0.5,"session":1,"to":"server","method":"m","result":null,"ms":1}"#;

    #[test]
    fn calls_are_read_in_the_order_in_which_they_began() {
        let second = CALL.replace("\"id\":1", "\"id\":2");
        let text = format!("{HEADER}\n{second}\n\n{CALL}\n{{\"lost\":3}}\n{HEADER}\r\n{CALL}");
        let runs = parse(&text).unwrap();
        let ids = |run: &Run| run.entries.iter().map(|entry| entry.id).collect::<Vec<_>>();
        assert_eq!((ids(&runs[0]), runs[0].lost, ids(&runs[1])), (vec![1, 2], 3, vec![1]));
        assert_eq!(runs[0].entries[0].result.as_ref().unwrap().as_str(), "null");
    }

    #[test]
    fn the_line_that_cannot_be_read_is_named() {
        let check = |lines: &[&str], line: usize, what: &str| {
            let fault = parse(&lines.join("\n")).unwrap_err();
            assert!(fault.line == line && fault.what.contains(what), "{fault:?}");
        };
        check(&[], 1, "empty");
        check(&["hello"], 1, "not a recording");
        check(&[CALL], 1, "not a recording");
        check(&[r#"{"format":"other","version":1}"#], 1, "not a recording");
        check(&[&HEADER.replace(":1,", ":2,")], 1, "has version 2");
        check(&[HEADER, CALL, "{"], 3, "EOF");
        check(&[HEADER, "[]"], 2, "invalid length 0");
        check(&[HEADER, "{}"], 2, "missing field `id`");
        check(&[HEADER, CALL, &HEADER.replace(":1,", ":9,")], 3, "has version 9");
        check(&[HEADER, &CALL.replace("\"m\"", "5")], 2, "expected a string");
        check(&[HEADER, &CALL.replace("server", "moon")], 2, "unknown variant `moon`");
        check(&[HEADER, &CALL.replace("0.5", "-1")], 2, "`at` is -1");
        check(&[HEADER, &CALL.replace("0.5", "1e300")], 2, "`at` is 1");
        check(&[HEADER, &CALL.replace("\"id\":1", "\"id\":-1")], 2, "invalid value");
        check(&[HEADER, &format!("{CALL}{CALL}")], 2, "trailing characters");
        check(&[HEADER, r#"{"lost":"x"}"#], 2, "invalid type");
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(lines in prop::collection::vec(".{0,40}", 0..5), at in 0..CALL.len()) {
            let cut = CALL.get(..at).unwrap_or_default();
            let _ = parse(&lines.join("\n"));
            let _ = parse(&format!("{HEADER}\n{cut}\n{}", lines.join("\n")));
        }

        #[test]
        fn what_is_written_is_read(
            id in any::<u64>(), at in 0.0..1e9_f64, is_null: bool, name in ".*", code in any::<i64>(), batch: Option<u64>,
        ) {
            let json = if is_null { Json::NULL } else { Json::encode(&name).unwrap() };
            let error = RecordedError { code, message: name.clone(), data: Some(json.clone()) };
            let entry = Entry {
                id, at, session: 1, to: Side::Client, method: name, params: None, notification: is_null, batch,
                entry: None, result: Some(json.clone()), items: Some(vec![json]), error: Some(error),
                cancelled: false, omitted: vec![Part::Params], ms: at,
            };
            let line = serde_json::to_string(&entry).unwrap();
            let runs = parse(&format!("{HEADER}\n{line}\n")).unwrap();
            prop_assert_eq!(serde_json::to_string(&runs[0].entries[0]).unwrap(), line);
        }
    }
}
