//! Which notifications a client wants, without a session.

use super::wire::wire;

wire! {
    /// Which notifications a client wants: the member `notifications` of `subscriptions/listen` and of its acknowledgement,
    /// from 2026-07-28 on (MCP-U-01, MCP-U-02).
    #[derive(Default)]
    pub struct ListenFilter {
        required {}
        optional {
            /// When the list of tools changes.
            tools_list_changed: bool = "toolsListChanged",
            /// When the list of prompts changes.
            prompts_list_changed: bool = "promptsListChanged",
            /// When the list of resources changes.
            resources_list_changed: bool = "resourcesListChanged",
            /// When one of these resources changes, by address.
            resource_subscriptions: Vec<String> = "resourceSubscriptions",
            /// When one of these tasks changes, by identifier. The tasks extension has it.
            task_ids: Vec<String> = "taskIds",
        }
    }
}
