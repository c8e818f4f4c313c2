//! A host that uses rmcp, and what it does with a server.

use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, CreateMessageRequestParams,
    CreateMessageResult, ElicitRequestParams, ElicitResult, ElicitationAction, ErrorData, Implementation,
    ListRootsResult, ProgressNotificationParam, ProtocolVersion, Root, SamplingMessage,
};
use rmcp::service::{NotificationContext, RequestContext, RunningService};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, RoleClient, ServiceError};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Nothing here takes that long; it only keeps a mistake from hanging the tests.
pub(crate) const LIMIT: Duration = Duration::from_secs(50);

/// A host with a model, a user and folders. It hands on the progress that it hears of.
pub(crate) struct Host {
    version: ProtocolVersion,
    progress: mpsc::UnboundedSender<f64>,
}

impl ClientHandler for Host {
    fn get_info(&self) -> ClientConfig {
        let capabilities = json!({"sampling": {}, "elicitation": {}, "roots": {}});
        let capabilities: ClientCapabilities =
            serde_json::from_value(capabilities).expect("it can read them");
        ClientConfig::new(capabilities, Implementation::new("interop", "1.0.0"))
            .with_protocol_version(self.version.clone())
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let asked = serde_json::to_value(&params.messages).expect("messages are JSON").to_string();
        let answer = if asked.contains("Capital of France?") { "Paris" } else { "What?" };
        Ok(CreateMessageResult::new(SamplingMessage::assistant_text(answer), "test".to_owned()))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(vec![Root::new("file:///home")]))
    }

    async fn create_elicitation(
        &self,
        asked: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { requested_schema, .. } = asked else {
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        };
        let filled =
            requested_schema.properties.keys().map(|name| (name.clone(), json!(format!("my {name}"))));
        let filled = Value::Object(filled.collect());
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(filled))
    }

    async fn on_progress(&self, told: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let _ = self.progress.send(told.progress);
    }
}

pub(crate) type Client = RunningService<RoleClient, Host>;

/// A client of this revision, and the progress that it hears of.
pub(crate) async fn connect<T, E, A>(
    transport: T,
    version: &ProtocolVersion,
) -> (Client, mpsc::UnboundedReceiver<f64>)
where
    T: rmcp::transport::IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let lifecycle = match *version == ProtocolVersion::V_2026_07_28 {
        true => ClientLifecycleMode::Discover { preferred_versions: vec![version.clone()] },
        false => ClientLifecycleMode::Initialize,
    };
    let (progress, heard) = mpsc::unbounded_channel();
    let host = Host { version: version.clone(), progress };
    let client = timeout(LIMIT, host.serve_with_lifecycle(transport, lifecycle)).await;
    let client = client.expect("it connects in time").expect("it connects");
    let agreed = client.peer_info().expect("the server says what it is").protocol_version.clone();
    assert_eq!(agreed, *version);
    (client, heard)
}

pub(crate) fn revisions() -> [ProtocolVersion; 5] {
    [
        ProtocolVersion::V_2024_11_05,
        ProtocolVersion::V_2025_03_26,
        ProtocolVersion::V_2025_06_18,
        ProtocolVersion::V_2025_11_25,
        ProtocolVersion::V_2026_07_28,
    ]
}

pub(crate) fn tool(name: &'static str, arguments: Value) -> CallToolRequestParams {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    CallToolRequestParams::new(name).with_arguments(arguments)
}

pub(crate) async fn call(
    client: &Client,
    name: &'static str,
    arguments: Value,
) -> Result<CallToolResult, ServiceError> {
    timeout(LIMIT, client.call_tool(tool(name, arguments))).await.expect("it is answered in time")
}

pub(crate) async fn told(client: &Client, name: &'static str, arguments: Value) -> String {
    let result = call(client, name, arguments).await.unwrap_or_else(|error| panic!("{name}: {error}"));
    let text = result.content.first().and_then(|block| block.as_text()).map(|block| block.text.clone());
    text.unwrap_or_else(|| panic!("{name}: {result:?}"))
}
