//! Logs, on stderr.

use std::io::IsTerminal;
use std::sync::Arc;

use switchboard::{Outcome, Service, service_fn};
use tracing_subscriber::EnvFilter;

/// Logs each call and notification that fails, by its method and code. What was sent with it stays unsaid.
pub(crate) fn failures(service: Arc<dyn Service>) -> impl Service {
    service_fn(move |call| {
        let (method, is_notification) = (call.method.clone(), call.is_notification());
        service.call(call).map(move |reply| {
            if let Outcome::Error(error) = &reply.outcome {
                let what = if is_notification { "a notification" } else { "a call" };
                // Quoted, so that a name cannot pass for another line of the log.
                tracing::info!(method = ?method.as_str(), code = error.code.0, "{what} failed");
            }
            reply
        })
    })
}

/// Starts logging: what `RUST_LOG` says, or warnings, and more for each `-v`.
pub(crate) fn start(verbose: u8) {
    let level = match verbose {
        // What these two warn of is the doing of whoever connects, and would fill the log at their will.
        0 => "warn,h2=error,hyper=error",
        1 => "info",
        2 => "debug",
        _ => "trace",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let is_coloured = std::io::stderr().is_terminal()
        && anstream::stderr().current_choice() != anstream::ColorChoice::Never;
    // A command that calls two far sides starts twice, and the first counts.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(is_coloured)
        // Where stderr is closed there is nobody to tell, and trying would panic.
        .log_internal_errors(false)
        .try_init();
}
