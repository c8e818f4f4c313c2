//! Converts values of the latest revision to older ones.
//!
//! The wire types omit members that a revision lacks. This module handles all other differences. Each function returns its
//! input, which is cheap to clone, if nothing has to change.

use serde::de::DeserializeOwned;
use switchboard_core::{Json, Kind};

use super::{Content, Contents, Mark, Message, Revision, ToolResult, Wire};

mod form;
mod output;

pub use form::requested_schema;
pub use output::{output_schema, structured, wrap, wraps};

/// Converts the neutral form that a handler returned to the shape of `revision`. Lists stay lists.
///
/// # Errors
///
/// When the value does not have the type of the mark.
///
/// # Examples
///
/// ```
/// use switchboard_core::Json;
/// use switchboard_mcp::model::{Content, Mark, Revision, lower};
///
/// let neutral = Json::encode(&vec![Content::text("See:"), Content::link("desk://oslo", "Oslo")])?;
/// let lowered = lower::neutral(Mark::Content, &neutral, Revision::V2025_03_26)?;
/// assert_eq!(
///     lowered.as_str(),
///     r#"[{"type":"text","text":"See:"},{"type":"text","text":"Oslo: desk://oslo"}]"#
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn neutral(mark: Mark, value: &Json, revision: Revision) -> Result<Json, serde_json::Error> {
    let is_changed = match mark {
        Mark::Content => any(value, |block| is_block_changed(block, revision)),
        Mark::Contents => any(value, |contents| is_contents_changed(contents, revision)),
        Mark::Message => any(value, |message| {
            message.get("content").is_some_and(|block| is_block_changed(&block, revision))
        }),
        Mark::Result => is_result_changed(value, revision),
    };
    match mark {
        _ if !is_changed => Ok(value.clone()),
        Mark::Content => rewrite::<Content>(value, revision),
        Mark::Contents => rewrite::<Contents>(value, revision),
        Mark::Message => rewrite::<Message>(value, revision),
        Mark::Result => rewrite::<ToolResult>(value, revision),
    }
}

/// Like [`neutral`], but always returns a list: a single value becomes a list of one, `null` an empty list.
///
/// # Errors
///
/// As for [`neutral`].
pub fn neutral_list(mark: Mark, value: &Json, revision: Revision) -> Result<Json, serde_json::Error> {
    let lowered = neutral(mark, value, revision)?;
    match lowered.kind() {
        Kind::Array => Ok(lowered),
        Kind::Null => Json::encode_ref::<[Json]>(&[]),
        _ => Json::encode_ref(&[lowered]),
    }
}

/// Whether the value, or an element if it is a list, satisfies the predicate.
fn any(value: &Json, predicate: impl Fn(&Json) -> bool) -> bool {
    match value.kind() {
        Kind::Array => value.elements().any(|element| predicate(&element)),
        _ => predicate(value),
    }
}

fn is_block_changed(block: &Json, revision: Revision) -> bool {
    // Blocks have not changed since.
    if revision >= Revision::V2025_11_25 {
        return false;
    }
    let [kind, icons, annotations, meta, resource] =
        block.pick(["type", "icons", "annotations", "_meta", "resource"]);
    if revision >= Revision::V2025_06_18 {
        return icons.is_some();
    }
    let is_unknown = kind.is_some_and(|kind| match kind.as_str() {
        r#""audio""# => revision < Revision::V2025_03_26,
        r#""resource_link""# => true,
        _ => false,
    });
    is_unknown
        || meta.is_some()
        || annotations.is_some_and(|annotations| annotations.get("lastModified").is_some())
        || resource.is_some_and(|contents| is_contents_changed(&contents, revision))
}

fn is_contents_changed(contents: &Json, revision: Revision) -> bool {
    revision < Revision::V2025_06_18 && contents.get("_meta").is_some()
}

fn is_result_changed(result: &Json, revision: Revision) -> bool {
    let [kind, content, value] = result.pick(["resultType", "content", "structuredContent"]);
    // Only stateless revisions have the type of the result.
    kind.is_some() != revision.is_stateless()
        || content.is_some_and(|content| any(&content, |block| is_block_changed(block, revision)))
        || value.is_some_and(|value| revision < Revision::V2025_06_18 || wraps_value(&value, revision))
}

fn wraps_value(value: &Json, revision: Revision) -> bool {
    !revision.is_stateless() && value.kind() != Kind::Object
}

/// Parses a value or a list and writes it in the shape of the revision.
fn rewrite<T>(value: &Json, revision: Revision) -> Result<Json, serde_json::Error>
where
    T: Wire + DeserializeOwned + 'static,
{
    match value.kind() {
        Kind::Array => Ok(value.decode::<Vec<T>>()?.to_json(revision)),
        _ => Ok(value.decode::<T>()?.to_json(revision)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Audio, Icon, Image};

    fn check(value: &Json, revision: Revision, expected: &str) {
        assert_eq!(neutral(Mark::Content, value, revision).unwrap().as_str(), expected, "{revision}");
    }

    // MCP-T-05
    #[test]
    fn a_revision_that_does_not_know_a_kind_of_content_gets_a_text() {
        let audio = Json::encode(&Audio::wav(&b"RIFF"[..])).unwrap();
        let own = r#"{"type":"audio","data":"UklGRg==","mimeType":"audio/wav"}"#;
        check(
            &audio,
            Revision::V2024_11_05,
            r#"{"type":"text","text":"[audio of type audio/wav, 4 bytes]"}"#,
        );
        check(&audio, Revision::V2025_03_26, own);

        let mut link = Content::link("desk://oslo", "Oslo").for_user();
        let crate::model::Block::Link(target) = &mut link.block else { unreachable!() };
        target.icons = vec![Icon::new("https://desk.example/oslo.png")];
        let link = Json::encode(&link).unwrap();
        let text = r#"{"type":"text","text":"Oslo: desk://oslo","annotations":{"audience":["user"]}}"#;
        check(&link, Revision::V2025_03_26, text);
        let plain = r#"{"type":"resource_link","uri":"desk://oslo","name":"Oslo","annotations":{"audience":["user"]}}"#;
        check(&link, Revision::V2025_06_18, plain);
        check(&link, Revision::V2025_11_25, link.as_str());
    }

    #[test]
    fn unchanged_values_are_not_copied() {
        let blocks = vec![Content::image(Image::png(vec![1; 60])), Content::text("a").with_priority(2.0)];
        let blocks = Json::encode(&blocks).unwrap();
        for revision in Revision::ALL {
            let lowered = neutral(Mark::Content, &blocks, revision).unwrap();
            assert_eq!(lowered.as_bytes().as_ptr(), blocks.as_bytes().as_ptr());
        }
    }

    #[test]
    fn a_single_block_becomes_a_list_of_one() {
        let text = Json::encode(&Content::text("a")).unwrap();
        let list = neutral_list(Mark::Content, &text, Revision::V2024_11_05).unwrap();
        assert_eq!(list.as_str(), r#"[{"type":"text","text":"a"}]"#);
        assert_eq!(neutral_list(Mark::Content, &Json::NULL, Revision::LATEST).unwrap().as_str(), "[]");
    }

    // MCP-M-06, MCP-T-06, MCP-X-07
    #[test]
    fn a_result_has_the_structure_and_the_members_of_its_revision() {
        let result = Json::encode(&ToolResult::structured(&[1]).unwrap()).unwrap();
        let check = |revision, expected: &str| {
            assert_eq!(neutral(Mark::Result, &result, revision).unwrap().as_str(), expected);
        };
        let content = r#""content":[{"type":"text","text":"[1]"}]"#;
        check(Revision::V2025_03_26, &format!("{{{content}}}"));
        check(Revision::V2025_06_18, &format!(r#"{{{content},"structuredContent":{{"result":[1]}}}}"#));
        check(
            Revision::V2026_07_28,
            &format!(r#"{{"resultType":"complete",{content},"structuredContent":[1]}}"#),
        );
    }

    #[test]
    fn a_text_of_another_type_is_an_error() {
        let value = Json::parse(r#"{"type":"video","_meta":{}}"#).unwrap();
        assert!(neutral(Mark::Content, &value, Revision::V2024_11_05).is_err());
    }
}
