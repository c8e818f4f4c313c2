//! Signed tasks and transfers that run once, as in tutorials about secure calls.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use switchboard::identity::{Identity, Proof};
use switchboard::signing::{ParamsForm, SigningKeys, Verify};
use switchboard::store::{MemoryStore, StoreLimits};
use switchboard::{Call, Clock, FromContext as _, Layer as _, ReplyFuture, Service, service};

use super::bounded::{Bounded, Bounds};
use super::faults::Unacceptable;

/// The key of signed tasks. Everybody knows it, so it protects nothing: the task is not run either.
const KEY: &str =
    "demo-1 hmac-sha256 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f subject=demo";

/// What tasks are signed for.
const AUDIENCE: &str = "switchboard-demo";

/// How many nonces are remembered.
const NONCES: usize = 10_000;

/// The methods whose params are signed or run once.
pub(super) struct Bank;

/// A task that was accepted.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Accepted {
    status: &'static str,
    task: String,
}

/// A transfer that was made.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Transferred {
    status: &'static str,
    amount: f64,
}

/// The amount of a transfer.
struct Amount;

impl Bounds for Amount {
    type Of = f64;
    const NAME: &'static str = "amount";
    const LEAST: f64 = 0.01;
    const MOST: Option<f64> = Some(1_000_000.0);
}

#[service]
impl Bank {
    /// Accepts a task with a signature by the demo key. The page "Signed messages" tells how to make one.
    #[method(name = "executeTask", tag = "security")]
    fn execute_task(&self, task: String, signature: String) -> Accepted {
        tracing::info!(length = signature.len(), "a signed task was accepted; this demo does not run it");
        Accepted { status: "accepted", task }
    }

    /// Pretends to transfer an amount. The timestamp, in seconds since 1970, must be new, and each nonce works once.
    #[method(tag = "security")]
    fn transfer(
        &self,
        amount: Bounded<Amount>,
        timestamp: u64,
        nonce: String,
    ) -> Result<Transferred, Unacceptable> {
        let amount = amount.get()?;
        tracing::info!(timestamp, nonce, "a transfer was asked for; this demo has no money");
        Ok(Transferred { status: "done", amount })
    }
}

/// Checks signatures, timestamps and nonces in the params of these methods.
pub(crate) fn verified(inner: Arc<dyn Service>) -> Arc<dyn Service> {
    let pattern = |name: &str| name.parse().into_iter();
    let keys = SigningKeys::parse(KEY).expect("the key of the demo is valid");
    let store = MemoryStore::with_clock(StoreLimits::default().with_entries(NONCES), Clock::system());
    let verify = Verify::new(keys, [AUDIENCE], Arc::new(store))
        .required_for([])
        .with_params_form(ParamsForm::signed(pattern("executeTask"), "demo-1").without_nonce())
        .with_params_form(ParamsForm::unsigned(pattern("transfer")));
    let verified = verify.layer(Arc::clone(&inner));
    Arc::new(Checked { verified, inner })
}

struct Checked {
    verified: Arc<dyn Service>,
    inner: Arc<dyn Service>,
}

impl Service for Checked {
    fn call(&self, call: &Call) -> ReplyFuture {
        let is_checked = matches!(call.method.as_str(), "executeTask" | "transfer");
        // A signature that the configuration asks for was verified before, and says more.
        let is_signed = || Identity::from_context(&call.cx).is_some_and(|who| who.proof == Proof::Signature);
        if is_checked && !is_signed() { self.verified.call(call) } else { self.inner.call(call) }
    }
}
