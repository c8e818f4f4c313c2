//! Lists as streams over all their pages (MCP-G-01).

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_util::{TryStreamExt as _, stream};
use serde::de::DeserializeOwned;
use switchboard_core::{CallError, Code, Json};

use super::rounds::Request as Sent;
use super::{Client, Request};
use crate::model::{Tool, methods};

/// The most pages that are read of a list.
const PAGES: usize = 1000;

/// The entries of a list. Each page is asked for when it is needed.
///
/// Entries that cannot be read are left out, and so are tools that a client must not use, because they are described wrongly. The log
/// says so.
#[must_use = "nothing is listed before the stream is read"]
pub struct Pages<T>(Pin<Box<dyn Stream<Item = Result<T, CallError>> + Send>>);

impl<T: Send + 'static> Pages<T> {
    /// All entries.
    ///
    /// # Errors
    ///
    /// When a page cannot be had.
    pub async fn all(self) -> Result<Vec<T>, CallError> {
        self.0.try_collect().await
    }
}

impl<T> Stream for Pages<T> {
    type Item = Result<T, CallError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx)
    }
}

impl<T> fmt::Debug for Pages<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pages(..)")
    }
}

/// Where a list is read.
enum Place {
    Page(Option<Json>, usize),
    End,
}

impl Client {
    /// The entries of a list that can be read and used.
    pub(super) fn pages<T>(&self, method: &'static str, member: &'static str) -> Pages<T>
    where
        T: DeserializeOwned + Send + 'static,
    {
        let read = move |entry: Json| {
            std::future::ready(match entry.decode::<T>() {
                Ok(entry) => Ok(Some(entry)),
                Err(error) => {
                    tracing::warn!(%error, method, "left out an entry that cannot be read");
                    Ok(None)
                }
            })
        };
        Pages(Box::pin(self.raw_pages(method, member, false).try_filter_map(read)))
    }

    /// The entries of a list, as they are; with `is_fresh` as the server has them now.
    fn raw_pages(
        &self,
        method: &'static str,
        member: &'static str,
        is_fresh: bool,
    ) -> impl Stream<Item = Result<Json, CallError>> + Send + use<> {
        let client = self.clone();
        let pages = stream::try_unfold(Place::Page(None, 0), move |place| {
            let client = client.clone();
            async move {
                let Place::Page(cursor, count) = place else { return Ok(None) };
                let (entries, next) = client.page(method, member, cursor.as_ref(), is_fresh).await?;
                let next = match next {
                    None => Place::End,
                    Some(next) if cursor.as_ref() == Some(&next) || count >= PAGES => {
                        let text = format!(
                            "{method} does not end: the server repeats itself or has more than {PAGES} pages"
                        );
                        return Err(CallError::Protocol(text.into()));
                    }
                    Some(next) => Place::Page(Some(next), count + 1),
                };
                if method == methods::LIST_TOOLS && matches!(next, Place::End) {
                    client.tools_known().complete();
                }
                Ok(Some((stream::iter(entries.into_iter().map(Ok)), next)))
            }
        });
        Box::pin(pages.try_flatten())
    }

    /// A page of a list, and where the next one starts. An empty cursor is one, too.
    async fn page(
        &self,
        method: &'static str,
        member: &'static str,
        cursor: Option<&Json>,
        is_fresh: bool,
    ) -> Result<(Vec<Json>, Option<Json>), CallError> {
        let params = cursor.map(|cursor| ("cursor".to_owned(), cursor.clone())).into_iter().collect();
        let sent = Sent { method: method.into(), params, headers: Default::default() };
        let page = Request::new(self, Ok(sent), Ok::<Json, CallError>);
        let page = if is_fresh { page.fresh() } else { page };
        let page = page.await.inspect_err(|error| {
            // MCP-K-04: pages that do not belong together any more.
            if cursor.is_some() && error.rejection().is_some_and(|error| error.code == Code::INVALID_PARAMS) {
                self.forget_list(method);
            }
        })?;
        let [list, next] = page.pick([member, "nextCursor"]);
        let mut entries: Vec<Json> =
            list.iter().flat_map(Json::elements).map(|entry| entry.detached()).collect();
        if method == methods::LIST_TOOLS {
            entries.retain(|entry| self.may_use(entry));
        }
        Ok((entries, next.filter(|next| *next != Json::NULL)))
    }

    /// Whether a tool that was listed can be used (MCP-N-11).
    fn may_use(&self, entry: &Json) -> bool {
        if !self.mirrors() {
            return true;
        }
        let Ok(tool) = entry.decode::<Tool>() else { return true };
        match self.tools_known().add(&tool.name, &tool.input_schema) {
            Ok(()) => true,
            Err(why) => {
                tracing::warn!(tool = tool.name, why, "left out a tool");
                false
            }
        }
    }

    /// All entries of a list, over all its pages, as the server has them now.
    pub(crate) async fn list(
        &self,
        method: &'static str,
        member: &'static str,
    ) -> Result<Vec<Json>, CallError> {
        self.raw_pages(method, member, true).try_collect().await
    }
}
