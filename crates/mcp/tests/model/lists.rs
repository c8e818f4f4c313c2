//! What lists show, the handshake, and capabilities.

use proptest::prelude::*;
use switchboard_core::Json;
use switchboard_mcp::model::{
    Annotations, CacheScope, ClientCapabilities, Completion, CompletionParams, CompletionRef, DiscoverResult,
    Elicited, Icon, Implementation, InitializeParams, InitializeResult, ListenFilter, LogLevel, LogParams,
    Message, ModelPreferences, ProgressParams, Prompt, PromptArgument, Resource, ResourceTemplate, Revision,
    Root, Roots, Sampled, SamplingMessage, ServerCapabilities, Task, TaskStatus, TaskSupport, Tool,
    ToolAnnotations, ToolExecution, Wire as _,
};

use crate::schemas;
use crate::values::{
    annotations, check, check_inside, few, icon, implementation, meta, notification, object, objects,
    request, some, text, uri,
};

const SESSIONS: &[Revision] =
    &[Revision::V2024_11_05, Revision::V2025_03_26, Revision::V2025_06_18, Revision::V2025_11_25];

fn input_schema() -> impl Strategy<Value = Json> {
    prop_oneof![
        Just(r#"{"type":"object"}"#),
        Just(r#"{"type":"object","additionalProperties":false}"#),
        Just(r#"{"properties":{"a":{"type":"number"}},"required":["a"],"type":"object"}"#),
    ]
    .prop_map(|text| Json::parse(text).unwrap())
}

fn output_schema() -> impl Strategy<Value = Json> {
    let others = prop_oneof![
        Just(r#"{"type":"number"}"#),
        Just("true"),
        Just(r##"{"type":"array","items":{"$ref":"#/$defs/A"},"$defs":{"A":{"type":"string"}}}"##),
    ];
    prop_oneof![input_schema(), others.prop_map(|text| Json::parse(text).unwrap())]
}

prop_compose! {
    fn tool_annotations()(
        title in some(text()), hints in any::<[Option<bool>; 4]>()
    ) -> ToolAnnotations {
        let mut annotations = ToolAnnotations::default();
        annotations.title = title;
        annotations.read_only = hints[0];
        annotations.destructive = hints[1];
        annotations.idempotent = hints[2];
        annotations.open_world = hints[3];
        annotations
    }
}

prop_compose! {
    pub(crate) fn tool()(
        name in "[a-z_]{1,9}", input_schema in input_schema(), title in some(text()), description in some(text()),
        output_schema in some(output_schema()), annotations in some(tool_annotations()), icons in few(icon()),
        support in some(some(proptest::sample::select(TaskSupport::ALL))), meta in meta()
    ) -> Tool {
        let mut tool = Tool::new(name, input_schema);
        tool.title = title;
        tool.description = description;
        tool.output_schema = output_schema;
        tool.annotations = annotations;
        tool.icons = icons;
        tool.execution = support.map(|task_support| {
            let mut execution = ToolExecution::default();
            execution.task_support = task_support;
            execution
        });
        tool.meta = meta;
        tool
    }
}

prop_compose! {
    fn resource()(
        uri in uri(), name in text(), title in some(text()), description in some(text()), mime_type in some(text()),
        size in some(any::<u32>()), annotations in some(annotations()), icons in few(icon()), meta in meta()
    ) -> Resource {
        let mut resource = Resource::new(uri, name);
        resource.title = title;
        resource.description = description;
        resource.mime_type = mime_type;
        resource.size = size.map(u64::from);
        resource.annotations = annotations;
        resource.icons = icons;
        resource.meta = meta;
        resource
    }
}

prop_compose! {
    fn prompt()(
        name in text(), title in some(text()), description in some(text()), icons in few(icon()), meta in meta(),
        arguments in few((text(), some(text()), some(text()), any::<bool>()))
    ) -> Prompt {
        let argument = |(name, title, description, required): (String, _, _, _)| {
            let mut argument = PromptArgument::new(name);
            argument.title = title;
            argument.description = description;
            argument.required = required;
            argument
        };
        let mut prompt = Prompt::new(name);
        prompt.title = title;
        prompt.description = description;
        prompt.arguments = arguments.into_iter().map(argument).collect();
        prompt.icons = icons;
        prompt.meta = meta;
        prompt
    }
}

prop_compose! {
    fn server_capabilities()(
        has in any::<[bool; 6]>(), flags in any::<[bool; 4]>(), experimental in objects(), extensions in objects()
    ) -> ServerCapabilities {
        let mut server = ServerCapabilities::default();
        server.tools = has[0].then(Default::default);
        server.resources = has[1].then(Default::default);
        server.prompts = has[2].then(Default::default);
        server.completions = has[3].then(Default::default);
        server.logging = has[4].then(Default::default);
        server.tasks = has[5].then(Default::default);
        if let Some(tools) = &mut server.tools {
            tools.list_changed = flags[0];
        }
        if let Some(resources) = &mut server.resources {
            (resources.subscribe, resources.list_changed) = (flags[1], flags[2]);
        }
        if let Some(tasks) = &mut server.tasks {
            tasks.list = flags[3].then(Default::default);
            tasks.requests = Some(Json::parse(r#"{"tools":{"call":{}}}"#).unwrap());
        }
        server.experimental = experimental;
        server.extensions = extensions;
        server
    }
}

prop_compose! {
    pub(crate) fn client_capabilities()(
        has in any::<[bool; 4]>(), flags in any::<[bool; 6]>(), experimental in objects(), extensions in objects()
    ) -> ClientCapabilities {
        let mut client = ClientCapabilities::default();
        client.roots = has[0].then(Default::default);
        client.sampling = has[1].then(Default::default);
        client.elicitation = has[2].then(Default::default);
        client.tasks = has[3].then(Default::default);
        if let Some(roots) = &mut client.roots {
            roots.list_changed = flags[0];
        }
        if let Some(sampling) = &mut client.sampling {
            sampling.tools = flags[1].then(Default::default);
            sampling.context = flags[2].then(Default::default);
        }
        if let Some(elicitation) = &mut client.elicitation {
            elicitation.form = flags[3].then(Default::default);
            elicitation.url = flags[4].then(Default::default);
        }
        if let Some(tasks) = &mut client.tasks {
            tasks.cancel = flags[5].then(Default::default);
        }
        client.experimental = experimental;
        client.extensions = extensions;
        client
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    // MCP-T-02, MCP-T-04, MCP-X-07
    #[test]
    fn tools_fit_the_schema_of_every_revision(tool in tool()) {
        check(&tool, "Tool", &Revision::ALL);
    }

    // MCP-RES-01
    #[test]
    fn resources_fit_the_schema_of_every_revision(resource in resource()) {
        check(&resource, "Resource", &Revision::ALL);
        let mut template = ResourceTemplate::new("test://t/{id}", resource.name);
        template.title = resource.title;
        template.description = resource.description;
        template.mime_type = resource.mime_type;
        template.annotations = resource.annotations;
        template.icons = resource.icons;
        template.meta = resource.meta;
        check(&template, "ResourceTemplate", &Revision::ALL);
    }

    // MCP-PR-01
    #[test]
    fn prompts_fit_the_schema_of_every_revision(prompt in prompt()) {
        check(&prompt, "Prompt", &Revision::ALL);
    }

    // MCP-B-10
    #[test]
    fn implementations_fit_the_schema_of_every_revision(implementation in implementation()) {
        check(&implementation, "Implementation", &Revision::ALL);
    }

    // MCP-RO-01
    #[test]
    fn roots_fit_the_schema_of_every_revision(uri in uri(), name in some(text()), one in meta(), all in meta()) {
        let mut root = Root::new(uri);
        root.name = name;
        root.meta = one;
        let mut roots = Roots::new(vec![root]);
        roots.meta = all;
        check(&roots, "ListRootsResult", &Revision::ALL);
    }

    // MCP-M-09, MCP-TK-01
    #[test]
    fn capabilities_fit_the_schema_of_every_revision(
        client in client_capabilities(), server in server_capabilities()
    ) {
        check(&client, "ClientCapabilities", &Revision::ALL);
        check(&server, "ServerCapabilities", &Revision::ALL);
    }

    // MCP-D-01
    #[test]
    fn handshakes_fit_the_schema(
        client in client_capabilities(), server in server_capabilities(), info in implementation(),
        instructions in some(text()), ttl_ms in any::<u32>(), meta in meta()
    ) {
        let params = InitializeParams::new("2025-06-18", client, info.clone());
        check_inside(&params, "InitializeRequest", SESSIONS, |revision, params| {
            request(revision, "InitializeRequest", "initialize", &params)
        });
        let mut result = InitializeResult::new("2025-06-18", server.clone(), info);
        result.instructions = instructions.clone();
        result.meta = meta.clone();
        check(&result, "InitializeResult", SESSIONS);
        let mut found = DiscoverResult::new(vec!["2026-07-28".to_owned()], server);
        found.instructions = instructions;
        found.meta = meta;
        found.ttl_ms = ttl_ms.into();
        found.cache_scope = CacheScope::Public;
        check(&found, "DiscoverResult", &[Revision::V2026_07_28]);
    }

    // MCP-O-01
    #[test]
    fn completions_fit_the_schema_of_every_revision(
        count in 0..250_usize, name in text(), value in text(), is_prompt in any::<bool>()
    ) {
        let completion = Completion::new((0..count).map(|n| n.to_string()));
        check_inside(&completion, "CompleteResult", &Revision::ALL, |revision, completion| {
            let mut result = serde_json::json!({"completion": completion});
            if revision.is_stateless() {
                result["resultType"] = "complete".into();
            }
            result
        });
        let reference = if is_prompt { CompletionRef::Prompt(name) } else { CompletionRef::Resource("a:b".to_owned()) };
        let mut params = CompletionParams::new(reference, "city", value);
        params.context = Some(Default::default());
        check_inside(&params, "CompleteRequest", SESSIONS, |revision, params| {
            request(revision, "CompleteRequest", "completion/complete", &params)
        });
    }

    // MCP-TK-02
    #[test]
    fn tasks_fit_the_schema(
        id in text(), status in proptest::sample::select(TaskStatus::ALL), message in some(text()),
        times in any::<[Option<u32>; 2]>(), result in some(object())
    ) {
        let mut task = Task::new(id);
        task.set_status(status);
        task.status_message = message;
        task.ttl = times[0].map(u64::from);
        task.poll_interval = times[1].map(u64::from);
        task.result = result;
        check(&task, "Task", &[Revision::V2025_11_25]);
        let extension = task.to_json(Revision::V2026_07_28);
        prop_assert_eq!(extension.decode::<Task>().unwrap(), task);
    }

    // MCP-P-01, MCP-LOG-01
    #[test]
    fn progress_and_log_messages_fit_the_schema_of_every_revision(
        token in prop_oneof![Just("7"), Just("\"a\"")], progress in 0.0..9e9, total in some(0.0..9e9), message in some(text()),
        level in proptest::sample::select(LogLevel::ALL), data in object(), logger in some(text()), meta in meta()
    ) {
        let mut params = ProgressParams::new(Json::parse(token).unwrap(), progress);
        params.total = total;
        params.message = message;
        params.meta = meta.clone();
        check_inside(&params, "ProgressNotification", &Revision::ALL, |revision, params| {
            notification(revision, "ProgressNotification", "notifications/progress", &params)
        });
        let mut params = LogParams::new(level, data);
        params.logger = logger;
        params.meta = meta;
        check_inside(&params, "LoggingMessageNotification", &Revision::ALL, |revision, params| {
            notification(revision, "LoggingMessageNotification", "notifications/message", &params)
        });
    }

    // MCP-U-01
    #[test]
    fn filters_of_notifications_fit_the_schema(flags in any::<[bool; 3]>(), resources in few(uri())) {
        let mut filter = ListenFilter::default();
        filter.tools_list_changed = flags[0];
        filter.prompts_list_changed = flags[1];
        filter.resources_list_changed = flags[2];
        filter.resource_subscriptions = resources;
        check(&filter, "SubscriptionFilter", &[Revision::V2026_07_28]);
    }
}

// MCP-LOG-01
#[test]
fn every_log_level_is_in_the_schema() {
    for level in LogLevel::ALL {
        check(level, "LoggingLevel", &Revision::ALL);
    }
}

#[test]
fn the_members_of_a_type_are_those_of_the_schema() {
    let check = |name: &str, members: &[switchboard_mcp::model::Member]| {
        for revision in Revision::ALL {
            let Some(schema) = schemas::definition(revision, name) else { continue };
            let published: Vec<_> = schema["properties"].as_object().unwrap().keys().cloned().collect();
            let mut own: Vec<_> =
                members.iter().filter(|m| m.is_in(revision)).map(|m| m.name.to_owned()).collect();
            own.retain(|name| name != "extensions" || published.contains(name));
            own.sort();
            assert_eq!(own, published, "{revision} {name}");
        }
    };
    check("Implementation", Implementation::MEMBERS);
    check("Icon", Icon::MEMBERS);
    check("Tool", Tool::MEMBERS);
    check("ToolAnnotations", ToolAnnotations::MEMBERS);
    check("Resource", Resource::MEMBERS);
    check("ResourceTemplate", ResourceTemplate::MEMBERS);
    check("Prompt", Prompt::MEMBERS);
    check("PromptArgument", PromptArgument::MEMBERS);
    check("PromptMessage", Message::MEMBERS);
    check("ClientCapabilities", ClientCapabilities::MEMBERS);
    check("ServerCapabilities", ServerCapabilities::MEMBERS);
    check("Annotations", Annotations::MEMBERS);
    check("Root", Root::MEMBERS);
    check("CreateMessageResult", Sampled::MEMBERS);
    check("SamplingMessage", SamplingMessage::MEMBERS);
    check("ElicitResult", Elicited::MEMBERS);
    check("ModelPreferences", ModelPreferences::MEMBERS);
    check("InitializeResult", InitializeResult::MEMBERS);
    check("DiscoverResult", DiscoverResult::MEMBERS);
}
