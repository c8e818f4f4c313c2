//! How clients and servers meet: `initialize` in sessions, `server/discover` without them.

use super::wire::{tokens, wire};
use super::{ClientCapabilities, Implementation, Meta, ServerCapabilities};

wire! {
    /// The params of `initialize`, until 2025-11-25.
    #[derive(Default)]
    pub struct InitializeParams {
        required {
            /// The version that the client wants. It may be one that we do not know.
            protocol_version: String = "protocolVersion",
            /// What the client can do.
            capabilities: ClientCapabilities = "capabilities",
            /// Who the client is.
            client_info: Implementation = "clientInfo",
        }
        optional {}
    }
}

impl InitializeParams {
    /// A client that wants this version.
    #[must_use]
    pub fn new(
        protocol_version: impl Into<String>,
        capabilities: ClientCapabilities,
        client_info: Implementation,
    ) -> InitializeParams {
        InitializeParams { protocol_version: protocol_version.into(), capabilities, client_info }
    }
}

wire! {
    /// The result of `initialize`, until 2025-11-25.
    #[derive(Default)]
    pub struct InitializeResult {
        required {
            /// The version that the session has.
            protocol_version: String = "protocolVersion",
            /// What the server can do.
            capabilities: ServerCapabilities = "capabilities",
            /// Who the server is.
            server_info: Implementation = "serverInfo",
        }
        optional {
            /// How to use the server, for the model.
            instructions: Option<String> = "instructions",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

impl InitializeResult {
    /// A server that speaks this version.
    #[must_use]
    pub fn new(
        protocol_version: impl Into<String>,
        capabilities: ServerCapabilities,
        server_info: Implementation,
    ) -> InitializeResult {
        let protocol_version = protocol_version.into();
        InitializeResult { protocol_version, capabilities, server_info, ..InitializeResult::default() }
    }
}

tokens! {
    /// Who may share a cached result (MCP-K-02).
    #[derive(Default)]
    pub enum CacheScope {
        /// Only requests with the same authorization.
        #[default]
        Private = "private",
        /// Everybody.
        Public = "public",
    }
}

wire! {
    /// The result of `server/discover`, from 2026-07-28 on (MCP-D-01). Who the server is stands in its metadata.
    pub struct DiscoverResult {
        required {
            /// The kind of result, [`COMPLETE`](super::COMPLETE).
            result_type: String = "resultType",
            /// The versions that the server speaks.
            supported_versions: Vec<String> = "supportedVersions",
            /// What the server can do.
            capabilities: ServerCapabilities = "capabilities",
            /// How many milliseconds the result stays valid.
            ttl_ms: u64 = "ttlMs",
            /// Who may share the result.
            cache_scope: CacheScope = "cacheScope",
        }
        optional {
            /// How to use the server, for the model.
            instructions: Option<String> = "instructions",
            /// Metadata, with [`SERVER_INFO`](super::meta::SERVER_INFO).
            meta: Meta = "_meta",
        }
    }
}

impl DiscoverResult {
    /// A server that speaks these versions. The result is not to be cached.
    #[must_use]
    pub fn new(supported_versions: Vec<String>, capabilities: ServerCapabilities) -> DiscoverResult {
        DiscoverResult {
            result_type: super::COMPLETE.to_owned(),
            supported_versions,
            capabilities,
            ttl_ms: 0,
            cache_scope: CacheScope::default(),
            instructions: None,
            meta: Meta::new(),
        }
    }

    /// Who the server says it is.
    #[must_use]
    pub fn server_info(&self) -> Option<Implementation> {
        self.meta.get(super::meta::SERVER_INFO)?.decode().ok()
    }
}
