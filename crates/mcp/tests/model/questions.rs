//! Questions to clients and their answers.

use proptest::prelude::*;
use serde_json::json;
use switchboard_core::Json;
use switchboard_mcp::model::{
    Elicitation, Elicited, IncludeContext, InputRequest, InputRequired, ModelHint, ModelPreferences,
    Revision, Sampled, Sampling, SamplingContent, SamplingMessage, ToolChoice, ToolChoiceMode, ToolUse,
    ToolUseResult,
};

use crate::content::{content, result};
use crate::lists::tool;
use crate::values::{check, check_inside, few, meta, object, request, role, share, since, some, text, uri};

fn sampling_content() -> impl Strategy<Value = SamplingContent> {
    let used = (text(), text(), object(), meta()).prop_map(|(id, name, input, meta)| {
        let mut used = ToolUse::new(id, name, input);
        used.meta = meta;
        used
    });
    prop_oneof![
        3 => content().prop_map(SamplingContent::from),
        1 => used.prop_map(SamplingContent::from),
        1 => (text(), result()).prop_map(|(id, result)| ToolUseResult::new(id, result).into()),
    ]
}

prop_compose! {
    fn sampling_message()(
        role in role(), content in few(sampling_content()), meta in meta()
    ) -> SamplingMessage {
        let mut message = SamplingMessage::user("");
        message.role = role;
        message.content = content;
        message.meta = meta;
        message
    }
}

prop_compose! {
    fn preferences()(hints in few(some(text())), shares in [some(share()), some(share()), some(share())]) -> ModelPreferences {
        let hint = |name| {
            let mut hint = ModelHint::default();
            hint.name = name;
            hint
        };
        let mut preferences = ModelPreferences::default();
        preferences.hints = hints.into_iter().map(hint).collect();
        preferences.cost_priority = shares[0];
        preferences.speed_priority = shares[1];
        preferences.intelligence_priority = shares[2];
        preferences
    }
}

prop_compose! {
    fn sampling()(
        messages in few(sampling_message()), max_tokens in any::<u32>(), preferences in some(preferences()),
        system_prompt in some(text()), context in some(proptest::sample::select(IncludeContext::ALL)),
        temperature in some(share()), stop_sequences in few(text()), metadata in some(object()),
        tools in few(tool()), mode in some(some(proptest::sample::select(ToolChoiceMode::ALL))), meta in meta()
    ) -> Sampling {
        let mut sampling = Sampling::new(messages, max_tokens.into());
        sampling.model_preferences = preferences;
        sampling.system_prompt = system_prompt;
        sampling.include_context = context;
        sampling.temperature = temperature;
        sampling.stop_sequences = stop_sequences;
        sampling.metadata = metadata;
        sampling.tools = tools;
        sampling.tool_choice = mode.map(|mode| {
            let mut choice = ToolChoice::default();
            choice.mode = mode;
            choice
        });
        sampling.meta = meta;
        sampling
    }
}

/// A field of a form.
fn field() -> impl Strategy<Value = serde_json::Value> {
    let options = few(("[a-z]{1,3}", text()));
    prop_oneof![
        text().prop_map(|default| json!({"type": "string", "minLength": 1, "default": default})),
        any::<i32>().prop_map(|default| json!({"type": "integer", "minimum": 1, "default": default})),
        any::<bool>().prop_map(|default| json!({"type": "boolean", "title": "A", "default": default})),
        Just(json!({"type": "string", "enum": ["a", "b"], "default": "a"})),
        options.prop_map(|options| {
            let option = |(value, title)| json!({"const": value, "title": title});
            json!({"type": "string", "oneOf": options.into_iter().map(option).collect::<Vec<_>>()})
        }),
    ]
}

fn form() -> impl Strategy<Value = Json> {
    few(("[a-z]{1,3}", field())).prop_map(|fields| {
        let properties: serde_json::Map<_, _> = fields.into_iter().collect();
        let schema = "https://json-schema.org/draft/2020-12/schema";
        Json::encode(&json!({"$schema": schema, "type": "object", "properties": properties})).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    // MCP-SA-01, MCP-SA-02
    #[test]
    fn questions_to_models_fit_the_schema_of_every_revision(sampling in sampling()) {
        check_inside(&sampling, "CreateMessageRequest", &Revision::ALL, |revision, params| {
            request(revision, "CreateMessageRequest", "sampling/createMessage", &params)
        });
    }

    // MCP-SA-01
    #[test]
    fn answers_of_models_fit_the_schema_of_every_revision(
        message in sampling_message(), model in text(), stop_reason in some(text())
    ) {
        let mut sampled = Sampled::new(model, "");
        sampled.role = message.role;
        sampled.content = message.content;
        sampled.stop_reason = stop_reason;
        sampled.meta = message.meta;
        check(&sampled, "CreateMessageResult", &Revision::ALL);
    }

    // MCP-EL-01
    #[test]
    fn forms_fit_the_schema(message in text(), schema in form()) {
        let ask = Elicitation::form(message, schema);
        check_inside(&ask, "ElicitRequest", &since(Revision::V2025_06_18), |revision, params| {
            request(revision, "ElicitRequest", "elicitation/create", &params)
        });
    }

    // MCP-EL-04
    #[test]
    fn urls_fit_the_schema(message in text(), url in uri(), id in text()) {
        let ask = Elicitation::url(message, url, id);
        check_inside(&ask, "ElicitRequest", &since(Revision::V2025_11_25), |revision, params| {
            request(revision, "ElicitRequest", "elicitation/create", &params)
        });
    }

    // MCP-R-01, MCP-R-02
    #[test]
    fn requests_for_input_fit_the_schema(
        sampling in sampling(), schema in form(), state in some(text()), meta in meta()
    ) {
        let asked = [
            InputRequest::sample(&sampling),
            InputRequest::elicit(&Elicitation::form("Seat?", schema)),
            InputRequest::roots(),
        ];
        let asked = asked.into_iter().map(|request| (request.method.clone(), request));
        let mut result = InputRequired::new(asked.collect());
        result.request_state = state;
        result.meta = meta;
        check(&result, "InputRequiredResult", &[Revision::V2026_07_28]);
    }

    // MCP-EL-02
    #[test]
    fn answers_of_users_fit_the_schema(fields in object(), meta in meta()) {
        let mut accepted = Elicited::accept(&fields).unwrap();
        accepted.meta = meta;
        for answer in [accepted, Elicited::consent(), Elicited::decline(), Elicited::cancel()] {
            check(&answer, "ElicitResult", &since(Revision::V2025_06_18));
        }
    }
}
