//! One limit, with the queue in front of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::ShedOptions;

/// One limit. The calls in front of it are in order of arrival.
pub(super) struct Gate {
    places: Arc<Semaphore>,
    queue: Mutex<Queue>,
    length: usize,
    queue_time: Duration,
    standing_time: Duration,
}

struct Queue {
    waiting: usize,
    /// When it was last empty. Up to date only while calls wait.
    last_empty: Instant,
}

/// Why a call is shed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shed {
    /// Too many calls wait.
    Full,
    /// It has waited for too long.
    Late,
}

impl Shed {
    pub(super) fn reason(self) -> &'static str {
        match self {
            Shed::Full => "too many calls are waiting",
            Shed::Late => "the call waited for too long",
        }
    }
}

impl Gate {
    pub(super) fn new(running: usize, options: &ShedOptions) -> Gate {
        Gate {
            places: Arc::new(Semaphore::new(running.min(Semaphore::MAX_PERMITS))),
            queue: Mutex::new(Queue { waiting: 0, last_empty: Instant::now() }),
            length: options.queue,
            queue_time: options.queue_time,
            standing_time: options.standing_time,
        }
    }

    /// A place, if there is one now.
    pub(super) fn try_enter(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// Waits for a place, for as long as the state of the queue allows, and not beyond the deadline.
    ///
    /// # Cancel safety
    ///
    /// A call that is dropped while it waits leaves the queue.
    pub(super) async fn enter(&self, deadline: Option<Instant>) -> Result<OwnedSemaphorePermit, Shed> {
        if let Some(place) = self.try_enter() {
            return Ok(place);
        }
        let now = Instant::now();
        let _waiting = Waiting::begin(self, now)?;
        let budget = match now.duration_since(self.lock().last_empty) > self.queue_time {
            true => self.standing_time,
            false => self.queue_time,
        };
        let until = deadline.map_or(now + budget, |deadline| deadline.min(now + budget));
        match timeout_at(until, Arc::clone(&self.places).acquire_owned()).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) | Err(_) => Err(Shed::Late),
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.lock().waiting
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call in the queue.
struct Waiting<'a>(&'a Gate);

impl<'a> Waiting<'a> {
    fn begin(gate: &'a Gate, now: Instant) -> Result<Waiting<'a>, Shed> {
        let mut queue = gate.lock();
        match queue.waiting {
            0 => queue.last_empty = now,
            waiting if waiting >= gate.length => return Err(Shed::Full),
            _ => {}
        }
        if gate.length == 0 {
            return Err(Shed::Full);
        }
        queue.waiting += 1;
        drop(queue);
        Ok(Waiting(gate))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.lock().waiting -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Joins the queue; how long the call waited, if it was shed.
    async fn join(gate: &Arc<Gate>) -> tokio::task::JoinHandle<Result<(), (Shed, Duration)>> {
        let gate = Arc::clone(gate);
        let waiting = tokio::spawn(async move {
            let start = Instant::now();
            gate.enter(None).await.map(drop).map_err(|shed| (shed, start.elapsed()))
        });
        tokio::task::yield_now().await;
        waiting
    }

    #[tokio::test(start_paused = true)]
    async fn a_standing_queue_allows_less_time_than_a_burst() {
        let options = ShedOptions::default().with_queue(2);
        let shed = |milliseconds| Err((Shed::Late, Duration::from_millis(milliseconds)));
        let gate = Arc::new(Gate::new(1, &options));
        let busy = gate.try_enter().unwrap();
        let one = join(&gate).await;
        tokio::time::advance(Duration::from_millis(400)).await;
        let two = join(&gate).await;
        assert_eq!(join(&gate).await.await.unwrap(), Err((Shed::Full, Duration::ZERO)));
        assert_eq!(one.await.unwrap(), shed(500));
        tokio::time::advance(Duration::from_millis(1)).await;
        // The queue was not empty for half a second.
        assert_eq!(join(&gate).await.await.unwrap(), shed(20));
        assert_eq!(two.await.unwrap(), shed(500));
        // Now it is, so calls may wait again.
        let three = join(&gate).await;
        tokio::time::advance(Duration::from_millis(300)).await;
        drop(busy);
        assert_eq!(three.await.unwrap(), Ok(()));
        assert_eq!(gate.waiting(), 0);
    }
}
