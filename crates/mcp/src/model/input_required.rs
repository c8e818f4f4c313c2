//! Results that request input from the client, without a session.

use std::collections::BTreeMap;

use switchboard_core::Json;

use super::meta::Meta;
use super::wire::wire;
use super::{Elicitation, Revision, Sampling, Wire as _, methods};

/// The type of a result that requests input.
pub const INPUT_REQUIRED: &str = "input_required";

wire! {
    /// A result that requests input, since 2026-07-28. The client repeats its request with the answers (MCP-R-01).
    pub struct InputRequired {
        required {
            /// The type of result, always [`INPUT_REQUIRED`].
            result_type: String = "resultType",
        }
        optional {
            /// The requests, by key.
            input_requests: BTreeMap<String, InputRequest> = "inputRequests",
            /// Opaque state, which the client sends back unchanged. Never trust it unless it is sealed (MCP-R-05).
            request_state: Option<String> = "requestState",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

impl InputRequired {
    /// A result with these requests. At least one request or a state must be present.
    #[must_use]
    pub fn new(input_requests: BTreeMap<String, InputRequest>) -> InputRequired {
        let result_type = INPUT_REQUIRED.to_owned();
        InputRequired { result_type, input_requests, request_state: None, meta: Meta::new() }
    }
}

wire! {
    /// A request for input inside a result or a task (MCP-R-02).
    pub struct InputRequest {
        required {
            /// The method, one of [`INPUT_REQUESTS`](methods::INPUT_REQUESTS).
            method: String = "method",
        }
        optional {
            /// The params.
            params: Option<Json> = "params",
        }
    }
}

impl InputRequest {
    /// Asks the user.
    #[must_use]
    pub fn elicit(elicitation: &Elicitation) -> InputRequest {
        InputRequest {
            method: methods::ELICIT.to_owned(),
            params: Some(elicitation.to_json(Revision::LATEST)),
        }
    }

    /// Asks the model.
    #[must_use]
    pub fn sample(sampling: &Sampling) -> InputRequest {
        InputRequest {
            method: methods::CREATE_MESSAGE.to_owned(),
            params: Some(sampling.to_json(Revision::LATEST)),
        }
    }

    /// Asks for the roots of the client.
    #[must_use]
    pub fn roots() -> InputRequest {
        InputRequest { method: methods::LIST_ROOTS.to_owned(), params: None }
    }
}
