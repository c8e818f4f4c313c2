//! Durable work: where jobs are kept, and how many this server runs.

use std::time::Duration;

use switchboard::jobs::{Jobs, JobsOptions};

use super::Config;
use super::faults::Fault;
use super::reader::Reader;
use super::shared_store::SharedPlace;
use crate::failure::Failure;

/// The shortest time for which records are kept.
const SHORTEST: Duration = Duration::from_secs(11 * 60);

/// What a server does with jobs.
#[derive(Clone, Debug)]
pub(crate) struct JobsConfig {
    place: SharedPlace,
    /// How many jobs run at once. With none, this server only accepts them.
    pub(crate) workers: usize,
    options: JobsOptions,
}

/// Reads the table `jobs`; none without a queue.
pub(crate) fn jobs(reader: &mut Reader<'_>, timeout: Duration) -> Option<JobsConfig> {
    const PATH: &str = "jobs.url";
    let url = reader.text(PATH)?;
    let credentials = reader.path("jobs.credentials");
    let (time, lost_after) = (reader.duration("jobs.time"), reader.duration("jobs.lost_after"));
    // A record must outlast its job, and the time in which its message counts as a duplicate.
    let keep = reader.duration("jobs.keep").max(time + lost_after * 2).max(SHORTEST);
    let options = JobsOptions::default()
        .with_attempts(reader.whole("jobs.attempts").unwrap_or(5))
        .with_lost_after(lost_after.max(Duration::from_millis(100)))
        .with_run_time(time)
        .with_keep(keep)
        // A caller that waits is answered before its call takes too long.
        .with_wait(timeout.mul_f64(0.8));
    let workers = reader.whole("jobs.workers").unwrap_or(0);
    let place = SharedPlace::parse(&url, credentials).and_then(|place| match place.is_named() {
        true => Ok(place),
        false => Err("name the service after the host, as in nats://127.0.0.1:4222/math".to_owned()),
    });
    match place {
        Ok(place) => Some(JobsConfig { place, workers, options }),
        Err(advice) => {
            reader.faults.push(Fault::new(reader.place(PATH), "invalid value for `jobs.url`", advice));
            None
        }
    }
}

/// Refuses jobs whose calls would be refused when they run: the signature is that of the submission.
pub(super) fn check(reader: &mut Reader<'_>, config: &Config) {
    if config.jobs.is_some() && config.signing.is_some() {
        let advice = "check signatures at a gateway in front of the server that has the jobs";
        let place = reader.place("jobs.url");
        reader.faults.push(Fault::new(place, "`jobs` and `signing` cannot be used together", advice));
    }
}

impl JobsConfig {
    /// Connects to the queue.
    pub(crate) async fn open(&self) -> Result<Jobs, Failure> {
        let connection = self.place.connect("the queue of jobs").await?;
        let opened = Jobs::open(&connection, self.place.name(), self.options.clone()).await;
        opened.map_err(|error| self.place.cannot_use("the queue of jobs", &error))
    }

    /// Where the queue is, for people.
    pub(crate) fn url(&self) -> String {
        self.place.to_string()
    }
}
