//! What a client says about its request, besides the message.

use serde::{Deserialize, Serialize};
use switchboard_core::{Context, Json, TraceContext};

use super::spoken::activated;
use crate::model::{AgentCard, SendConfiguration, SendMessage};

/// What a client has said about its request, besides the message. It is stored with the task, so a function that is called again after a restart
/// gets the same.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct RequestDetails {
    /// The metadata of the request, an object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// The media types that the client takes; any if empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepted_output_modes: Vec<String>,
    /// The extensions that the client has declared and that the card names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
    /// The tenant that the client has named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The span of the request in its trace, as a `traceparent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<String>,
}

impl RequestDetails {
    pub(super) fn of(request: &SendMessage, cx: &Context, card: &AgentCard) -> RequestDetails {
        let modes = request.configuration.as_ref().map(|how| how.accepted_output_modes.clone());
        let trace = cx.trace().or_else(|| TraceContext::of(cx.metadata()));
        RequestDetails {
            metadata: request.metadata.as_ref().map(Json::detached),
            accepted_output_modes: modes.unwrap_or_default(),
            extensions: activated(cx, card),
            tenant: request.tenant.clone(),
            trace: trace.map(|trace| trace.to_string()),
        }
    }

    /// Makes a request without them the one that it was.
    pub(super) fn restore(&self, request: &mut SendMessage, cx: &mut Context) {
        request.metadata.clone_from(&self.metadata);
        request.tenant.clone_from(&self.tenant);
        if !self.accepted_output_modes.is_empty() {
            let accepted_output_modes = self.accepted_output_modes.clone();
            request.configuration =
                Some(SendConfiguration { accepted_output_modes, ..SendConfiguration::default() });
        }
        if let Some(trace) = self.trace.as_deref().and_then(TraceContext::parse) {
            cx.set_trace(trace);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == RequestDetails::default()
    }
}
