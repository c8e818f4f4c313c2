//! The commands as a shell sees them.

#![expect(clippy::unwrap_used, reason = "all of this is tests; what fails ends one")]

#[cfg(unix)]
mod adapters;
mod admin;
mod agent;
mod batch;
#[cfg(unix)]
mod bench;
#[cfg(unix)]
#[path = "../../../../tests/support/broker.rs"]
mod broker;
mod call;
#[cfg(unix)]
mod carriers;
#[cfg(unix)]
mod check;
#[cfg(unix)]
mod cluster;
mod config;
mod connecting;
mod describing;
mod diff;
mod discover;
mod discovery;
#[cfg(unix)]
mod documented;
#[cfg(unix)]
mod durable;
#[cfg(unix)]
mod ending;
mod examples;
mod explain;
#[cfg(unix)]
mod far;
#[cfg(target_os = "linux")]
mod gateway;
mod generate;
#[cfg(unix)]
mod hostile;
#[cfg(unix)]
mod jobs;
#[cfg(unix)]
mod keyboard;
#[cfg(unix)]
mod keys;
#[cfg(unix)]
mod machine;
mod manual;
#[cfg(unix)]
mod mcp;
#[cfg(unix)]
mod mcp_client;
#[cfg(unix)]
mod mcp_gateways;
#[cfg(unix)]
mod mcp_login;
#[cfg(unix)]
mod mcp_server;
#[cfg(target_os = "linux")]
mod memory;
mod nats;
#[cfg(unix)]
mod nats_credentials;
mod notify;
mod program;
#[cfg(unix)]
mod prometheus;
mod proxy;
#[cfg(target_os = "linux")]
#[path = "../../../../tests/support/relay.rs"]
mod relay;
#[cfg(unix)]
mod reload;
#[cfg(unix)]
mod repl;
#[cfg(unix)]
mod replacing;
#[cfg(unix)]
mod replay;
#[cfg(unix)]
mod replaying;
#[cfg(unix)]
mod rolling;
mod serve;
#[cfg(unix)]
mod shared_store;
#[cfg(unix)]
mod signing;
#[cfg(unix)]
mod streams;
#[cfg(unix)]
mod strict;
#[cfg(unix)]
mod tap;
#[cfg(unix)]
mod telemetry;
#[cfg(unix)]
mod terminal;
#[cfg(unix)]
mod tokens;
#[cfg(unix)]
mod top;
#[cfg(unix)]
mod unread;
#[cfg(unix)]
mod watch;
