//! The upstreams of a gateway: what the listener counts, and what that means for an interval.

use serde::Deserialize;

use super::item::Text;

/// An upstream: an item of the lists of `admin/upstreams`. Counts begin with the process.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Upstream {
    pub(super) name: Text,
    pub(super) state: Text,
    pub(super) breaker: Option<Text>,
    pub(super) calls: u64,
    pub(super) errors: u64,
    pub(super) in_flight: u64,
    pub(super) nodes: Vec<UpstreamNode>,
}

/// A server of an upstream.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct UpstreamNode {
    pub(super) state: Text,
    pub(super) calls: u64,
    pub(super) latency_ms: Option<f64>,
}

impl Upstream {
    /// How long answers take: the average over its servers, by their calls.
    pub(super) fn latency_ms(&self) -> Option<f64> {
        let known = || self.nodes.iter().filter_map(|node| Some((node.latency_ms?, node.calls as f64)));
        let calls: f64 = known().map(|(_, calls)| calls).sum();
        (calls > 0.0).then(|| known().map(|(ms, calls)| ms * calls).sum::<f64>() / calls)
    }

    /// How many servers are ejected, of how many.
    pub(super) fn ejected(&self) -> String {
        match self.nodes.iter().filter(|node| &*node.state == "ejected").count() {
            0 => "-".to_owned(),
            count => format!("{count} of {}", self.nodes.len()),
        }
    }
}

/// The upstreams as they were listed last, and at the end of the last interval. The listener sends a list only when it has changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Upstreams {
    listed: Vec<Upstream>,
    before: Vec<Upstream>,
    /// What is shown: upstreams whose counts are those of the last interval.
    pub(super) shown: Vec<Upstream>,
}

impl Upstreams {
    pub(super) fn list(&mut self, listed: Vec<Upstream>) {
        self.listed = listed;
    }

    /// An interval is over.
    pub(super) fn count(&mut self) {
        let find = |name: &Text| self.before.iter().find(|before| before.name == *name);
        let since = |upstream: &Upstream| {
            // Without an earlier list, there is nothing to compare with.
            let before = find(&upstream.name).unwrap_or(upstream);
            let calls = upstream.calls.saturating_sub(before.calls);
            let errors = upstream.errors.saturating_sub(before.errors);
            Upstream { calls, errors, ..upstream.clone() }
        };
        self.shown = self.listed.iter().map(since).collect();
        self.before.clone_from(&self.listed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upstream(name: &str, calls: u64, errors: u64) -> Upstream {
        Upstream { name: name.into(), calls, errors, ..Upstream::default() }
    }

    #[test]
    fn an_interval_has_the_calls_since_the_one_before() {
        let mut upstreams = Upstreams::default();
        let check = |upstreams: &Upstreams, expected: &[(&str, u64, u64)]| {
            let shown: Vec<_> =
                upstreams.shown.iter().map(|one| (&*one.name, one.calls, one.errors)).collect();
            assert_eq!(shown, expected);
        };
        upstreams.list(vec![upstream("a", 100, 10)]);
        upstreams.count();
        check(&upstreams, &[("a", 0, 0)]);
        upstreams.list(vec![upstream("a", 104, 11), upstream("b", 7, 0)]);
        upstreams.count();
        check(&upstreams, &[("a", 4, 1), ("b", 0, 0)]);
        // Nothing was listed, so nothing has changed.
        upstreams.count();
        check(&upstreams, &[("a", 0, 0), ("b", 0, 0)]);
        // After a restart, counts begin anew.
        upstreams.list(vec![upstream("a", 2, 0)]);
        upstreams.count();
        check(&upstreams, &[("a", 0, 0)]);
    }

    #[test]
    fn the_latency_is_that_of_most_calls() {
        let node = |calls, latency_ms| UpstreamNode { calls, latency_ms, ..UpstreamNode::default() };
        let latency = |nodes| Upstream { nodes, ..Upstream::default() }.latency_ms();
        assert_eq!(latency(vec![node(3, Some(1.0)), node(1, Some(5.0)), node(9, None)]), Some(2.0));
        assert_eq!(latency(vec![node(0, None)]), None);
    }
}
