//! Content, what holds it, and lowering.

use proptest::prelude::*;
use serde::Serialize;
use switchboard_core::Json;
use switchboard_mcp::model::{
    Audio, Block, Content, Contents, Image, Mark, Message, Revision, ToolResult, Wire, lower,
};

use crate::values::{
    annotations, any_json, bytes, check, few, icon, meta, object, role, since, some, text, uri,
};

prop_compose! {
    pub(crate) fn contents()(
        uri in uri(), mime_type in some(text()), body in prop_oneof![text().prop_map(Ok), bytes().prop_map(Err)],
        meta in meta()
    ) -> Contents {
        let mut contents = match body {
            Ok(text) => Contents::text(uri, text),
            Err(bytes) => Contents::blob(uri, bytes),
        };
        contents.mime_type = mime_type;
        contents.meta = meta;
        contents
    }
}

prop_compose! {
    fn link()(
        uri in uri(), name in text(), title in some(text()), description in some(text()),
        mime_type in some(text()), size in some(any::<u32>()), icons in few(icon())
    ) -> Content {
        let mut content = Content::link(uri, name);
        if let Block::Link(link) = &mut content.block {
            link.title = title;
            link.description = description;
            link.mime_type = mime_type;
            link.size = size.map(u64::from);
            link.icons = icons;
        }
        content
    }
}

/// A block with neither annotations nor metadata.
fn plain() -> impl Strategy<Value = Content> {
    prop_oneof![
        text().prop_map(Content::text),
        (text(), bytes()).prop_map(|(mime_type, data)| Content::image(Image::new(mime_type, data))),
        (text(), bytes()).prop_map(|(mime_type, data)| Content::audio(Audio::new(mime_type, data))),
        contents().prop_map(Content::resource),
        link(),
    ]
}

prop_compose! {
    pub(crate) fn content()(content in plain(), annotations in some(annotations()), meta in meta()) -> Content {
        let mut content = content;
        content.annotations = annotations;
        content.meta = meta;
        content
    }
}

prop_compose! {
    pub(crate) fn message()(role in role(), content in content()) -> Message {
        let mut message = Message::user(content);
        message.role = role;
        message
    }
}

prop_compose! {
    pub(crate) fn result()(
        content in few(content()), structured in some(any_json()), is_error in any::<bool>(), meta in meta()
    ) -> ToolResult {
        let mut result = ToolResult::new(content);
        result.structured = structured;
        result.is_error = is_error;
        result.meta = meta;
        result
    }
}

/// Lowering the neutral form gives what the value itself writes.
fn check_lowered<T: Wire + Serialize + 'static>(value: &T, mark: Mark) {
    let neutral = Json::encode(value).unwrap();
    for revision in Revision::ALL {
        let lowered = lower::neutral(mark, &neutral, revision).unwrap();
        assert_eq!(lowered, value.to_json(revision), "{revision}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    // MCP-T-05, MCP-T-06, MCP-M-06
    #[test]
    fn results_of_tools_fit_the_schema_of_every_revision(result in result()) {
        check(&result, "CallToolResult", &Revision::ALL);
        check_lowered(&result, Mark::Result);
    }

    // MCP-T-05
    #[test]
    fn blocks_fit_the_schema_and_are_lowered_to_it(blocks in few(content())) {
        for block in &blocks {
            check(block, "ContentBlock", &since(Revision::V2025_06_18));
        }
        check_lowered(&blocks, Mark::Content);
    }

    // MCP-PR-01
    #[test]
    fn messages_fit_the_schema_of_every_revision(message in message()) {
        check(&message, "PromptMessage", &Revision::ALL);
        check_lowered(&message, Mark::Message);
    }

    // MCP-RES-01
    #[test]
    fn contents_fit_the_schema_of_every_revision(contents in contents()) {
        let is_text = matches!(contents.body, switchboard_mcp::model::Body::Text(_));
        let name = if is_text { "TextResourceContents" } else { "BlobResourceContents" };
        check(&contents, name, &Revision::ALL);
        check_lowered(&contents, Mark::Contents);
    }

    // MCP-RES-02
    #[test]
    fn annotations_fit_the_schema(annotations in annotations()) {
        check(&annotations, "Annotations", &since(Revision::V2025_03_26));
    }

    #[test]
    fn structured_values_of_older_revisions_are_objects(value in prop_oneof![any_json(), object()]) {
        let lowered = lower::structured(&value, Revision::V2025_11_25);
        prop_assert!(lowered.decode::<serde_json::Map<_, _>>().is_ok());
        prop_assert_eq!(lower::structured(&value, Revision::LATEST), value);
    }
}

#[test]
fn a_schema_is_written_as_it_was_given() {
    let schema = r#"{"type":"object", "required":["b","a"], "properties":{"b":{"type":"number"},"a":{}}}"#;
    let tool = switchboard_mcp::model::Tool::new("add", Json::parse(schema).unwrap());
    for revision in Revision::ALL {
        assert_eq!(tool.to_json(revision).as_str(), format!(r#"{{"name":"add","inputSchema":{schema}}}"#));
    }
}
