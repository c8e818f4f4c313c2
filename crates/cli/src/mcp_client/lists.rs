//! Lists of a server: read to their end, as they are, and found by a word or a name.

use serde::de::DeserializeOwned;
use switchboard::Json;
use switchboard::mcp::Client;

use super::Server;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::suggest;

/// The most pages of a list.
const PAGES: usize = 1000;

/// An entry of a list, as the server wrote it and as it is understood.
pub(super) struct Entry<T> {
    pub(super) json: Json,
    pub(super) value: T,
}

/// What a list has in it.
pub(super) trait Listed: DeserializeOwned + 'static {
    /// The method that lists, and the member of its result.
    const LIST: (&'static str, &'static str);
    /// What one is called, and what more than one are called.
    const NAMES: (&'static str, &'static str);

    /// What it is called by.
    fn key(&self) -> &str;

    /// The texts in which a word is searched.
    fn texts(&self) -> [Option<&str>; 3];
}

impl Server {
    /// All entries of a list. Those that cannot be read are left out.
    pub(super) async fn list<T: Listed>(&self, client: &Client) -> Result<Vec<Entry<T>>, Failure> {
        let (method, member) = T::LIST;
        let (mut entries, mut cursor) = (Vec::new(), None);
        for _ in 0..PAGES {
            let params = cursor.take().map(|cursor: Json| serde_json::json!({ "cursor": cursor }));
            let page: Json = client.request(method, params).await.map_err(|error| self.explain(error))?;
            let [list, next] = page.pick([member, "nextCursor"]);
            let read = list.iter().flat_map(Json::elements).map(|json| json.detached());
            entries.extend(read.filter_map(|json| Some(Entry { value: json.decode().ok()?, json })));
            cursor = next.filter(|next| *next != Json::NULL).map(|next| next.detached());
            if cursor.is_none() {
                break;
            }
        }
        Ok(entries)
    }

    /// The entries that have this word in them; all without one.
    pub(super) async fn search<T: Listed>(
        &self,
        client: &Client,
        word: Option<&str>,
    ) -> Result<Vec<Entry<T>>, Failure> {
        let all = self.list::<T>(client).await?;
        let Some(word) = word else { return Ok(all) };
        let lower = word.to_lowercase();
        let has = |entry: &Entry<T>| {
            let texts = entry.value.texts().into_iter().flatten().chain([entry.value.key()]);
            texts.into_iter().any(|text| text.to_lowercase().contains(&lower))
        };
        match all.iter().any(has) {
            true => Ok(all.into_iter().filter(has).collect()),
            false => Err(unknown(&all, word, &format!("no {} matches {word:?}", T::NAMES.0))),
        }
    }

    /// The entry of this name.
    pub(super) async fn find<T: Listed>(&self, client: &Client, name: &str) -> Result<Entry<T>, Failure> {
        let mut all = self.list::<T>(client).await?;
        match all.iter().position(|entry| entry.value.key() == name) {
            Some(at) => Ok(all.swap_remove(at)),
            None => Err(unknown(&all, name, &format!("the server has no {} {name:?}", T::NAMES.0))),
        }
    }
}

/// There is no such entry; maybe another one was meant.
fn unknown<T: Listed>(all: &[Entry<T>], name: &str, what: &str) -> Failure {
    let names = all.iter().map(|entry| entry.value.key());
    let advice = suggest::did_you_mean(name, names).unwrap_or_else(|| match all.len() {
        0 => format!("it has no {}", T::NAMES.1),
        count => format!("it has {count}; leave the name out to list them"),
    });
    Failure::new(Exit::Rejected, what).advise(advice)
}
