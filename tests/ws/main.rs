//! WebSocket as others use and misuse it.

#![allow(clippy::unwrap_used)]

mod foreign;
mod hostile;
