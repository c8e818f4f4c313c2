//! `case NAME WORKLOAD CALLS`: answers one workload so many times, for `instructions` to count what it takes.

use std::process::ExitCode;

use switchboard_benches::cases;
use switchboard_benches::gates::WORKLOADS;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, title, calls] = arguments.as_slice() else { return usage() };
    let workload = WORKLOADS.into_iter().find(|workload| workload.title() == *title);
    let (Some(workload), Ok(calls)) = (workload, calls.parse::<u32>()) else { return usage() };
    let Some(case) = cases::counted(workload).into_iter().find(|case| case.name() == name) else {
        return usage();
    };
    if let Err(error) = cases::check(&*case, workload) {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    case.run(&workload.body(), calls);
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: case NAME WORKLOAD CALLS");
    for workload in WORKLOADS {
        let names: Vec<_> = cases::counted(workload).iter().map(|case| case.name()).collect();
        eprintln!("workload {:?}: {}", workload.title(), names.join(", "));
    }
    ExitCode::FAILURE
}
