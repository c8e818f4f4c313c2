//! What is read is what was written, and what is written is what was answered.

use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use switchboard_core::codec::{Incoming, Message, ResponseOutcome, decode};
use switchboard_core::{
    Call, Code, ErrorObject, Id, Json, Members, Reply, ReplyFuture, Settings, service_fn,
};

use crate::{ask, config, text};

fn written(content: &str) -> String {
    Json::encode_ref(content).unwrap().as_str().to_owned()
}

proptest! {
    #![proptest_config(config(500))]

    #[test]
    fn a_service_gets_the_request_as_it_was_written(
        method in any::<String>(),
        params in proptest::option::of(text::params()),
        id in proptest::option::of(prop_oneof![text::string(), text::number()]),
        extra in proptest::option::of(text::value()),
        order in Just([0, 1, 2, 3, 4]).prop_shuffle(),
    ) {
        // J2-01, J2-05, J2-62, SEC-J-02, SEC-J-03
        prop_assume!(method.len() <= 256);
        let member = |name: &str, value: &Option<String>| value.as_ref().map(|value| format!("\"{name}\": {value}"));
        let all = [
            Some("\"jsonrpc\":\"2.0\"".to_owned()),
            Some(format!("\"method\":{}", written(&method))),
            member("params", &params),
            member("id", &id),
            member("extra", &extra),
        ];
        let members: Vec<_> = order.iter().filter_map(|&n| all[n].clone()).collect();
        let body = format!("{{{}}}", members.join(" , "));

        let seen = Arc::new(Mutex::new(None));
        let keep = Arc::clone(&seen);
        let service = service_fn(move |call: &Call| {
            *keep.lock().unwrap() = Some(call.clone());
            ReplyFuture::ready(Reply::value(Json::NULL))
        });
        let answer = ask(service, body, &Settings::default());
        let call: Call = seen.lock().unwrap().take().expect("the call arrives");
        prop_assert_eq!(call.method.as_str(), method);
        prop_assert_eq!(call.params.as_ref().map(Json::as_str), params.as_deref());
        prop_assert_eq!(call.id().map(Id::as_str), id.as_deref());
        let members = call.cx.get::<Members>().map(|members| members.0.as_str().to_owned());
        prop_assert_eq!(members, extra.map(|extra| format!("{{\"extra\":{extra}}}")));
        prop_assert_eq!(answer.is_some(), id.is_some());
    }

    #[test]
    fn a_result_is_read_as_it_was_answered(result in text::value(), is_v1 in any::<bool>()) {
        // J2-25, J1-08
        let json = Json::parse(result.clone()).unwrap();
        let service = service_fn(move |_| ReplyFuture::ready(Reply::value(json.clone())));
        let (version, params) = if is_v1 { ("", ",\"params\":[]") } else { ("\"jsonrpc\":\"2.0\",", "") };
        let body = format!(r#"{{{version}"method":"m"{params},"id":1}}"#);
        let answer = ask(service, body, &Settings::default()).unwrap();
        let read = decode(&answer.into(), &Settings::default()).unwrap();
        let Incoming::Single(Message::Response(response)) = read else { panic!("{read:?}") };
        prop_assert_eq!(response.id.as_str(), "1");
        let ResponseOutcome::Value(found) = response.outcome else { panic!("{:?}", response.outcome) };
        prop_assert_eq!(found.as_str(), result);
    }

    #[test]
    fn an_error_is_read_as_it_was_answered(
        code in any::<i64>(),
        message in any::<String>(),
        data in proptest::option::of(text::value()),
    ) {
        // J2-37, J2-38
        let mut error = ErrorObject::new(Code(code), message);
        error.data = data.map(|data| Json::parse(data).unwrap());
        let sent = error.clone();
        let service = service_fn(move |_| ReplyFuture::ready(sent.clone()));
        let answer = ask(service, r#"{"jsonrpc":"2.0","method":"m","id":1}"#, &Settings::default()).unwrap();
        let read = decode(&answer.into(), &Settings::default()).unwrap();
        let Incoming::Single(Message::Response(response)) = read else { panic!("{read:?}") };
        let ResponseOutcome::Error(found) = response.outcome else { panic!("{:?}", response.outcome) };
        prop_assert_eq!(found, error);
    }
}
