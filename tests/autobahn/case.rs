//! A case as `cases.txt` writes it.
//!
//! ```text
//! [3.2] what the case does
//! send text+rsv2 "Hello"       one frame: kind, flags, payload
//! ok text "Hello" | pong ""    the events that are right, in order; `-` is none
//! non-strict -                 events that are acceptable too
//! close peer 1002              who closes first, and which codes the peer may send
//! ```
//!
//! Kinds are `text`, `binary`, `continuation`, `ping`, `pong`, `close` and `opcode5`; flags are `+more` (not the last frame of
//! its message) and `+rsv2` (reserved bits). A payload is `"text"` or `hex 00ff`, repeated up to a length with `x 65536`;
//! `then` joins two. Behind it, `by 64` cuts the message into frames, and `in 64` the bytes into writes. `head text 21`
//! begins a frame of 21 bytes, whose payload `bytes` sends. `pause` lets a second pass, `watch` too, and notes the event
//! `quiet` if the peer did nothing; `flush` ends a write. `rounds 1000` repeats the case, waiting for each
//! answer. `clean` asks for a close frame.

use std::fmt;

/// One case.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) about: String,
    pub(crate) rounds: usize,
    pub(crate) steps: Vec<Step>,
    pub(crate) ok: Vec<Event>,
    pub(crate) non_strict: Option<Vec<Event>>,
    pub(crate) close: Closing,
}

/// What the fuzzer does.
#[derive(Debug)]
pub(crate) enum Step {
    Send { first: u8, payload: Vec<u8>, frames_of: Option<usize>, writes_of: Option<usize> },
    Head { first: u8, length: usize },
    Bytes(Vec<u8>),
    Flush,
    Pause,
    Watch,
}

/// What the fuzzer sees.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Event {
    Text(Vec<u8>),
    Binary(Vec<u8>),
    Pong(Vec<u8>),
    Quiet,
}

/// How the connection has to end.
#[derive(Debug, Default)]
pub(crate) struct Closing {
    pub(crate) is_by_peer: bool,
    pub(crate) codes: Vec<u16>,
    pub(crate) is_clean: bool,
}

impl Case {
    /// All cases, one at a time: some are long.
    pub(crate) fn all() -> impl Iterator<Item = Case> {
        let text = include_str!("cases.txt");
        let blocks = text.split("\n\n").filter(|block| block.trim_start().starts_with('['));
        blocks.map(|block| Case::read(block.trim()).unwrap_or_else(|| panic!("{block}")))
    }

    /// The first part of its number.
    pub(crate) fn section(&self) -> &str {
        self.id.split_once('.').map_or(&*self.id, |(section, _)| section)
    }

    fn read(block: &str) -> Option<Case> {
        let (title, lines) = block.split_once('\n')?;
        let (id, about) = title.strip_prefix('[')?.split_once("] ")?;
        let mut case = Case {
            id: id.to_owned(),
            about: about.to_owned(),
            rounds: 1,
            steps: Vec::new(),
            ok: Vec::new(),
            non_strict: None,
            close: Closing::default(),
        };
        for line in lines.lines() {
            case.add(line)?;
        }
        case.ok = vec![case.ok; case.rounds].concat();
        Some(case)
    }

    fn add(&mut self, line: &str) -> Option<()> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "rounds" => self.rounds = rest.parse().ok()?,
            "ok" => self.ok = events(rest)?,
            "non-strict" => self.non_strict = Some(events(rest)?),
            "close" => self.close = closing(rest)?,
            "send" => self.steps.push(send(rest)?),
            "head" => {
                let (kind, length) = rest.split_once(' ')?;
                self.steps.push(Step::Head { first: first(kind)?, length: length.parse().ok()? });
            }
            "bytes" => self.steps.push(Step::Bytes(payload(rest)?)),
            "flush" => self.steps.push(Step::Flush),
            "pause" => self.steps.push(Step::Pause),
            "watch" => self.steps.push(Step::Watch),
            _ => return None,
        }
        Some(())
    }
}

fn send(text: &str) -> Option<Step> {
    let (kind, rest) = text.split_once(' ')?;
    let (rest, writes_of) = option(rest, " in ")?;
    let (rest, frames_of) = option(rest, " by ")?;
    Some(Step::Send { first: first(kind)?, payload: payload(rest)?, frames_of, writes_of })
}

/// A number behind this word at the end, if the word is there. The payloads of the cases do not hold these words.
fn option<'a>(text: &'a str, word: &str) -> Option<(&'a str, Option<usize>)> {
    match text.rsplit_once(word) {
        Some((before, number)) => Some((before, Some(number.parse().ok()?))),
        None => Some((text, None)),
    }
}

/// The first byte of a frame.
fn first(kind: &str) -> Option<u8> {
    let mut words = kind.split('+');
    let opcode = match words.next()? {
        "continuation" => 0,
        "text" => 1,
        "binary" => 2,
        "close" => 8,
        "ping" => 9,
        "pong" => 10,
        other => other.strip_prefix("opcode")?.parse().ok()?,
    };
    words.try_fold(0x80 | opcode, |first, flag| match flag {
        "more" => Some(first & 0x7f),
        flag => Some(first | flag.strip_prefix("rsv")?.parse::<u8>().ok()? << 4),
    })
}

fn payload(text: &str) -> Option<Vec<u8>> {
    if let Some((before, behind)) = text.split_once(" then ") {
        return Some([payload(before)?, payload(behind)?].concat());
    }
    if let Some((unit, length)) = text.rsplit_once(" x ") {
        let (unit, length): (_, usize) = (payload(unit)?, length.parse().ok()?);
        let mut all = unit.repeat(length.div_ceil(unit.len()));
        all.truncate(length);
        return Some(all);
    }
    if let Some(digits) = text.strip_prefix("hex ") {
        let pairs = digits.as_bytes().chunks(2);
        return pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect();
    }
    Some(text.strip_prefix('"')?.strip_suffix('"')?.as_bytes().to_vec())
}

fn events(text: &str) -> Option<Vec<Event>> {
    if text == "-" {
        return Some(Vec::new());
    }
    text.split(" | ").map(event).collect()
}

fn event(text: &str) -> Option<Event> {
    match text.split_once(' ') {
        Some(("text", rest)) => Some(Event::Text(payload(rest)?)),
        Some(("binary", rest)) => Some(Event::Binary(payload(rest)?)),
        Some(("pong", rest)) => Some(Event::Pong(payload(rest)?)),
        None if text == "quiet" => Some(Event::Quiet),
        _ => None,
    }
}

fn closing(text: &str) -> Option<Closing> {
    let mut words = text.split(' ');
    let is_by_peer = match words.next()? {
        "peer" => true,
        "fuzzer" => false,
        _ => return None,
    };
    let codes = words.next()?.split(',').map(|code| code.parse().ok()).collect::<Option<_>>()?;
    Some(Closing { is_by_peer, codes, is_clean: words.next() == Some("clean") })
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, payload) = match self {
            Event::Text(payload) => ("text", payload),
            Event::Binary(payload) => ("binary", payload),
            Event::Pong(payload) => ("pong", payload),
            Event::Quiet => return f.write_str("quiet"),
        };
        let shown = &payload[..payload.len().min(40)];
        write!(f, "{kind} of {} bytes \"{}\"", payload.len(), shown.escape_ascii())
    }
}
