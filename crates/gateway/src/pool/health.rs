//! Health checks of nodes.

use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use switchboard_core::{Json, Kind};
use tokio::time::{Instant, MissedTickBehavior};

use super::Inner;
use super::balance::at;
use super::node::Node;

/// Checks whether a server can take calls.
pub trait Probe: Send + Sync + 'static {
    /// Checks once. The value, if there is one, says how current the server is; the error is why it cannot take calls.
    fn probe(&self) -> Pin<Box<dyn Future<Output = Result<Option<Json>, String>> + Send>>;
}

/// How the health of nodes is checked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Health {
    /// The time between two checks: 5 s.
    pub every: Duration,
    /// How long a check may take: 1 s.
    pub timeout: Duration,
    /// How many checks in a row must fail before a node gets no more calls: 3.
    pub fail: u32,
    /// How many checks in a row must pass before it gets calls again: 2.
    pub pass: u32,
    /// How far a node may be behind the most current one, by the value that its check returns.
    pub max_lag: Option<u64>,
    /// Where that value is in the result of the check, as a JSON pointer; empty for the result itself.
    pub value: String,
}

impl Default for Health {
    fn default() -> Health {
        Health {
            every: Duration::from_secs(5),
            timeout: Duration::from_secs(1),
            fail: 3,
            pass: 2,
            max_lag: None,
            value: String::new(),
        }
    }
}

/// Checks all nodes until their pool is gone.
pub(super) async fn watch(pool: Weak<Inner>, health: Health) {
    let mut ticks = tokio::time::interval(health.every.max(Duration::from_millis(1)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(nodes) = pool.upgrade().map(|pool| pool.nodes.clone()) else { return };
        let checks = nodes.iter().map(|node| health.check(node));
        futures_util::future::join_all(checks).await;
        health.compare(&nodes);
    }
}

impl Health {
    async fn check(&self, node: &Arc<Node>) {
        let Some(probe) = &node.probe else { return };
        let result = match tokio::time::timeout(self.timeout, probe.probe()).await {
            Ok(result) => result,
            Err(_) => Err(format!("no answer to the health check within {:?}", self.timeout)),
        };
        let result = result.and_then(|value| self.height(value.as_ref()));
        let now = Instant::now();
        let has_gone_down = node.with_state(|state| match result {
            Ok(height) => {
                state.height = height;
                state.streak = state.streak.max(0).saturating_add(1);
                let is_back = i64::from(state.streak) >= i64::from(self.pass);
                if state.down.is_some() && is_back {
                    (state.down, state.back) = (None, Some(now));
                    tracing::info!(node = &*node.name, "up");
                }
                false
            }
            Err(reason) => {
                state.streak = state.streak.min(0).saturating_sub(1);
                let is_down = i64::from(-state.streak) >= i64::from(self.fail);
                let has_gone_down = state.down.is_none() && is_down;
                if has_gone_down {
                    tracing::warn!(node = &*node.name, reason, "down");
                }
                if is_down {
                    state.down = Some(reason.into());
                }
                has_gone_down
            }
        });
        if has_gone_down {
            node.move_streams();
        }
    }

    /// How current a server is, by what its check returned.
    fn height(&self, value: Option<&Json>) -> Result<Option<u64>, String> {
        if self.max_lag.is_none() {
            return Ok(None);
        }
        let value = value.and_then(|value| at(value, &self.value));
        match value.as_ref().and_then(number) {
            Some(height) => Ok(Some(height)),
            None => Err("the result of the health check has no number to compare".to_owned()),
        }
    }

    /// Takes out nodes that are too far behind the best one.
    fn compare(&self, nodes: &[Arc<Node>]) {
        let Some(max_lag) = self.max_lag else { return };
        let height =
            |node: &Arc<Node>| node.with_state(|state| state.height.filter(|_| state.down.is_none()));
        let Some(best) = nodes.iter().filter_map(height).max() else { return };
        for node in nodes {
            let has_fallen_behind = node.with_state(|state| {
                let lag = state.height.map(|height| best.saturating_sub(height)).filter(|lag| *lag > max_lag);
                if state.lag.is_some() && lag.is_none() {
                    state.back = Some(Instant::now());
                }
                let has_fallen_behind = state.lag.is_none() && lag.is_some();
                state.lag = lag;
                has_fallen_behind
            });
            if has_fallen_behind {
                node.move_streams();
            }
        }
    }
}

/// A number, written as one or as a text: decimal, or hexadecimal with `0x`, as Ethereum writes them.
fn number(json: &Json) -> Option<u64> {
    match json.kind() {
        Kind::Number => json.decode().ok(),
        Kind::String => {
            let text: String = json.decode().ok()?;
            match text.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).ok(),
                None => text.parse().ok(),
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_each_form() {
        let check = |text: &str, expected: Option<u64>| {
            let json = Json::parse(text.as_bytes().to_vec()).expect(text);
            assert_eq!(number(&json), expected, "{text}");
        };
        check("17", Some(17));
        check("\"17\"", Some(17));
        check("\"0x1f\"", Some(31));
        check("-1", None);
        check("\"0xzz\"", None);
        check("null", None);
    }
}
