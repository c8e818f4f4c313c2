//! `allocations`: prints the heap allocations of one call, for every case and workload, as JSON.
//!
//! Only this binary names the counting allocator, so the others keep the default one.

use std::hint::black_box;
use std::io;

use switchboard_benches::cases;
use switchboard_benches::compare::in_process::WORKLOADS;

/// How many calls to take the mean of.
const CALLS: u32 = 1000;

fn main() -> io::Result<()> {
    let mut counts = Vec::new();
    for case in cases::all() {
        for workload in WORKLOADS.into_iter().filter(|workload| case.takes(*workload)) {
            cases::check(&*case, workload)?;
            let body = workload.body();
            // The first call gives `body` the header that makes its further clones free.
            black_box(case.call(body.clone()));
            let counted = allocation_counter::measure(|| {
                for _ in 0..CALLS {
                    black_box(case.call(body.clone()));
                }
            });
            counts.push((case.name(), workload.title(), counted.count_total as f64 / f64::from(CALLS)));
        }
    }
    println!("{}", serde_json::json!(counts));
    Ok(())
}
