//! NATS: calls as requests, for callers and workers that do not know each other. The broker finds a worker for each call.
//!
//! A URL names a broker and a service: `nats://127.0.0.1:4222/math`. A server that listens there is a worker of the service `math`; all its workers
//! share the calls. `nats+tls` requires TLS; a broker that requires it itself gets it with `nats`, too.
//!
//! | what | on the wire |
//! |---|---|
//! | method `math/add` | the subject `math.math.add`: the service, then a token for each part between `/`; other bytes than letters, digits, `_`, `-` and `$` are written `=XX` |
//! | call | a request whose body is the JSON-RPC message, so `nats req math.math.add '{"jsonrpc":"2.0","method":"math/add","params":[2,3],"id":1}'` works |
//! | notification | a message without a reply subject: at most once |
//! | batch | our client sends each entry to its own subject. An array is sent to `math.=any`, and one worker runs it |
//! | metadata, deadline | headers, under their own names, and `switchboard-timeout-ms` |
//! | answer | the response, without headers |
//! | answer in parts | messages with the header `switchboard-part`, if the last token of the reply subject starts with `~` or `!`; twice that mark, for callers that prefer a stream |
//!
//! The method in the body must be that of the subject, or else permission for one subject would be permission for all methods.
//!
//! # Answers in parts
//!
//! Streams, progress and calls that take longer than 100 ms are answered in parts: `accepted`, `stream`, `item`, `push`, `beat` and `end`, numbered
//! from 0. Each has a reply subject, to which the caller may send control messages (`switchboard-control`): how many parts it is ready
//! to read, that it gave up, and responses to calls of the handler, if the token starts with `!`. A worker that works in silence sends a `beat` every 5 s; after 15 s without
//! one it counts as lost. Before the caller has read any of them, it sends at most 256
//! parts, or as many as reach 256 KiB; `credit N` says that all parts before N - 256 were read. A number that is missing is a [gap](switchboard_core::Gap).
//!
//! # Guarantees
//!
//! A call is sent once, and executed at most once. If no worker serves the service, the broker says so at once, and the call certainly was not
//! executed. Calls and notifications of one caller may reach different workers, so their order is not kept. When the connection to the broker is lost, calls in flight fail; streams go on
//! after the reconnect, and tell what they missed.
//!
//! # Authentication
//!
//! The environment names the credentials, with the variables that NATS's own tools use: `NATS_CREDS`, `NATS_NKEY`, `NATS_TOKEN`, or `NATS_USER` and `NATS_PASSWORD`; for
//! TLS `NATS_CA`, `NATS_CERT` and `NATS_KEY`. The broker does not tell a worker who sent a message: use tokens, keys or signatures for that, as over any other transport.

mod address;
mod answering;
mod auth;
mod bus;
mod caller;
mod carrier;
mod checked;
mod connection;
mod headers;
mod inbox;
mod incoming;
mod link;
mod listener;
mod part;
mod raw;
mod services;
mod subject;
mod token;
mod worker;

pub use self::bus::{Bus, BusOptions, Events, Keep, Start, Topic, TopicError, TopicEvent, TopicGroup};
pub(crate) use self::carrier::NatsCarrier;
