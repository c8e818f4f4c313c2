//! The core of Switchboard.
