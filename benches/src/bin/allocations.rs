//! `allocations`: prints the heap allocations of one call, for every case and workload, as JSON.
//!
//! Only this binary names the counting allocator, so the others keep the default one.

use std::io;

use switchboard_benches::cases;
use switchboard_benches::gates::WORKLOADS;

/// How many calls to take the mean of.
const CALLS: u32 = 1000;

fn main() -> io::Result<()> {
    let mut counts = Vec::new();
    for workload in WORKLOADS {
        for case in cases::counted(workload) {
            cases::check(&*case, workload)?;
            let body = workload.body();
            // The first call gives `body` the header that makes its further clones free.
            case.run(&body, 1);
            let counted = allocation_counter::measure(|| case.run(&body, CALLS));
            counts.push((case.name(), workload.title(), counted.count_total as f64 / f64::from(CALLS)));
        }
    }
    println!("{}", serde_json::json!(counts));
    Ok(())
}
