//! `case NAME WORKLOAD CALLS`: answers one workload so many times, for `instructions` to count what it takes.

use std::process::ExitCode;

use switchboard_benches::cases;
use switchboard_benches::gates::WORKLOADS;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, title, calls] = arguments.as_slice() else { return usage() };
    let workload = WORKLOADS.into_iter().find(|workload| workload.title() == *title);
    let (Some(workload), Ok(calls)) = (workload, calls.parse::<u32>()) else { return usage() };
    let known = cases::counted(workload).into_iter().chain(cases::security()).chain(cases::observability());
    let Some(case) = known.filter(|case| case.takes(workload)).find(|case| case.name() == name) else {
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
        let known =
            cases::counted(workload).into_iter().chain(cases::security()).chain(cases::observability());
        let names: Vec<_> =
            known.filter(|case| case.takes(workload)).map(|case| format!("{:?}", case.name())).collect();
        eprintln!("workload {:?}: {}", workload.title(), names.join(", "));
    }
    ExitCode::FAILURE
}
