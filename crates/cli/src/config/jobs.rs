//! Durable work: where jobs are kept, and how many this server runs.

use std::time::Duration;

use switchboard::jobs::{Jobs, JobsOptions};

use super::faults::Fault;
use super::reader::Reader;
use super::shared_store::SharedPlace;
use crate::failure::Failure;

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
    let options = JobsOptions::default()
        .with_attempts(reader.whole("jobs.attempts").unwrap_or(5))
        .with_lost_after(reader.duration("jobs.lost_after").max(Duration::from_millis(100)))
        .with_run_time(reader.duration("jobs.time"))
        .with_keep(reader.duration("jobs.keep"))
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
