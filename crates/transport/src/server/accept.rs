//! The loop that accepts at every door, and ends in good order.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::Semaphore;

use super::door::{Arrival, Door};
use super::guest::House;
use super::options::ServerOptions;
use super::stop::Stop;
use crate::budget::Budget;

/// How many refused connections are told so at once; others are closed without a word.
const REFUSALS: usize = 64;

/// How many connections are accepted after the signal to stop: as many as a listener usually keeps waiting.
const LATE_COMERS: usize = 1024;

/// How much longer than its calls a connection may take, to say that they were cancelled.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Accepts at these doors until the signal to stop, then waits for what is under way, that long at most.
///
/// # Cancel safety
///
/// Dropping the future ends every connection.
pub(crate) async fn run(
    doors: Vec<Door>,
    options: ServerOptions,
    stop: Arc<Stop>,
    budget: Arc<Budget>,
    drain_time: Duration,
) {
    let owner = Owner(House::new(options, stop, budget));
    let house = &owner.0;
    #[cfg(feature = "tls")]
    for tls in doors.iter().filter_map(Door::tls) {
        house.tasks().spawn(watch(tls.clone(), Arc::clone(house)));
    }
    accept(&doors, house).await;
    drop(doors);
    let tasks = house.tasks();
    if tokio::time::timeout(drain_time.saturating_add(LAST_WORDS), tasks.finish()).await.is_err() {
        tracing::warn!(
            connections = tasks.count(),
            "calls are cancelled: they took longer than limits.drain_time"
        );
    }
    tasks.cancel().await;
}

/// Looks after a certificate's files until the signal to stop.
#[cfg(feature = "tls")]
async fn watch(tls: crate::tls::ServerTls, house: Arc<House>) {
    let mut stopped = pin!(house.stop().wait());
    let mut watching = pin!(tls.watch());
    poll_fn(|cx| match watching.as_mut().poll(cx) {
        Poll::Ready(()) => Poll::Ready(()),
        Poll::Pending => stopped.as_mut().poll(cx),
    })
    .await;
}

/// Ends the connections when the server is dropped.
struct Owner(Arc<House>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.tasks().close();
    }
}

async fn accept(doors: &[Door], house: &Arc<House>) {
    let mut stopped = pin!(house.stop().wait());
    let refusals = Arc::new(Semaphore::new(REFUSALS));
    let (mut late, mut turn) = (0, 0);
    loop {
        let arrived = poll_fn(|cx| {
            house.tasks().reap(cx);
            // Connections that have arrived are taken, even if the signal came first; but not without end.
            if late < LATE_COMERS
                && let Poll::Ready(arrived) = poll_doors(doors, &mut turn, cx)
            {
                return Poll::Ready(Some(arrived));
            }
            stopped.as_mut().poll(cx).map(|()| None)
        });
        let arrived = arrived.await;
        if house.stop().is_given() {
            late += 1;
        }
        match arrived {
            None => return,
            Some(Ok(arrival)) => admit(arrival, house, &refusals),
            Some(Err(error)) => pause_after(&error).await,
        }
    }
}

/// Who comes in at any door; each has its turn to be asked first, so that no crowd at one keeps another shut.
fn poll_doors(doors: &[Door], turn: &mut usize, cx: &mut Context<'_>) -> Poll<io::Result<Arrival>> {
    for offset in 0..doors.len() {
        let index = (*turn + offset) % doors.len();
        if let Poll::Ready(arrived) = doors[index].poll_accept(cx) {
            *turn = index + 1;
            return Poll::Ready(arrived);
        }
    }
    Poll::Pending
}

fn admit(arrival: Arrival, house: &Arc<House>, refusals: &Arc<Semaphore>) {
    match house.receive(arrival.address.map(|address| address.ip())) {
        Some(guest) => guest.spawn(|guest| arrival.serve(guest)),
        None => {
            let Ok(permit) = Arc::clone(refusals).try_acquire_owned() else { return };
            let there = Arc::clone(house);
            house.tasks().spawn(async move {
                arrival.refuse(there.stop()).await;
                drop(permit);
            });
        }
    }
}

/// A connection that broke before it was accepted is nothing to wait for; when there are no more file descriptors, some
/// connection has to end first.
async fn pause_after(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        tracing::warn!(%error, "cannot accept connections");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
