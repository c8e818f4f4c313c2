//! `compare [TOPIC] [OPTIONS]`: measures all subjects in interleaved rounds and prints ratios and goals.

use std::process::ExitCode;

use switchboard_benches::compare;
use switchboard_benches::options::Options;

/// Above this many runnable tasks a minute ago, others use the machine too.
const QUIET: f64 = 0.5;

fn main() -> ExitCode {
    let outcome = Options::parse(std::env::args().skip(1)).and_then(|options| {
        warn_if_busy();
        let findings = compare::run(&options).map_err(|error| error.to_string())?;
        findings.print(options.is_json);
        Ok(options.is_gate && findings.is_missed())
    });
    match outcome {
        Ok(false) => ExitCode::SUCCESS,
        Ok(true) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn warn_if_busy() {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(0.0);
    if load > QUIET {
        eprintln!("the machine is busy (load {load}): trust ratios over figures, and mind the spread");
    }
}
