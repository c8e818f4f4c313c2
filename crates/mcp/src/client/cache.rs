//! Answers that a server allows to keep (MCP-K-01 to MCP-K-04).

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use switchboard_core::Json;
use tokio::time::Instant;

use crate::model::methods;

/// The answers of one client to one server, so of one authorization context.
#[derive(Debug, Default)]
pub(super) struct Cache(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    answers: HashMap<Key, Answer>,
    bytes: usize,
    /// How often something was forgotten: an answer to an older request is not kept.
    age: u64,
}

/// A method, and the page or the resource.
type Key = (Cow<'static, str>, Option<Json>);

#[derive(Debug)]
struct Answer {
    until: Instant,
    result: Json,
}

/// How many answers are kept, and how many bytes of them.
const MOST: usize = 256;
const LARGEST: usize = 16 << 20;

/// The longest that an answer is kept, whatever the server says.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

impl Cache {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer to this request, if it is fresh; otherwise the age that [`keep`](Cache::keep) wants.
    pub(super) fn find(&self, key: &Key) -> Result<Json, u64> {
        let kept = self.kept();
        let found = kept.answers.get(key).filter(|answer| answer.until > Instant::now());
        found.map(|answer| answer.result.clone()).ok_or(kept.age)
    }

    pub(super) fn age(&self) -> u64 {
        self.kept().age
    }

    /// Keeps an answer for as long as it says.
    pub(super) fn keep(&self, key: Key, result: &Json, age: u64) {
        let time = result.get("ttlMs").and_then(|time| time.decode::<u64>().ok()).unwrap_or(0);
        let time = Duration::from_millis(time).min(LONGEST);
        let bytes = result.as_str().len();
        if time.is_zero() || bytes > LARGEST {
            return;
        }
        let mut kept = self.kept();
        if kept.age != age {
            return;
        }
        kept.remove(&key);
        while kept.answers.len() >= MOST || kept.bytes + bytes > LARGEST {
            let soonest = kept.answers.iter().min_by_key(|(_, answer)| answer.until);
            let Some(key) = soonest.map(|(key, _)| key.clone()) else { break };
            kept.remove(&key);
        }
        kept.bytes += bytes;
        kept.answers.insert(key, Answer { until: Instant::now() + time, result: result.detached() });
    }

    /// Forgets what a notification of this method says has changed.
    pub(super) fn forget(&self, notification: &str, uri: Option<&Json>) {
        let is_stale = |(method, target): &Key| match notification {
            methods::TOOLS_CHANGED => *method == methods::LIST_TOOLS,
            methods::PROMPTS_CHANGED => *method == methods::LIST_PROMPTS,
            methods::RESOURCES_CHANGED => {
                matches!(&**method, methods::LIST_RESOURCES | methods::LIST_TEMPLATES)
            }
            // The URI may be that of a part of a resource, so of several that contain it.
            methods::RESOURCE_UPDATED => {
                *method == methods::READ_RESOURCE
                    && uri.zip(target.as_ref()).is_none_or(|(uri, of)| is_part(uri, of))
            }
            _ => false,
        };
        let mut kept = self.kept();
        kept.age += 1;
        let stale: Vec<Key> = kept.answers.keys().filter(|key| is_stale(key)).cloned().collect();
        stale.iter().for_each(|key| kept.remove(key));
    }

    /// Forgets all pages of a list.
    pub(super) fn forget_list(&self, list: &str) {
        let mut kept = self.kept();
        let pages: Vec<Key> = kept.answers.keys().filter(|(method, _)| *method == list).cloned().collect();
        pages.iter().for_each(|key| kept.remove(key));
    }

    /// Forgets everything: it may be another version of the server.
    pub(super) fn clear(&self) {
        let mut kept = self.kept();
        *kept = Kept { age: kept.age + 1, ..Kept::default() };
    }
}

/// Whether one of two URIs contains the other.
fn is_part(one: &Json, other: &Json) -> bool {
    let inner = |json: &Json| json.as_str().trim_matches('"').to_owned();
    let (one, other) = (inner(one), inner(other));
    one.starts_with(&other) || other.starts_with(&one)
}

impl Kept {
    fn remove(&mut self, key: &Key) {
        if let Some(answer) = self.answers.remove(key) {
            self.bytes -= answer.result.as_str().len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(ttl: &str) -> Json {
        Json::parse(format!(r#"{{"tools":[],"ttlMs":{ttl}}}"#)).unwrap()
    }

    fn uri(uri: &str) -> Option<Json> {
        Json::encode_ref(uri).ok()
    }

    // MCP-K-02
    #[tokio::test(start_paused = true)]
    async fn an_answer_is_fresh_for_as_long_as_it_says() {
        let cache = Cache::default();
        let key = (methods::LIST_TOOLS.into(), None);
        for stale in ["0", "-5", "null", "\"1\""] {
            cache.keep(key.clone(), &result(stale), 0);
            assert_eq!(cache.find(&key), Err(0), "{stale}");
        }
        cache.keep(key.clone(), &result("1000"), 0);
        assert_eq!(cache.find(&key), Ok(result("1000")));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(cache.find(&key).is_err());
    }

    // MCP-K-03
    #[tokio::test(start_paused = true)]
    async fn a_notification_makes_answers_stale_even_those_on_their_way() {
        let cache = Cache::default();
        let (tools, read): (Key, Key) =
            ((methods::LIST_TOOLS.into(), None), (methods::READ_RESOURCE.into(), uri("a://b")));
        cache.keep(tools.clone(), &result("1000"), 0);
        cache.keep(read.clone(), &result("1000"), 0);
        cache.forget(methods::RESOURCE_UPDATED, uri("a://b/c").as_ref());
        assert!(cache.find(&tools).is_ok());
        assert_eq!(cache.find(&read), Err(1));
        cache.keep(read.clone(), &result("1000"), 0);
        assert_eq!(cache.find(&read), Err(1));
        cache.forget(methods::TOOLS_CHANGED, None);
        assert_eq!(cache.find(&tools), Err(2));
    }

    #[tokio::test(start_paused = true)]
    async fn the_cache_does_not_grow_without_a_limit() {
        let cache = Cache::default();
        for page in 0..2 * MOST {
            cache.keep((methods::READ_RESOURCE.into(), uri(&page.to_string())), &result("1000"), 0);
        }
        assert_eq!(cache.kept().answers.len(), MOST);
        let long = Json::parse(format!(r#"{{"text":"{}","ttlMs":9}}"#, "x".repeat(LARGEST / 2))).unwrap();
        for page in ["a", "b", "c"] {
            cache.keep((methods::READ_RESOURCE.into(), uri(page)), &long, 0);
        }
        let kept = cache.kept();
        assert!(kept.bytes <= LARGEST);
        assert_eq!(
            kept.bytes,
            kept.answers.values().map(|answer| answer.result.as_str().len()).sum::<usize>()
        );
    }
}
