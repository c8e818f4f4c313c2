//! The tasks of a server: connections may start some, and the server waits for all of them.

use std::future::{Future, poll_fn};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::task::JoinSet;

/// Tasks that end with the server. None are left, and no more are started, once it is closed.
#[derive(Debug)]
pub(crate) struct Tasks(Mutex<Option<JoinSet<()>>>);

impl Default for Tasks {
    fn default() -> Tasks {
        Tasks(Mutex::new(Some(JoinSet::new())))
    }
}

impl Tasks {
    /// Runs a task. It is cancelled when the server has waited for it long enough, or is dropped.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(tasks) = &mut *self.lock() {
            tasks.spawn(task);
        }
    }

    /// Forgets those that are done; the poller is woken when there is another.
    pub(super) fn reap(&self, cx: &mut Context<'_>) {
        if let Some(tasks) = &mut *self.lock() {
            while let Poll::Ready(Some(_)) = tasks.poll_join_next(cx) {}
        }
    }

    /// Waits until one of them has ended.
    pub(super) async fn ended(&self) {
        let next = |cx: &mut Context<'_>| match self.lock().as_mut().map(|tasks| tasks.poll_join_next(cx)) {
            Some(Poll::Ready(Some(_))) => Poll::Ready(()),
            _ => Poll::Pending,
        };
        poll_fn(next).await;
    }

    /// Forgets those that are done, where nothing polls for them.
    #[cfg(feature = "ws")]
    pub(super) fn forget_finished(&self) {
        if let Some(tasks) = &mut *self.lock() {
            while tasks.try_join_next().is_some() {}
        }
    }

    /// Waits until all are done, those too that others start meanwhile.
    pub(super) async fn finish(&self) {
        let next = |cx: &mut Context<'_>| match &mut *self.lock() {
            Some(tasks) => tasks.poll_join_next(cx).map(|done| done.is_some()),
            None => Poll::Ready(false),
        };
        while poll_fn(next).await {}
    }

    /// Cancels those that are left, and waits until they are gone.
    pub(super) async fn cancel(&self) {
        if let Some(tasks) = &mut *self.lock() {
            tasks.abort_all();
        }
        self.finish().await;
    }

    /// Cancels those that are left, and takes no more. They hold on to what holds them, so nothing else ends them.
    pub(super) fn close(&self) {
        let tasks = self.lock().take();
        drop(tasks);
    }

    pub(super) fn count(&self) -> usize {
        self.lock().as_ref().map_or(0, JoinSet::len)
    }

    fn lock(&self) -> MutexGuard<'_, Option<JoinSet<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn a_task_that_a_task_started_is_waited_for() {
        let tasks = Arc::new(Tasks::default());
        let (tell, told) = oneshot::channel();
        let inner = Arc::clone(&tasks);
        tasks.spawn(async move {
            inner.spawn(async move {
                tokio::task::yield_now().await;
                tell.send(()).unwrap();
            });
        });
        tasks.finish().await;
        assert_eq!((told.await, tasks.count()), (Ok(()), 0));
    }

    #[tokio::test]
    async fn what_never_ends_is_cancelled() {
        let tasks = Tasks::default();
        let (tell, told) = oneshot::channel::<()>();
        tasks.spawn(async move {
            std::future::pending::<()>().await;
            drop(tell);
        });
        tasks.cancel().await;
        assert!(told.await.is_err());
    }
}
