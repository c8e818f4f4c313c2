//! The methods that `switchboard serve` serves, among them those of popular JSON-RPC tutorials.
//!
//! Each group has its own file. Discovery and the banner show their documentation, grouped by tag.

mod admin;
pub(crate) mod agent;
mod ai;
mod bank;
mod basics;
mod bounded;
mod clock;
mod faults;
mod math;
mod notices;
mod number;
mod paritosh;
mod status;
mod text;
mod users;

use std::sync::Arc;

use switchboard::openrpc::{Discovery, Generator, Info, ServerEntry};
use switchboard::{Router, RouterBuilder, RouterError};

pub(crate) use self::bank::verified;

/// The router of all demo methods, with their description.
pub(crate) fn router() -> Result<Router, RouterError> {
    Discovery::new(generator()).build(methods())
}

/// The servers of the document. HTTP comes first, for tools that call the first one. Unspecified addresses cannot be called and are
/// left out.
pub(crate) fn servers(urls: &[String]) -> Vec<ServerEntry> {
    let is_place = |url: &&String| {
        url.contains(':') && !["//0.0.0.0:", "//[::]:"].iter().any(|wildcard| url.contains(wildcard))
    };
    let mut urls: Vec<&String> = urls.iter().filter(is_place).collect();
    urls.sort_by_key(|url| !url.starts_with("http"));
    let scheme = |url: &str| url.split(':').next().unwrap_or_default().to_owned();
    urls.into_iter().map(|url| ServerEntry::new(scheme(url), url)).collect()
}

/// The generator of the document of the demo methods.
pub(crate) fn generator() -> Generator {
    let info = Info::new("Switchboard demo", env!("CARGO_PKG_VERSION"));
    Generator::new(info.described("Demo methods for trying out JSON-RPC, served by `switchboard serve`."))
}

pub(crate) fn methods() -> RouterBuilder {
    let status = Arc::new(status::Status::default());
    Router::builder()
        .add(math::Math)
        .add(math::Plain)
        .add(basics::Basics)
        .add(paritosh::Paritosh)
        .add(ai::generate())
        .add(clock::Clock::default())
        .add(notices::notices(&status))
        .add(status)
        .add(users::Users::default())
        .add(admin::Admin::default())
        .add(bank::Bank)
        .add(faults::Faults)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::StreamExt;
    use serde_json::Value;
    use switchboard::openrpc::Validation;
    use switchboard::{Call, Json, Layer, Outcome, Peer, Service};

    /// What a method answers, with the items of a stream in a list; of an error its code and data.
    async fn call(method: &str, params: &str) -> String {
        let params = Json::parse(params.to_owned()).unwrap();
        match Service::call(&router().unwrap(), &Call::new(method, Some(params))).await.outcome {
            Outcome::Value(json) => json.to_string(),
            Outcome::Error(error) => format!("{} {}", error.code, error.data.clone().unwrap_or(Json::NULL)),
            Outcome::Stream(items) => {
                let items: Vec<Json> = items.map(|item| item.unwrap()).collect().await;
                Json::encode(&items).unwrap().to_string()
            }
        }
    }

    #[test]
    fn the_document_names_the_places_that_can_be_called() {
        let urls = [
            "tcp://127.0.0.1:1?framing=lsp",
            "http://0.0.0.0:2",
            "https://[::]:3",
            "http://[::1]:4",
            "stdio",
        ];
        let named = servers(&urls.map(str::to_owned));
        let named: Vec<_> = named.iter().map(|server| (server.name.as_deref(), &*server.url)).collect();
        let expected = [(Some("http"), "http://[::1]:4"), (Some("tcp"), "tcp://127.0.0.1:1?framing=lsp")];
        assert_eq!(named, expected);
    }

    #[tokio::test]
    async fn numbers_keep_their_kind() {
        let check = async |method: &str, params: &str, expected: &str| {
            assert_eq!(call(method, params).await, expected, "{params}");
        };
        check("math/add", "[2,3]", "5").await;
        check("math/add", "[2,3.0]", "5.0").await;
        check("math/add", r#"{"a":-2,"b":-3}"#, "-5").await;
        check("math/add", "[18446744073709551615,18446744073709551615]", "36893488147419103230").await;
        check("math/subtract", "[0.5,1]", "-0.5").await;
        check("math/multiply", "[3000000000,3000000000]", "9000000000000000000").await;
        check("subtract", "[42,23]", "19").await;
        check("sum", "[1,2,3]", "6").await;
        check("sum", "[]", "0").await;
        check("sum", "[1,2.5]", "3.5").await;
        check("math/sqrt", "[9]", "3.0").await;
        check(
            "echo",
            r#"[{"b":1.50,"a":12345678901234567890123}]"#,
            r#"{"b":1.50,"a":12345678901234567890123}"#,
        )
        .await;
    }

    #[tokio::test]
    async fn what_cannot_be_computed_is_an_error_that_says_so() {
        let check = async |method: &str, params: &str, code: &str, detail: &str| {
            let answer = call(method, params).await;
            assert!(answer.starts_with(code) && answer.contains(detail), "{params}: {answer}");
        };
        check("math/sqrt", "[-1]", "-32001", "negative").await;
        let most = i128::MAX.to_string();
        check("math/add", &format!("[{most},1]"), "-32001", "too large").await;
        check("math/multiply", "[1e200,1e200]", "-32001", "too large").await;
        check("math/add", &format!("[{most}0,1]"), "-32602", "128 bits").await;
        check("math/add", r#"["2",3]"#, "-32602", "a number").await;
        check("sum", "[1,null]", "-32602", "a number").await;
        check("math/add", "[1e999,1]", "-32602", "128 bits").await;
    }

    #[tokio::test]
    async fn both_names_of_a_subtraction_take_their_own_parameters() {
        // J2-08
        assert_eq!(call("subtract", r#"{"subtrahend":23,"minuend":42}"#).await, "19");
        assert_eq!(call("math/subtract", r#"{"b":23,"a":42}"#).await, "19");
        assert!(call("subtract", r#"{"a":42,"b":23}"#).await.starts_with("-32602"));
    }

    #[tokio::test]
    async fn the_errors_of_the_table_can_be_seen() {
        // J2-31
        let check = async |method: &str, params: &str, expected: &str| {
            assert_eq!(call(method, params).await, expected, "{params}");
        };
        let details = r#"{"details":"age must be from 0 to 150"}"#;
        check("demo/error", r#"["invalid_data"]"#, &format!("-32001 {details}")).await;
        check("demo/error", r#"["unauthorized"]"#, "-32002 null").await;
        check("demo/error", r#"{"kind":"timeout"}"#, "-32003 null").await;
        let details = r#"{"details":"the weather service does not respond"}"#;
        check("demo/error", r#"["upstream"]"#, &format!("-32004 {details}")).await;
        check("trigger_error", r#"{"message":"boom"}"#, "-32000 null").await;
        check("trigger_error", "[]", "-32000 null").await;
    }

    #[tokio::test]
    async fn a_stream_of_a_sum_begins_at_0_and_is_made_as_it_is_read() {
        assert_eq!(call("math/add_stream", "[0,0]").await, "[0]");
        assert_eq!(call("math/add_stream", r#"{"a":2,"b":1}"#).await, "[0,1,2,3]");
        assert!(call("math/add_stream", "[1,-2]").await.starts_with("-32001"));
        assert!(call("math/add_stream", &format!("[{},1]", i64::MAX)).await.starts_with("-32001"));
        let peer = Peer::local(router().unwrap());
        let large = peer.stream::<u64>("math/add_stream", [1_000_000_000_000_000_000_u64, 1]).await.unwrap();
        let first: Vec<_> = large.take(2).collect().await;
        assert_eq!(first, [Ok(0), Ok(1)]);
    }

    #[tokio::test]
    async fn a_message_is_a_text_also_when_it_looks_like_something_else() {
        assert_eq!(call("paritosh/echo", r#"["hi"]"#).await, r#""[Paritosh] hi""#);
        assert_eq!(call("paritosh/echo", r#"{"message":1.50}"#).await, r#""[Paritosh] 1.50""#);
        assert_eq!(call("paritosh/stream", r#"["hé"]"#).await, r#"["h","é"]"#);
        assert!(call("paritosh/echo", "[[1]]").await.starts_with("-32602"));
    }

    // OR-18
    #[tokio::test]
    async fn every_example_is_answered_as_it_says_and_fits_the_schemas() {
        let router = router().unwrap();
        let methods = router.describe().methods;
        let validation = Validation::new(&generator().document(&router)).unwrap();
        let validation = validation.with_results(|method, misfit| panic!("{method}: {misfit}"));
        let service = validation.layer(Arc::new(router));
        let mut count = 0;
        for method in methods {
            for example in method.examples {
                let params = Json::encode(&example.params).unwrap();
                let answer = match service.call(&Call::new(&*method.name, Some(params))).await.outcome {
                    Outcome::Value(json) => json.decode().unwrap(),
                    Outcome::Stream(items) => {
                        let items = items.map(|item| item.unwrap().decode::<Value>().unwrap());
                        Value::from(items.collect::<Vec<_>>().await)
                    }
                    Outcome::Error(error) => panic!("{}: {error}", method.name),
                };
                assert_eq!(Some(answer), example.result, "{}", method.name);
                count += 1;
            }
        }
        assert!(count > 10, "{count}");
    }

    #[test]
    fn every_method_is_described_and_marked_safe_if_it_changes_nothing() {
        let changing = [
            "admin/restartServer",
            "continueChat",
            "executeTask",
            "getStatus",
            "log",
            "logEvent",
            "log_event",
            "log_message",
            "notify_hello",
            "notify_log",
            "notify_sum",
            "transfer",
            "update",
            "watch",
        ];
        for method in router().unwrap().describe().methods {
            assert!(!method.summary.is_empty(), "{}", method.name);
            assert_eq!(method.tags.len(), 1, "{}", method.name);
            assert_ne!(method.marks.safe, changing.contains(&&*method.name), "{}", method.name);
        }
    }
}
