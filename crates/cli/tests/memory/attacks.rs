//! What hostile connections send: little that costs much.

/// How a connection tries to make the server hold as much as it can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attack {
    /// Many short calls with long answers.
    Calls,
    /// Batches whose answers are as long as they may be.
    Batches,
    /// Long calls with answers that are as long.
    Echoes,
    /// Streams that always have another item.
    Streams,
    /// Calls that take long, each with params to be kept.
    Waiting,
    /// Batches with long answers that cannot be sent, for an entry that takes long.
    WaitingBatches,
}

impl Attack {
    pub(crate) const ALL: [Attack; 6] = [
        Attack::Calls,
        Attack::Batches,
        Attack::Echoes,
        Attack::Streams,
        Attack::Waiting,
        Attack::WaitingBatches,
    ];

    /// The message with this number.
    pub(crate) fn message(self, number: usize) -> String {
        let discover = |id: usize| format!(r#"{{"jsonrpc":"2.0","method":"rpc.discover","id":{id}}}"#);
        let wait = |id: usize, text: &str| {
            format!(r#"{{"jsonrpc":"2.0","method":"wait","params":[29],"id":{id},"note":"{text}"}}"#)
        };
        match self {
            Attack::Calls => discover(number),
            Attack::Batches => format!("[{}]", (0..100).map(discover).collect::<Vec<_>>().join(",")),
            Attack::Echoes => {
                let text = "x".repeat(3 << 20);
                format!(r#"{{"jsonrpc":"2.0","method":"echo","params":["{text}"],"id":{number}}}"#)
            }
            Attack::Streams => {
                format!(r#"{{"jsonrpc":"2.0","method":"count","params":[1000000],"id":{number}}}"#)
            }
            Attack::Waiting => wait(number, &"x".repeat(60 << 10)),
            Attack::WaitingBatches => {
                let slow = wait(0, "");
                let rest = (1..100).map(discover).collect::<Vec<_>>().join(",");
                format!("[{slow},{rest}]")
            }
        }
    }

    /// How many messages a connection sends, unless it gets stuck before.
    pub(crate) fn messages(self) -> usize {
        match self {
            Attack::Calls => 5000,
            Attack::Streams | Attack::Waiting | Attack::WaitingBatches => 200,
            Attack::Batches => 100,
            Attack::Echoes => 6,
        }
    }
}
