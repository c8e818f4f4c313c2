//! Subscriptions to notifications, without a session.

use super::wire::wire;

wire! {
    /// The notifications of a subscription: the member `notifications` of `subscriptions/listen` and of its
    /// acknowledgement, since 2026-07-28 (MCP-U-01, MCP-U-02).
    #[derive(Default)]
    pub struct ListenFilter {
        required {}
        optional {
            /// Changes of the list of tools.
            tools_list_changed: bool = "toolsListChanged",
            /// Changes of the list of prompts.
            prompts_list_changed: bool = "promptsListChanged",
            /// Changes of the list of resources.
            resources_list_changed: bool = "resourcesListChanged",
            /// Changes of these resources, by URI.
            resource_subscriptions: Vec<String> = "resourceSubscriptions",
            /// Changes of these tasks, by id. Part of the tasks extension.
            task_ids: Vec<String> = "taskIds",
        }
    }
}
