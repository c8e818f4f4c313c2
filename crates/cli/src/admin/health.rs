//! Health for supervisors, and metrics, at paths of the admin listener.

use std::time::{SystemTime, UNIX_EPOCH};

use http::{HeaderValue, StatusCode};
use switchboard::http::{EndpointOptions, TextRoute};
use switchboard::identity::Authentication;
use switchboard::metrics::Metrics;
use switchboard::{Admission, AdmitFuture, Arrival};

use super::{Admin, PAGE};

/// Paths that say nothing but yes or no, to everyone.
const OPEN: [&str; 2] = ["/healthz", "/readyz"];

/// Adds the paths.
pub(super) fn routes(admin: &Admin, options: EndpointOptions) -> EndpointOptions {
    const PLAIN: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
    let (ready, metrics) = (admin.clone(), admin.0.metrics.clone());
    let is_ready = move || {
        let (status, word) = match (ready.is_draining(), ready.0.config.is_ok()) {
            (true, _) => (StatusCode::SERVICE_UNAVAILABLE, "draining"),
            (false, true) => (StatusCode::OK, "ready"),
            (false, false) => (StatusCode::OK, "ready; the configuration was changed and has errors"),
        };
        (status, format!("{word}\n"))
    };
    let started = admin.0.started.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let numbers = move || {
        let mut text = metrics.render();
        text.push_str(&process(started));
        (StatusCode::OK, text)
    };
    let (alive, ready) =
        (TextRoute::new(PLAIN, || (StatusCode::OK, "ok\n".to_owned())), TextRoute::new(PLAIN, is_ready));
    let numbers = TextRoute::new(HeaderValue::from_static(Metrics::MEDIA_TYPE), numbers);
    options.route(OPEN[0], alive).route(OPEN[1], ready).route("/metrics", numbers)
}

/// When the process started, under the name that Prometheus has for it.
fn process(started: f64) -> String {
    let name = "process_start_time_seconds";
    format!(
        "# HELP {name} Start time of the process, in seconds since 1970.\n# TYPE {name} gauge\n{name} {started}\n"
    )
}

/// Admits everyone to the health of the server and to the live page, and to the rest whom the checks admit: a supervisor has no token,
/// and the page asks for one before it calls.
pub(super) struct Open(pub(super) Authentication);

impl Admission for Open {
    fn admit(&self, arrival: &Arrival<'_>) -> AdmitFuture {
        match arrival {
            Arrival::Request { cx, path, .. } if OPEN.contains(path) => AdmitFuture::admitted((*cx).clone()),
            Arrival::Request { cx, method: "GET", path: PAGE, is_upgrade: false, .. } => {
                AdmitFuture::admitted((*cx).clone())
            }
            arrival => self.0.admit(arrival),
        }
    }
}

/// A moment as programs write it: milliseconds since 1970.
pub(super) fn milliseconds(time: SystemTime) -> f64 {
    (time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64() * 1e6).round() / 1e3
}
