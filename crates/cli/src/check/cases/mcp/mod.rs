//! The Model Context Protocol (MCP), in the eras that a server speaks. Only the profile `mcp` has these areas.

pub(super) mod features;
pub(super) mod http;
pub(super) mod sessions;
mod shapes;
pub(super) mod stateless;
pub(super) mod stdio;

use crate::check::bench::Bench;
use crate::check::case::{Case, Need};
use crate::check::era::{Era, only_result, request};

/// The case that all other cases of sessions rest on.
const INITIALIZE: &str = "mcp-initialize";
/// The case that all other stateless cases rest on.
const DISCOVER: &str = "stateless-discover";

/// The case in this era.
fn in_era(era: Era, case: Case) -> Case {
    let base = match era {
        Era::Sessions => INITIALIZE,
        Era::Stateless => DISCOVER,
    };
    let case = case.needs_first(Need::Era(era));
    if case.name == base || case.rests_on.is_some() { case } else { case.rests_on(base) }
}

/// The result of a request in the era of the case; otherwise the answer, as an error.
async fn result(bench: &mut Bench, method: &str, params: &str) -> Result<serde_json::Value, String> {
    let message = bench.fill(request(method, params).as_bytes());
    let came = bench.ask(&message, 1).await;
    only_result(&came).cloned().ok_or_else(|| format!("{method}: {came}"))
}
