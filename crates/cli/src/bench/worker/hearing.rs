//! Received messages, and what they mean for the messages in flight.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use switchboard::{CallError, Direction, Wire};
use tokio::time::Instant;

use super::{Link, Worker};
use crate::bench::answer::{self, Answer, Message, Outcome};
use crate::bench::carrier::Event;
use crate::bench::flights::{Flight, Stream};
use crate::bench::line::Told;
use crate::bench::tally::{Kind, Tally};

/// What the server tells about a stream.
#[derive(Deserialize)]
struct Notice<'a> {
    #[serde(borrow)]
    method: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    params: Item<'a>,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow)]
    subscription: &'a RawValue,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error: Option<Failure>,
}

#[derive(Deserialize)]
struct Failure {
    code: i64,
    message: String,
}

impl Worker {
    /// Takes note of what a connection tells.
    pub(super) fn hear(&mut self, number: usize, told: Told, now: Instant) -> Result<(), CallError> {
        match told {
            Told::Event(Event::Message(message), of) => {
                if let Some(tap) = &self.tap {
                    tap.show(Direction::Received, Wire::Message(&message));
                }
                self.read(number, &message, of, now);
                Ok(())
            }
            Told::Event(Event::NoAnswer(what), of) => {
                self.spoil(number, of, &what, now);
                Ok(())
            }
            Told::Event(Event::Echo(_), _) => Ok(()),
            Told::Event(Event::End, _) => {
                self.lose(number, Kind::ConnectionLost, "the server closed the connection", now)
            }
            Told::Broken(what) => self.lose(number, Kind::ConnectionLost, &what, now),
            Told::Spoiled(what) => self.lose(number, Kind::BadAnswer, &what, now),
        }
    }

    fn read(&mut self, number: usize, message: &Bytes, of: Option<u32>, now: Instant) {
        if answer::is_array(message) {
            return self.read_batch(number, message, of, now);
        }
        match answer::read(message) {
            Ok(Message::Answer(answer)) => self.answered(number, answer, of, now),
            Ok(Message::Call(id)) => {
                let id = String::from_utf8_lossy(id);
                let text = format!(
                    r#"{{"jsonrpc":"2.0","error":{{"code":-32601,"message":"Method not found"}},"id":{id}}}"#
                );
                if let Link::Open(line) = &mut self.far[number].link {
                    line.send_text(text.into_bytes());
                    self.unsent.push(number);
                }
            }
            Ok(Message::Notice(text)) => self.noticed(number, text, now),
            Err(why) => {
                let what = self.described(number, why, message);
                self.spoil(number, of, &what, now);
            }
        }
    }

    /// One answer that stands by itself.
    fn answered(&mut self, number: usize, answer: Answer<'_>, of: Option<u32>, now: Instant) {
        let flights = &mut self.far[number].flights;
        let is_error = matches!(answer.outcome, Outcome::Error { .. });
        let found = answer.id.and_then(|id| flights.find(id)).map(|(place, _)| place);
        let place = match found {
            Some(place) => place,
            // An error without identifier is for what was sent first; anything else comes late, or for nobody.
            None if answer.id.is_none() && is_error => {
                let of = of.and_then(|id| flights.find(id)).map(|(place, _)| place);
                match of.or_else(|| flights.oldest()) {
                    Some(place) => place,
                    None => return,
                }
            }
            None if flights.count() == 0 || self.is_duplex(number) => return,
            None => return self.spoil(number, of, "the answer has another identifier", now),
        };
        if let Outcome::Stream(id) = answer.outcome {
            if let Some(flight) = self.far[number].flights.at(place) {
                flight.stream = Some(Stream { id: id.to_vec(), items: 0 });
            }
            return;
        }
        let is_batch = self.plan.batch > 1;
        self.land(number, place, now, |tally, flight| match answer.outcome {
            Outcome::Error { code, message } => {
                tally.reject(code, message, flight.due.calls);
                tally.refused_batches += u64::from(is_batch);
            }
            _ if is_batch => tally.fail(Kind::BadAnswer, "one answer to a batch", flight.due.calls),
            _ => tally.results += 1,
        });
    }

    fn is_duplex(&self, number: usize) -> bool {
        matches!(&self.far[number].link, Link::Open(line) if line.is_duplex())
    }

    /// The answers to a batch.
    fn read_batch(&mut self, number: usize, message: &Bytes, of: Option<u32>, now: Instant) {
        let flights = &self.far[number].flights;
        let mut place = None;
        let mut seen: Vec<bool> = Vec::new();
        let (mut results, mut errors) = (0, Vec::new());
        let read = answer::read_array(message, |answer| {
            let found = answer.id.and_then(|id| flights.find(id));
            match (found, answer.outcome) {
                (Some((own, call)), outcome) => {
                    if *place.get_or_insert(own) != own {
                        return Err("answers to two batches in one array");
                    }
                    if seen.len() <= call {
                        seen.resize(call + 1, false);
                    }
                    if std::mem::replace(&mut seen[call], true) {
                        return Err("two answers with one identifier");
                    }
                    match outcome {
                        Outcome::Error { code, message } => errors.push((code, message)),
                        _ => results += 1,
                    }
                    Ok(())
                }
                // A server may tell so in an array that it takes no such batch.
                (None, Outcome::Error { code, message }) => {
                    errors.push((code, message));
                    Ok(())
                }
                (None, _) => Err("an answer with another identifier"),
            }
        });
        if let Err(why) = read {
            let what = self.described(number, why, message);
            return self.spoil(number, of, &what, now);
        }
        let of = of.and_then(|id| flights.find(id)).map(|(place, _)| place);
        let Some(place) = place.or(of).or_else(|| flights.oldest()) else { return };
        self.land(number, place, now, |tally, flight| {
            let calls = flight.due.calls;
            if results == 0 && errors.len() == 1 && calls > 1 {
                let (code, message) = errors.remove(0);
                tally.refused_batches += 1;
                return tally.reject(code, message, calls);
            }
            let answers = results + errors.len() as u64;
            tally.results += results;
            for (code, message) in errors {
                tally.reject(code, message, 1);
            }
            if answers < calls {
                tally.fail(Kind::BadAnswer, "a batch with fewer answers than calls", calls - answers);
            }
        });
    }

    /// What the server sends by itself: items of streams, and their ends.
    fn noticed(&mut self, number: usize, text: &[u8], now: Instant) {
        let Ok(Notice { method, params }) = serde_json::from_slice::<Notice<'_>>(text) else { return };
        let flights = &mut self.far[number].flights;
        let Some(place) = flights.reading(params.subscription.get().as_bytes()) else { return };
        if method != "rpc.end" {
            if let Some(stream) = flights.at(place).and_then(|flight| flight.stream.as_mut()) {
                stream.items += u64::from(params.result.is_some());
            }
            return;
        }
        self.land(number, place, now, |tally, flight| {
            tally.items += flight.stream.as_ref().map_or(0, |stream| stream.items);
            match params.error {
                Some(Failure { code, message }) => tally.reject(code, message, 1),
                None => tally.results += 1,
            }
        });
    }

    /// An invalid answer. It counts for the oldest message, unless its message is known.
    fn spoil(&mut self, number: usize, of: Option<u32>, what: &str, now: Instant) {
        let flights = &self.far[number].flights;
        let of = of.and_then(|id| flights.find(id)).map(|(place, _)| place);
        if let Some(place) = of.or_else(|| flights.oldest()) {
            self.land(number, place, now, |tally, flight| {
                tally.fail(Kind::BadAnswer, what, flight.due.calls);
            });
        }
    }

    /// Ends a flight: its latency is noted, and `count` says how its calls ended.
    fn land(&mut self, number: usize, place: usize, now: Instant, count: impl FnOnce(&mut Tally, &Flight)) {
        let Some(flight) = self.far[number].flights.end(place) else { return };
        let due = flight.due;
        let tally = if due.is_measured { &mut self.tally } else { &mut self.warm_up };
        count(tally, &flight);
        if due.is_measured {
            self.tally.took(self.schedule.measured_from(), due.at, now, due.calls);
            self.gauge.errors.store(self.tally.errors, Ordering::Relaxed);
        }
        self.done += due.calls;
        self.was_answered = true;
        (self.far[number].failures, self.far[number].is_proven) = (0, true);
        self.open(number, 1, now);
    }

    /// Why a message is not an answer, with its beginning.
    fn described(&self, number: usize, why: &str, message: &[u8]) -> String {
        let said = match &self.far[number].link {
            Link::Open(line) => line.said(),
            Link::Dialling(_) => String::new(),
        };
        let start: String =
            String::from_utf8_lossy(&message[..message.len().min(400)]).chars().take(60).collect();
        let said = if said.is_empty() { said } else { format!("{said}, ") };
        format!("{said}{why}: {start}")
    }
}
