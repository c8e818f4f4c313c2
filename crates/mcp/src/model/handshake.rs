//! The start of a conversation: `initialize` with sessions, `server/discover` without.

use super::wire::{tokens, wire};
use super::{ClientCapabilities, Implementation, Meta, ServerCapabilities};

wire! {
    /// The params of `initialize`, until 2025-11-25.
    #[derive(Default)]
    pub struct InitializeParams {
        required {
            /// The version that the client requests, which may be unknown to us.
            protocol_version: String = "protocolVersion",
            /// The capabilities of the client.
            capabilities: ClientCapabilities = "capabilities",
            /// The name and version of the client.
            client_info: Implementation = "clientInfo",
        }
        optional {}
    }
}

impl InitializeParams {
    /// Params that request this version.
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
            /// The negotiated version.
            protocol_version: String = "protocolVersion",
            /// The capabilities of the server.
            capabilities: ServerCapabilities = "capabilities",
            /// The name and version of the server.
            server_info: Implementation = "serverInfo",
        }
        optional {
            /// Instructions for the model on how to use the server.
            instructions: Option<String> = "instructions",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

impl InitializeResult {
    /// A result that agrees to this version.
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
    /// Which requests a cached result may answer (MCP-K-02).
    #[derive(Default)]
    pub enum CacheScope {
        /// Only requests with the same authorization.
        #[default]
        Private = "private",
        /// All requests.
        Public = "public",
    }
}

wire! {
    /// The result of `server/discover`, since 2026-07-28 (MCP-D-01). Its metadata names the server.
    pub struct DiscoverResult {
        required {
            /// The type of result, always [`COMPLETE`](super::COMPLETE).
            result_type: String = "resultType",
            /// The protocol versions that the server supports.
            supported_versions: Vec<String> = "supportedVersions",
            /// The capabilities of the server.
            capabilities: ServerCapabilities = "capabilities",
            /// How long the result may be cached, in milliseconds.
            ttl_ms: u64 = "ttlMs",
            /// Which requests the cached result may answer.
            cache_scope: CacheScope = "cacheScope",
        }
        optional {
            /// Instructions for the model on how to use the server.
            instructions: Option<String> = "instructions",
            /// Metadata, with [`SERVER_INFO`](super::meta::SERVER_INFO).
            meta: Meta = "_meta",
        }
    }
}

impl DiscoverResult {
    /// A server that supports these versions. The result must not be cached.
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

    /// The name and version that the server claims.
    #[must_use]
    pub fn server_info(&self) -> Option<Implementation> {
        self.meta.get(super::meta::SERVER_INFO)?.decode().ok()
    }
}
