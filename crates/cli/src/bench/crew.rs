//! The threads of a run: each has its own runtime and worker, and they begin and end together.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use switchboard::{CallError, Tap};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use super::alarm::Alarm;
use super::line::Connect;
use super::plan::Plan;
use super::schedule::Schedule;
use super::tally::Tally;
use super::work::Work;
use super::worker::{Gauge, Worker};

/// The threads of a run. Dropping it stops them.
pub(crate) struct Crew {
    members: Vec<Member>,
    word: watch::Sender<Word>,
}

struct Member {
    gauge: Arc<Gauge>,
    ready: Option<oneshot::Receiver<Result<(), CallError>>>,
    finished: oneshot::Receiver<Finished>,
    thread: JoinHandle<()>,
}

/// What a worker measured, and why it ended early if it did.
type Finished = (Tally, Result<(), CallError>);

/// A command to the threads.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Word {
    Wait,
    Begin(Instant),
    Stop,
}

impl Crew {
    /// Starts the threads, which begin to connect.
    ///
    /// # Errors
    ///
    /// When a thread cannot be started.
    pub(crate) fn hire(
        plan: &Plan,
        work: &Work,
        connect: &Connect,
        tap: Option<&Tap>,
    ) -> std::io::Result<Crew> {
        let (word, hears) = watch::channel(Word::Wait);
        let mut members = Vec::with_capacity(plan.threads);
        for number in 0..plan.threads {
            let gauge = Arc::new(Gauge::default());
            let (ready, is_ready) = oneshot::channel();
            let (finish, finished) = oneshot::channel();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let shift = Shift {
                plan: plan.clone(),
                number,
                work: work.clone(),
                connect: Arc::clone(connect),
                tap: tap.cloned(),
                gauge: Arc::clone(&gauge),
                word: hears.clone(),
            };
            let thread = std::thread::Builder::new().name(format!("bench {number}")).spawn(move || {
                let measured = runtime.block_on(shift.work(ready));
                // Connections end before the run is said to be over.
                drop(runtime);
                let _ = finish.send(measured);
            })?;
            members.push(Member { gauge, ready: Some(is_ready), finished, thread });
        }
        Ok(Crew { members, word })
    }

    /// Waits until all are connected, and lets them begin.
    ///
    /// # Errors
    ///
    /// When one of them cannot connect.
    pub(crate) async fn begin(&mut self) -> Result<Instant, CallError> {
        for member in &mut self.members {
            if let Some(ready) = member.ready.take() {
                ready.await.unwrap_or_else(|_| Err(CallError::Cancelled))?;
            }
        }
        let start = Instant::now();
        self.word.send_replace(Word::Begin(start));
        Ok(start)
    }

    /// Waits until all have made their calls. Gives what they measured, and why one of them gave up if one did; then
    /// all stop.
    pub(crate) async fn finish(&mut self) -> (Tally, Result<(), CallError>) {
        let mut all = Tally::new();
        let mut outcome = Ok(());
        let mut finished: FuturesUnordered<_> =
            self.members.iter_mut().map(|member| &mut member.finished).collect();
        while let Some(end) = finished.next().await {
            // A thread that panicked has measured nothing.
            let Ok((tally, end)) = end else { continue };
            all.add(tally);
            if end.is_err() {
                self.word.send_replace(Word::Stop);
                outcome = outcome.and(end);
            }
        }
        (all, outcome)
    }

    /// A view of the crew that does not hold it.
    pub(crate) fn watch(&self) -> Watch {
        let gauges = self.members.iter().map(|member| Arc::clone(&member.gauge)).collect();
        Watch { gauges, word: self.word.clone() }
    }
}

/// Sees how far a crew is, and may stop it.
pub(crate) struct Watch {
    gauges: Vec<Arc<Gauge>>,
    word: watch::Sender<Word>,
}

impl Watch {
    /// Tells all to stop now. What they measured so far is theirs to [give](Crew::finish).
    pub(crate) fn stop(&self) {
        self.word.send_replace(Word::Stop);
    }

    /// How many calls are over, and how many of them gave no result.
    pub(crate) fn progress(&self) -> (u64, u64) {
        self.gauges.iter().fold((0, 0), |(done, errors), gauge| {
            (done + gauge.done.load(Ordering::Relaxed), errors + gauge.errors.load(Ordering::Relaxed))
        })
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.word.send_replace(Word::Stop);
        for member in self.members.drain(..) {
            let _ = member.thread.join();
        }
    }
}

/// One thread's part.
struct Shift {
    plan: Plan,
    number: usize,
    work: Work,
    connect: Connect,
    tap: Option<Tap>,
    gauge: Arc<Gauge>,
    word: watch::Receiver<Word>,
}

impl Shift {
    async fn work(mut self, ready: oneshot::Sender<Result<(), CallError>>) -> Finished {
        let mut stopped = self.word.clone();
        let stopped = async move {
            let _ = stopped.wait_for(|word| *word == Word::Stop).await;
        };
        tokio::pin!(stopped);
        let connecting =
            Worker::new(&self.plan, self.number, &self.work, self.connect, self.gauge, Alarm::fine());
        let connected = tokio::select! {
            connected = connecting => connected,
            () = &mut stopped => Err(CallError::Cancelled),
        };
        let mut worker = match connected {
            Ok(worker) => worker.with_tap(self.tap),
            Err(error) => {
                let _ = ready.send(Err(error));
                return (Tally::new(), Ok(()));
            }
        };
        let _ = ready.send(Ok(()));
        let start = match self.word.wait_for(|word| *word != Word::Wait).await.as_deref() {
            Ok(Word::Begin(start)) => *start,
            _ => return (worker.tally, Ok(())),
        };
        let outcome = tokio::select! {
            outcome = worker.run(Schedule::new(&self.plan, self.number, start)) => outcome,
            () = &mut stopped => Ok(()),
        };
        (worker.into_tally(), outcome)
    }
}
