//! Transcripts: what clients send and get, as text that anyone can read.
//!
//! `--> VERSION` sends a request, `<--` is its answer, and `<~~` an event of a stream. A name such as `"$task"` stands for any value where it
//! is first received, and for the same one from then on.

use std::collections::HashMap;

use serde_json::Value;
use switchboard_a2a::PushOptions;

use crate::raw::Received;
use crate::serving::{Gate, Serving, agent, serve};

/// What names stand for.
#[derive(Default)]
struct Names(HashMap<String, Value>);

impl Names {
    /// The value with what its names stand for.
    fn fill(&self, value: &mut Value) {
        match value {
            Value::String(text) if text.starts_with('$') => {
                *value = self.0.get(text).unwrap_or_else(|| panic!("{text} was not received")).clone();
            }
            Value::Array(list) => list.iter_mut().for_each(|value| self.fill(value)),
            Value::Object(object) => object.values_mut().for_each(|value| self.fill(value)),
            _ => {}
        }
    }

    /// Whether a value is the expected one.
    fn fits(&mut self, expected: &Value, found: &Value) -> bool {
        match (expected, found) {
            (Value::String(name), found) if name.starts_with('$') => {
                self.0.entry(name.clone()).or_insert_with(|| found.clone()) == found
            }
            (Value::Array(expected), Value::Array(found)) => {
                expected.len() == found.len()
                    && expected.iter().zip(found).all(|(expected, found)| self.fits(expected, found))
            }
            (Value::Object(expected), Value::Object(found)) => {
                expected.len() == found.len()
                    && expected
                        .iter()
                        .all(|(name, value)| found.get(name).is_some_and(|found| self.fits(value, found)))
            }
            (expected, found) => expected == found,
        }
    }

    fn check(&mut self, line: &str, expected: &str, found: &Value) {
        let expected = parse(line, expected);
        assert!(self.fits(&expected, found), "{line}\n  expected {expected}\n  found    {found}");
    }
}

fn parse(line: &str, text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// What is left of the answer to the last request.
enum Answer {
    None,
    Whole(Value),
    Events(Box<Received>),
}

async fn send(serving: &Serving, version: &str, text: &Value) -> Answer {
    let received = serving.post_text(&[("a2a-version", version)], &text.to_string()).await;
    match received.is_events() {
        true => Answer::Events(Box::new(received)),
        false => Answer::Whole(received.json().await),
    }
}

async fn run(file: &str, transcript: &str) {
    let server = agent(&Gate::default()).with_push(PushOptions::default()).build();
    let (serving, mut names, mut answer) = (serve(&server).await, Names::default(), Answer::None);
    for (number, line) in transcript.lines().enumerate() {
        let place = format!("{file}:{}: {line}", number + 1);
        if let Some(rest) = line.strip_prefix("--> ") {
            answered(&place, answer).await;
            let (version, text) = rest.split_once(' ').unwrap();
            let mut text = parse(&place, text);
            names.fill(&mut text);
            answer = send(&serving, version, &text).await;
        } else if let Some(expected) = line.strip_prefix("<-- ") {
            let Answer::Whole(found) = std::mem::replace(&mut answer, Answer::None) else {
                panic!("{place}: the answer is a stream, or was received");
            };
            names.check(&place, expected, &found);
        } else if let Some(expected) = line.strip_prefix("<~~ ") {
            let Answer::Events(received) = &mut answer else { panic!("{place}: the answer is not a stream") };
            let event = received.event().await.unwrap_or_else(|| panic!("{place}: the stream has ended"));
            names.check(&place, expected, &event.json());
        } else {
            assert!(line.is_empty() || line.starts_with('#'), "{place}");
        }
    }
    answered(file, answer).await;
}

/// Nothing is left of an answer.
async fn answered(place: &str, answer: Answer) {
    match answer {
        Answer::None => {}
        Answer::Whole(found) => panic!("before {place}: {found}"),
        Answer::Events(mut received) => {
            assert!(received.event().await.is_none(), "before {place}: the stream goes on");
        }
    }
}

// A2A-B-01, A2A-B-02, A2A-D-01, A2A-D-03, A2A-D-05, A2A-D-06, A2A-M-04, A2A-S-03
#[tokio::test]
async fn version_1_0_reads_as_written() {
    run("v1.txt", include_str!("../transcripts/v1.txt")).await;
}

// A2A-B-02, A2A-D-02, A2A-D-04, A2A-S-03
#[tokio::test]
async fn version_0_3_reads_as_written() {
    run("v03.txt", include_str!("../transcripts/v03.txt")).await;
}

// A2A-E-01, A2A-S-06
#[tokio::test]
async fn errors_read_as_written() {
    run("errors.txt", include_str!("../transcripts/errors.txt")).await;
}

// A2A-M-02, A2A-M-03, A2A-M-05, A2A-M-06, A2A-B-04, A2A-B-06
#[tokio::test]
async fn what_the_compatibility_kit_requires_reads_as_written() {
    run("kit.txt", include_str!("../transcripts/kit.txt")).await;
}
