//! `case NAME WORKLOAD CALLS`: answers one workload so many times, for `instructions` to count what it takes.

use std::hint::black_box;
use std::process::ExitCode;

use switchboard_benches::cases;
use switchboard_benches::compare::in_process::WORKLOADS;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, title, calls] = arguments.as_slice() else { return usage() };
    let workload = WORKLOADS.into_iter().find(|workload| workload.title() == *title);
    let (Some(case), Some(workload), Ok(calls)) = (cases::named(name), workload, calls.parse::<u32>()) else {
        return usage();
    };
    if let Err(error) = cases::check(&*case, workload) {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    let body = workload.body();
    for _ in 0..calls {
        black_box(case.call(black_box(&body).clone()));
    }
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    let names: Vec<_> = cases::all().iter().map(|case| case.name()).collect();
    let titles = WORKLOADS.map(|workload| format!("{:?}", workload.title()));
    eprintln!(
        "usage: case NAME WORKLOAD CALLS; names: {}; workloads: {}",
        names.join(", "),
        titles.join(", ")
    );
    ExitCode::FAILURE
}
