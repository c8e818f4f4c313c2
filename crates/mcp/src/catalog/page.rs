//! Pages of lists (MCP-G-01).

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use switchboard_core::{ErrorObject, Json, Kind};

use super::Table;
use super::entry::{Entry, Listed};
use crate::model::Revision;

/// A page of a list.
pub(crate) struct Page {
    pub(crate) entries: Vec<Json>,
    pub(crate) next: Option<String>,
}

impl<T: Listed> Table<T> {
    /// The page after this cursor, with the entries that the function shows.
    ///
    /// A cursor names the last entry before the page, so pages stay right when entries are added and removed.
    pub(crate) fn page(
        &self,
        cursor: Option<&Json>,
        size: usize,
        revision: Revision,
        is_shown: impl Fn(&T) -> bool,
    ) -> Result<Page, ErrorObject> {
        // Some clients send null for none.
        let cursor = cursor.filter(|cursor| cursor.kind() != Kind::Null);
        let after = cursor.map(read).transpose()?;
        let start = after.map_or(0, |after| self.entries.partition_point(|entry| entry.key <= after));
        let mut shown = self.entries[start..].iter().filter(|entry| is_shown(&entry.value)).peekable();
        let page: Vec<&Arc<Entry<T>>> = shown.by_ref().take(size).collect();
        let next = match (shown.peek(), page.last()) {
            (Some(_), Some(last)) => Some(URL_SAFE_NO_PAD.encode(&last.key)),
            _ => None,
        };
        Ok(Page { entries: page.iter().map(|entry| entry.written(revision)).collect(), next })
    }
}

fn read(cursor: &Json) -> Result<String, ErrorObject> {
    let read = || {
        let text: String = cursor.decode().ok()?;
        String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()
    };
    read().ok_or_else(|| ErrorObject::invalid_params("unknown cursor; start again without one"))
}
