//! Brokers, alone or clustered, with a relay before everything that connects to them.

use std::net::{Ipv4Addr, SocketAddr};

use super::broker::Broker;
use super::process::{memory, port, signal};
use super::relay::{Mode, Relay};

/// The brokers, and the relays between them.
pub(crate) struct Brokers {
    nodes: Vec<Broker>,
    ports: Vec<u16>,
    /// The most memory of each of them that was killed.
    peaks: Vec<usize>,
    /// Before each of them: where its clients are sent to that lost another broker.
    fronts: Vec<Relay>,
    /// Between each two.
    routes: Vec<Relay>,
}

impl Brokers {
    pub(crate) async fn start(count: usize) -> Brokers {
        let ports: Vec<u16> = (0..count).map(|_| port()).collect();
        let clusters: Vec<u16> = (0..count).map(|_| port()).collect();
        let (mut fronts, mut routes, mut nodes) = (Vec::new(), Vec::new(), Vec::new());
        for port in &ports {
            fronts.push(Relay::start(local(*port)).await);
        }
        for node in 0..count {
            let mut arguments = vec![format!("--port={}", ports[node])];
            if count > 1 {
                // Without any route JetStream would not be clustered, and a route to itself is ignored.
                let mut seeds = vec![format!("nats://127.0.0.1:{}", clusters[node])];
                // Each connects to those before it, so there is one relay between two.
                for other in &clusters[..node] {
                    let route = Relay::start(local(*other)).await;
                    seeds.push(format!("nats://{}", address(&route)));
                    routes.push(route);
                }
                arguments.push(format!("--name=node{node}"));
                arguments.push("--cluster_name=chaos".to_owned());
                arguments.push(format!("--cluster=nats://127.0.0.1:{}", clusters[node]));
                arguments.push(format!("--routes={}", seeds.join(",")));
                // Nothing listens there: no route goes around the relays.
                arguments.push("--cluster_advertise=127.0.0.1:1".to_owned());
                arguments.push(format!("--client_advertise={}", address(&fronts[node])));
            }
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            nodes.push(Broker::start(&arguments));
        }
        Brokers { nodes, ports, peaks: vec![0; count], fronts, routes }
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// A relay of one client's own, before a broker.
    pub(crate) async fn relay(&self, client: usize) -> Relay {
        Relay::start(local(self.ports[client % self.ports.len()])).await
    }

    pub(crate) fn kill(&mut self, node: usize) {
        self.peaks[node] = self.peaks[node].max(memory(self.nodes[node].id()));
        self.nodes[node].kill();
    }

    pub(crate) fn restart(&mut self, node: usize) {
        self.nodes[node].restart();
    }

    /// The most memory that each had.
    pub(crate) fn memory(&self) -> impl Iterator<Item = usize> {
        self.nodes.iter().zip(&self.peaks).map(|(node, peak)| memory(node.id()).max(*peak))
    }

    pub(crate) fn signal(&self, node: usize, name: &str) {
        signal(self.nodes[node].id(), name);
    }

    /// Everything between brokers, and between brokers and clients that they share.
    pub(crate) fn relays(&self) -> impl Iterator<Item = &Relay> {
        self.routes.iter().chain(&self.fronts)
    }

    pub(crate) fn repair(&self) {
        self.relays().for_each(|relay| relay.set(Mode::Works));
    }
}

fn local(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// Host and port of a relay.
pub(crate) fn address(relay: &Relay) -> &str {
    relay.url.trim_start_matches("tcp://")
}
