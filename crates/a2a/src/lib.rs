//! Agent2Agent (A2A) for Switchboard: agents that pass work on to each other, over JSON-RPC and event streams.
//!
//! - An [`Agent`] is one function of a message and a [`TaskHandle`], or a method of any service. The [`Server`] made of it does the
//!   rest: tasks, streams, cancelling, versions 1.0 and 0.3. The function is an ordinary method, so every layer sees its calls.
//! - [`A2aRoute`] serves it over HTTP, and [`CardRoute`] its card.
//! - A [`Client`] finds an agent by its card, sends messages and follows tasks. A [`Remote`] agent is a service.
//! - [`adapt`] makes methods skills of an agent, and skills of an agent methods.
//! - [`model`] has the wire types.

pub mod adapt;
mod client;
mod http;
mod ids;
mod jcs;
pub mod model;
mod server;
mod signed_card;

pub use client::{CardTrust, Client, ClientError, ClientOptions, Events, PushRoute, Remote};
pub use http::{A2aRoute, CardRoute};
pub use server::{
    Agent, AgentOptions, Ended, Outcome, PushOptions, RequestDetails, Server, TaskHandle, Tenants,
    agent_method,
};
