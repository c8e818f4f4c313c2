//! A worker: takes jobs from the queue while it has room, and gives back what it cannot finish.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use switchboard_core::observer::{Ended, Observer, SharedObserver};
use switchboard_core::{Engine, Origin, Profile, Session};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};

use super::Jobs;
use super::queue::{Delivery, Pull, Pulled};
use super::run::{HowEnded, Run};

/// How long a worker waits after the queue failed.
const PAUSE: Duration = Duration::from_millis(500);

/// The longest result, in bytes: it has to fit into a record.
const LONGEST: usize = 384 * 1024;

/// Runs jobs.
pub(super) struct Worker {
    jobs: Jobs,
    engine: Engine,
    session: Session,
    places: usize,
    running: JoinSet<()>,
    /// Whether jobs that run are to be given back.
    ending: watch::Sender<bool>,
}

impl Worker {
    pub(super) fn new(jobs: Jobs, engine: &Engine, places: usize) -> Worker {
        let settings = (**engine.settings()).clone();
        let observers: Vec<SharedObserver> = settings.observer.iter().cloned().chain([Ends.into()]).collect();
        let limits = settings.limits.clone();
        let reply = limits.reply.min(LONGEST);
        let limits = limits.with_call_time(jobs.0.options.run_time).with_reply(reply);
        let settings = settings
            .with_profile(Profile::default())
            .with_limits(limits)
            .with_observer(Some(observers.into()))
            .with_tap(None);
        let engine = Engine::new(Arc::clone(engine.service()), settings);
        let session = Session::shared(Origin::new("job"));
        Worker {
            jobs,
            engine,
            session,
            places: places.max(1),
            running: JoinSet::new(),
            ending: watch::Sender::new(false),
        }
    }

    pub(super) async fn run(mut self, stopping: impl Future<Output = ()> + Send, drain_time: Duration) {
        let mut stopping = pin!(stopping);
        loop {
            // Those that are done do not count.
            while self.running.try_join_next().is_some() {}
            if self.running.len() >= self.places {
                tokio::select! {
                    biased;
                    () = &mut stopping => break,
                    _ = self.running.join_next() => continue,
                }
            }
            let free = self.places - self.running.len();
            let jobs = self.jobs.clone();
            let pulled = tokio::select! {
                biased;
                () = &mut stopping => break,
                pulled = jobs.0.queue.pull(free) => pulled,
            };
            let is_healthy = match pulled {
                Ok(mut pull) => match self.take(&mut pull, stopping.as_mut()).await {
                    Taken::All => true,
                    Taken::Failed => false,
                    Taken::Stopped => return self.drain(Some(pull), drain_time).await,
                },
                Err(error) => {
                    tracing::warn!(%error, "cannot ask for jobs");
                    false
                }
            };
            if !is_healthy {
                self.jobs.0.queue.pull_failed();
                tokio::select! {
                    () = &mut stopping => break,
                    () = sleep(PAUSE) => {}
                }
            }
        }
        self.drain(None, drain_time).await;
    }

    /// Begins the jobs that arrive.
    async fn take(
        &mut self,
        pull: &mut Pull,
        mut stopping: std::pin::Pin<&mut impl Future<Output = ()>>,
    ) -> Taken {
        loop {
            tokio::select! {
                biased;
                () = &mut stopping => return Taken::Stopped,
                pulled = pull.next() => match pulled {
                    Pulled::Job(delivery) => self.begin(delivery),
                    Pulled::Over => return Taken::All,
                    Pulled::Failed => return Taken::Failed,
                },
                Some(_) = self.running.join_next() => {}
            }
        }
    }

    fn begin(&mut self, delivery: Delivery) {
        let run = Run::new(self.jobs.clone(), self.engine.clone(), self.session.clone(), delivery);
        let ending = self.ending.subscribe();
        self.running.spawn(run.run(ending));
    }

    /// Finishes the jobs that run, and gives those back that take too long. Jobs that still arrive are given back at once.
    async fn drain(mut self, pull: Option<Pull>, drain_time: Duration) {
        let last = Instant::now() + drain_time;
        let returned = async {
            let Some(mut pull) = pull else { return };
            while let Pulled::Job(delivery) = pull.next().await {
                delivery.give_back(Duration::ZERO).await;
            }
        };
        let done = async { while self.running.join_next().await.is_some() {} };
        let done = async { tokio::join!(returned, done) };
        if timeout_at(last, done).await.is_err() {
            self.ending.send_replace(true);
            while self.running.join_next().await.is_some() {}
        }
        // What was said last is written before the connection ends.
        self.jobs.0.queue.flush().await;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    /// All that the server had.
    All,
    /// The server did not answer as it should.
    Failed,
    /// The worker is to stop.
    Stopped,
}

/// Notes how the calls of jobs end.
struct Ends;

impl Observer for Ends {
    fn ended(&self, call: &Ended<'_>) {
        if let Some(how) = call.cx.get::<Arc<HowEnded>>() {
            how.note(call.end);
        }
    }
}
