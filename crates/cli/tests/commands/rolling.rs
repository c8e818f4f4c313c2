//! Workers and gateways that are replaced one by one, without a call that fails.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use switchboard::{CallError, ErrorObject, Peer};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::broker::Broker;
use crate::program::{Serving, parts, program, run};

const CALLERS: usize = 6;

/// Nothing takes that long; it only tells a hang from a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that says when it has reconnected to the broker.
fn serving(arguments: &[&str]) -> Serving {
    let mut command = program(arguments);
    command.env("RUST_LOG", "warn,switchboard_transport::nats=info").stdin(Stdio::null());
    Serving::spawn(command)
}

fn gateway(url: &str) -> Serving {
    serving(&["gateway", url, "--listen", "http://127.0.0.1:0"])
}

/// Where calls are made, as a load balancer knows it.
type Places = Arc<Mutex<Vec<String>>>;

/// Calls, until it is stopped. One that a gateway closes its connection on, when it is no longer in use, is made at the next place.
struct Load {
    is_over: Arc<AtomicBool>,
    made: Arc<AtomicUsize>,
    callers: Vec<JoinHandle<Result<(), String>>>,
}

impl Load {
    fn start(runtime: &Runtime, places: &Places) -> Load {
        let mut load = Load { is_over: Arc::default(), made: Arc::default(), callers: Vec::new() };
        for number in 0..CALLERS {
            let (places, is_over, made) =
                (Arc::clone(places), Arc::clone(&load.is_over), Arc::clone(&load.made));
            load.callers.push(runtime.spawn(async move {
                let mut peers = HashMap::new();
                for turn in number.. {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    let place = {
                        let places = places.lock().unwrap();
                        places[turn % places.len()].clone()
                    };
                    match call(&mut peers, &place, turn as u64).await {
                        Ok(()) => drop(made.fetch_add(1, Ordering::Relaxed)),
                        Err(error) if !is_used(&places, &place) && is_not_taken(&error) => {
                            peers.remove(&place);
                        }
                        Err(error) => return Err(format!("{place}: {error:?}")),
                    }
                }
                Ok(())
            }));
        }
        load
    }

    fn go_on(&self) {
        let (before, begun) = (self.made.load(Ordering::Relaxed), Instant::now());
        while self.made.load(Ordering::Relaxed) < before + 300 {
            if self.callers.iter().any(JoinHandle::is_finished) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "calls do not go on");
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }

    fn stop(self, runtime: &Runtime) {
        self.is_over.store(true, Ordering::Relaxed);
        for caller in self.callers {
            runtime.block_on(caller).unwrap().expect("no call fails");
        }
    }
}

async fn call(peers: &mut HashMap<String, Peer>, place: &str, number: u64) -> Result<(), CallError> {
    if !peers.contains_key(place) {
        let peer = switchboard::connect(place).await.map_err(CallError::from)?;
        peers.insert(place.to_owned(), peer);
    }
    let sum = peers[place].call::<u64>("math/add", [number, 3]).timeout(Duration::from_secs(10)).await?;
    assert_eq!(sum, number + 3, "it comes back to its caller");
    Ok(())
}

fn is_used(places: &Places, place: &String) -> bool {
    places.lock().unwrap().contains(place)
}

/// Whether a server that stops did not execute the call: it answers those that it executes.
fn is_not_taken(error: &CallError) -> bool {
    let is_refused = error.rejection().is_some_and(ErrorObject::is_refused_at_shutdown);
    is_refused || error.is_unsent() || matches!(error, CallError::Closed(_))
}

/// Stops a server, which has to end well.
fn stop(mut server: Serving) {
    server.signal("TERM");
    let log = server.log();
    assert!(server.ended().success(), "{}", log.join().unwrap());
}

#[test]
fn no_call_fails_while_workers_and_gateways_are_replaced_after_the_broker_was() {
    let mut broker = Broker::start(&[]);
    let url = format!("{}/demo", broker.url());
    let worker = || serving(&["serve", "--listen", &url]);
    let mut workers = [worker(), worker()];
    let mut gateways = [gateway(&url), gateway(&url)];
    broker.kill();
    broker.restart();
    for server in workers.iter_mut().chain(&mut gateways) {
        server.read_until("reconnected to the NATS server");
    }
    let places: Places =
        Arc::new(Mutex::new(vec![gateways[0].url(), url.clone(), gateways[1].url(), url.clone()]));
    for place in places.lock().unwrap().iter() {
        let begun = Instant::now();
        while parts(run(&["call", place, "math/add", "2", "3"])).0 != Some(0) {
            assert!(begun.elapsed() < PATIENCE, "{place} does not work again");
        }
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let load = Load::start(&runtime, &places);
    load.go_on();
    for number in [0, 1, 0, 1] {
        let new = worker();
        load.go_on();
        stop(std::mem::replace(&mut workers[number], new));
        load.go_on();
        let new = gateway(&url);
        let (old, added) = (gateways[number].url(), new.url());
        places.lock().unwrap().push(added);
        load.go_on();
        // Calls are still in progress there.
        places.lock().unwrap().retain(|place| *place != old);
        stop(std::mem::replace(&mut gateways[number], new));
        load.go_on();
    }
    load.stop(&runtime);
}
