//! Comments that keep silent event streams open.

use std::future::Future as _;
use std::pin::Pin;
use std::task::Context;
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use super::body::COMMENT;

/// Sends a comment when nothing else is sent for a while.
pub(super) struct Alive {
    time: Duration,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Alive {
    pub(super) fn new(time: Duration) -> Alive {
        Alive { time, sleep: None }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        let time = self.time;
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(time)));
        if out.is_empty() {
            if sleep.as_mut().poll(cx).is_pending() {
                return;
            }
            out.extend_from_slice(COMMENT);
        }
        sleep.as_mut().reset(Instant::now() + time);
        let _ = sleep.as_mut().poll(cx);
    }
}
