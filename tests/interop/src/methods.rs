//! What the programs call.

use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use switchboard::{Code, Context, ErrorObject, Json, Method, Router, Stream, Topics, service};

/// Everything that can be called.
#[must_use]
pub fn router() -> Router {
    let heads = Method::stream("newHeads", |(): (), _| on_and_on((1..=3).map(head)));
    let topics = Topics::new("eth").topic(heads);
    let built = Router::builder().add(Basics::default()).add(Chain).add(topics).build();
    built.expect("the names differ")
}

/// These items, and then none for as long as anybody waits: whoever subscribed has to unsubscribe.
fn on_and_on<T: Send>(
    items: impl IntoIterator<Item = T, IntoIter: Send> + 'static,
) -> impl Stream<Item = T> + Send {
    stream::iter(items).chain(stream::pending())
}

/// The methods that every program calls.
#[derive(Default)]
struct Basics {
    updates: AtomicU32,
}

#[service]
impl Basics {
    /// Answers with what it was given.
    fn echo(&self, message: Json) -> Json {
        message
    }

    /// Subtracts as the examples of the JSON-RPC specification do.
    fn subtract(&self, minuend: i64, subtrahend: i64) -> i64 {
        minuend - subtrahend
    }

    /// Adds any number of numbers.
    fn sum(&self, #[arg(rest)] numbers: Vec<i64>) -> i64 {
        numbers.into_iter().sum()
    }

    /// Answers with a list.
    fn get_data(&self) -> (&'static str, u8) {
        ("hello", 5)
    }

    /// Takes notice.
    fn update(&self, #[arg(rest)] _values: Vec<i64>) {
        self.updates.fetch_add(1, Ordering::Relaxed);
    }

    /// How often notice was taken.
    fn updates(&self) -> u32 {
        self.updates.load(Ordering::Relaxed)
    }

    /// Fails.
    fn fail(&self) -> Result<(), ErrorObject> {
        Err(ErrorObject::new(Code(1234), "boom").with_data(&json!({"x": 1})))
    }

    /// Takes until it is cancelled.
    async fn hang(&self) {
        std::future::pending::<()>().await;
    }

    /// Asks the caller for its name, and greets it.
    async fn introduce(&self, cx: &Context) -> Result<String, ErrorObject> {
        let name: String = cx.peer().call("name", ()).await?;
        Ok(format!("Hello, {name}!"))
    }

    /// Streams the numbers from 1 on.
    fn count(&self, to: u32) -> impl Stream<Item = u32> + Send + 'static {
        stream::iter(1..=to)
    }

    /// Streams three numbers and goes on, under the names that jsonrpsee would give it.
    #[method(name = "subscribe_ticks", subscription(item = "ticks", unsubscribe = "unsubscribe_ticks"))]
    fn ticks(&self) -> impl Stream<Item = u32> + Send + 'static {
        on_and_on(1..=3)
    }
}

/// As much of a blockchain as its clients want to see.
struct Chain;

#[service]
impl Chain {
    /// What answers.
    #[method(name = "web3_clientVersion")]
    fn client_version(&self) -> &'static str {
        "switchboard"
    }

    /// Which chain it is.
    #[method(name = "eth_chainId")]
    fn chain_id(&self) -> &'static str {
        "0x539"
    }

    /// The last block.
    #[method(name = "eth_blockNumber")]
    fn block_number(&self) -> &'static str {
        "0x10"
    }

    /// What somebody owns.
    #[method(name = "eth_getBalance")]
    fn balance(&self, _address: String, _block: String) -> &'static str {
        "0xde0b6b3a7640000"
    }
}

/// As much of the head of a block as its clients want to see.
fn head(number: u64) -> Value {
    json!({"number": format!("0x{number:x}"), "hash": format!("0x{number:064x}")})
}
