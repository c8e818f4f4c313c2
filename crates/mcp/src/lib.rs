//! The Model Context Protocol (MCP) for Switchboard: the methods of a service become tools, resources and prompts.

pub mod model;
