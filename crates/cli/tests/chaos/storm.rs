//! What happens to processes and connections, at random.

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::fleet::Fleet;
use super::history::History;
use super::relay::Mode;
use super::signed;
use super::{LONG, MS};

/// Something that is broken for a while. The number says which of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    KilledWorker(usize),
    TerminatedWorker(usize),
    PausedWorker(usize),
    KilledGateway(usize),
    TerminatedGateway(usize),
    PausedGateway(usize),
    KilledBroker(usize),
    PausedBroker(usize),
    /// A connection of one process.
    Link(usize, Mode),
    /// Between two brokers, or between a broker and those who lost another one.
    Route(usize, Mode),
}

/// How many faults there are at once at most.
const AT_ONCE: usize = 3;

/// Breaks and repairs until this time.
pub(crate) async fn rage(fleet: &mut Fleet, history: &History, mut random: fastrand::Rng, until: Instant) {
    let mut faults: Vec<(Fault, Instant)> = Vec::new();
    let (places, keys) = (signed::places(fleet), fleet.keys());
    let mut signing = JoinSet::new();
    let is_long = until.duration_since(Instant::now()) >= LONG;
    while Instant::now() < until {
        let now = Instant::now();
        while let Some(at) = faults.iter().position(|(_, end)| *end <= now) {
            repair(fleet, faults.swap_remove(at).0);
        }
        let fault = draw(fleet, &mut random);
        let (length, pause) = (random.u32(50..1500) * MS, random.u32(50..400) * MS);
        // In between, one that lasts until what is broken counts as lost.
        let length = if is_long && random.u8(..20) == 0 { random.u32(16_000..25_000) * MS } else { length };
        let is_possible = faults.len() < AT_ONCE && faults.iter().all(|(other, _)| !excludes(*other, fault));
        if is_possible {
            println!("{fault:?} for {length:?}");
            inflict(fleet, fault);
            faults.push((fault, now + length));
        }
        fleet.revive(history);
        if signing.is_empty() {
            let (places, keys, history) = (places.clone(), keys.clone(), history.clone());
            signing.spawn(async move { history.operation(signed::send(&places, &keys).await) });
        }
        while signing.try_join_next().is_some() {}
        tokio::time::sleep_until(now + pause).await;
    }
    for (fault, _) in faults {
        repair(fleet, fault);
    }
    signing.join_all().await;
}

fn draw(fleet: &Fleet, random: &mut fastrand::Rng) -> Fault {
    let worker = random.usize(..fleet.workers.len());
    let gateway = random.usize(..fleet.gateways.len());
    let broker = random.usize(..fleet.brokers.len());
    let mode = match random.u8(..3) {
        0 => Mode::Silent,
        1 => Mode::Cuts,
        _ => Mode::Slow(random.u32(1..30) * MS),
    };
    match random.u8(..12) {
        0 | 1 => Fault::KilledWorker(worker),
        2 => Fault::TerminatedWorker(worker),
        3 => Fault::PausedWorker(worker),
        4 => Fault::KilledGateway(gateway),
        5 => Fault::TerminatedGateway(gateway),
        6 => Fault::PausedGateway(gateway),
        7 => Fault::KilledBroker(broker),
        8 => Fault::PausedBroker(broker),
        9 => Fault::Route(random.usize(..fleet.brokers.relays().count()), mode),
        _ => Fault::Link(random.usize(..fleet.relays.len()), mode),
    }
}

/// Whether one fault is in the way of the other. One broker or route at a time, so that a majority works.
fn excludes(one: Fault, other: Fault) -> bool {
    use Fault::*;
    let is_broker = |fault| matches!(fault, KilledBroker(_) | PausedBroker(_) | Route(..));
    match (one, other) {
        (
            KilledWorker(a) | TerminatedWorker(a) | PausedWorker(a),
            KilledWorker(b) | TerminatedWorker(b) | PausedWorker(b),
        )
        | (
            KilledGateway(a) | TerminatedGateway(a) | PausedGateway(a),
            KilledGateway(b) | TerminatedGateway(b) | PausedGateway(b),
        )
        | (Link(a, _), Link(b, _)) => a == b,
        (one, other) => is_broker(one) && is_broker(other),
    }
}

fn inflict(fleet: &mut Fleet, fault: Fault) {
    match fault {
        Fault::KilledWorker(number) => fleet.workers[number].kill(),
        Fault::TerminatedWorker(number) => fleet.workers[number].signal("TERM"),
        Fault::PausedWorker(number) => fleet.workers[number].signal("STOP"),
        Fault::KilledGateway(number) => fleet.gateways[number].kill(),
        Fault::TerminatedGateway(number) => fleet.gateways[number].signal("TERM"),
        Fault::PausedGateway(number) => fleet.gateways[number].signal("STOP"),
        Fault::KilledBroker(number) => fleet.brokers.kill(number),
        Fault::PausedBroker(number) => fleet.brokers.signal(number, "STOP"),
        Fault::Link(number, mode) => fleet.relays[number].set(mode),
        Fault::Route(number, mode) => fleet.brokers.relays().nth(number).unwrap().set(mode),
    }
}

fn repair(fleet: &mut Fleet, fault: Fault) {
    match fault {
        Fault::KilledWorker(number) => fleet.workers[number].restart(),
        Fault::KilledGateway(number) => fleet.gateways[number].restart(),
        // They are started again when they have ended.
        Fault::TerminatedWorker(_) | Fault::TerminatedGateway(_) => {}
        Fault::PausedWorker(number) => fleet.workers[number].signal("CONT"),
        Fault::PausedGateway(number) => fleet.gateways[number].signal("CONT"),
        Fault::KilledBroker(number) => fleet.brokers.restart(number),
        Fault::PausedBroker(number) => fleet.brokers.signal(number, "CONT"),
        Fault::Link(number, _) => fleet.relays[number].set(Mode::Works),
        Fault::Route(number, _) => fleet.brokers.relays().nth(number).unwrap().set(Mode::Works),
    }
}
