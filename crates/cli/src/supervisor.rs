//! Notifies a supervisor such as systemd, if it asks for that (`NOTIFY_SOCKET`).

#[cfg(unix)]
use sd_notify::NotifyState;

/// The server serves, or has a new configuration.
pub(crate) fn ready() {
    #[cfg(unix)]
    tell(&[NotifyState::Ready]);
}

/// The server reads its configuration again.
pub(crate) fn reloading() {
    #[cfg(unix)]
    if let Ok(now) = NotifyState::monotonic_usec_now() {
        tell(&[NotifyState::Reloading, now]);
    }
}

/// The server stops.
pub(crate) fn stopping() {
    #[cfg(unix)]
    tell(&[NotifyState::Stopping]);
}

/// This process is the server from now on.
#[cfg(unix)]
pub(crate) fn replaced(process: u32) {
    tell(&[NotifyState::MainPid(process)]);
}

#[cfg(unix)]
fn tell(news: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(false, news) {
        tracing::warn!(%error, "cannot notify the supervisor");
    }
}
