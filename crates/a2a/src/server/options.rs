//! The options of an agent.

use std::time::Duration;

/// How much an agent does at once, and how much it keeps.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AgentOptions {
    /// How many tasks are kept at most: 100,000 by default. A new one replaces the oldest that has ended.
    pub tasks: usize,
    /// How many tasks are worked on at once: 1,000 by default. Further messages are refused.
    pub working: usize,
    /// How long a task is kept after its last change: 7 days by default.
    pub keep: Duration,
    /// The largest task, in bytes: 384 KiB by default, and at most what a value of a store holds. The function gets an error when an
    /// artifact would exceed it.
    pub task_size: usize,
    /// How long the function may work on one message: an hour by default. Then the task fails.
    pub work_time: Duration,
    /// After how much time without a sign of life another process goes on with a task: 30 seconds by default.
    pub lease: Duration,
    /// How many events a stream may be behind before it gets the whole task instead: 256 by default.
    pub behind: usize,
    /// Whether the agent answers in streams: yes by default.
    pub streaming: bool,
}

impl Default for AgentOptions {
    fn default() -> AgentOptions {
        AgentOptions {
            tasks: 100_000,
            working: 1_000,
            keep: Duration::from_secs(7 * 24 * 3600),
            task_size: 384 << 10,
            work_time: Duration::from_secs(3600),
            lease: Duration::from_secs(30),
            behind: 256,
            streaming: true,
        }
    }
}

impl AgentOptions {
    /// Sets [`tasks`](AgentOptions::tasks).
    #[must_use]
    pub fn with_tasks(self, tasks: usize) -> AgentOptions {
        AgentOptions { tasks: tasks.max(1), ..self }
    }

    /// Sets [`working`](AgentOptions::working).
    #[must_use]
    pub fn with_working(self, working: usize) -> AgentOptions {
        AgentOptions { working, ..self }
    }

    /// Sets [`keep`](AgentOptions::keep).
    #[must_use]
    pub fn with_keep(self, keep: Duration) -> AgentOptions {
        AgentOptions { keep, ..self }
    }

    /// Sets [`task_size`](AgentOptions::task_size).
    #[must_use]
    pub fn with_task_size(self, task_size: usize) -> AgentOptions {
        AgentOptions { task_size, ..self }
    }

    /// Sets [`work_time`](AgentOptions::work_time).
    #[must_use]
    pub fn with_work_time(self, work_time: Duration) -> AgentOptions {
        AgentOptions { work_time, ..self }
    }

    /// Sets [`lease`](AgentOptions::lease).
    #[must_use]
    pub fn with_lease(self, lease: Duration) -> AgentOptions {
        AgentOptions { lease, ..self }
    }

    /// Sets [`behind`](AgentOptions::behind).
    #[must_use]
    pub fn with_behind(self, behind: usize) -> AgentOptions {
        AgentOptions { behind: behind.max(1), ..self }
    }

    /// Sets [`streaming`](AgentOptions::streaming).
    #[must_use]
    pub fn with_streaming(self, streaming: bool) -> AgentOptions {
        AgentOptions { streaming, ..self }
    }
}
