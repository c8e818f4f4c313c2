//! Questions of a server during a call, to the callbacks of the client.

use std::sync::Arc;

use serde_json::json;
use switchboard_core::{CallError, Code, ErrorObject, Method};
use switchboard_mcp::model::{ElicitForm, ElicitUrl, Elicited, LogLevel, Revision, Root, Sampled, Sampling};
use switchboard_mcp::{Answer, Client, ClientBuilder};
use tokio::sync::Notify;

use crate::client::within;
use crate::fixtures::{server, stuck, text_tool};
use crate::ways::{WAYS, Way, builder, connect};

/// A tool that asks for everything, in three rounds.
fn book() -> Method {
    text_tool("book", |_, caller| async move {
        let Answer::Accept(row) = caller.elicit::<u32>("Which seat?").await? else {
            return Err(ErrorObject::validation_failed("the user declined"));
        };
        let (note, roots) = tokio::join!(caller.sample(format!("Row {row}?")), caller.roots());
        let opened = caller.open_url("Pay, please.", "https://pay.example/").await?;
        Ok(format!("{row} {} {} {}", note?.text(), roots?[0].uri, opened == Answer::Accept(())))
    })
}

fn answering() -> ClientBuilder {
    builder()
        .on_elicit(|form: ElicitForm| async move {
            assert_eq!(form.message, "Which seat?");
            Elicited::accept(&json!({"value": 12})).unwrap()
        })
        .on_open_url(|url: ElicitUrl| async move {
            assert_eq!(url.url, "https://pay.example/");
            Elicited::consent()
        })
        .on_sample(|sampling: Sampling| async move {
            assert_eq!(sampling.messages.len(), 1);
            Ok(Sampled::new("m", "fine"))
        })
        .roots([Root::new("file:///home")])
}

// MCP-R-01, MCP-R-03, MCP-EL-01, MCP-EL-04, MCP-SA-01, MCP-RO-01
#[tokio::test]
async fn callbacks_answer_servers_of_both_eras() {
    let server = server([book()]);
    for way in WAYS {
        let connected = connect(way, &server, answering()).await;
        let result = within(connected.client.tool("book", ()).into_future()).await.unwrap();
        assert_eq!(result.text(), "12 fine file:///home true", "{way:?}");
    }
}

// MCP-M-04, MCP-EL-05
#[tokio::test]
async fn what_has_no_callback_is_not_declared() {
    let can = text_tool("can", |_, caller| async move { Ok(format!("{:?}", caller.roots().await.is_ok())) });
    let server = server([can]);
    for way in WAYS {
        let connected = connect(way, &server, builder()).await;
        let told = within(connected.client.tool("can", ()).into_future()).await.unwrap();
        assert_eq!(told.text(), "false", "{way:?}");
    }
}

// MCP-R-08
#[tokio::test]
async fn a_server_that_asks_again_and_again_is_not_called_forever() {
    let endless = text_tool("endless", |_, caller| async move {
        for n in 0.. {
            let _ = caller.elicit::<u32>(format!("Number {n}?")).await?;
        }
        Ok(String::new())
    });
    let builder =
        builder().on_elicit(|_: ElicitForm| async { Elicited::accept(&json!({"value": 1})).unwrap() });
    let connected = connect(Way::Http(Revision::V2026_07_28), &server([endless]), builder).await;
    let error = within(connected.client.tool("endless", ()).into_future()).await.unwrap_err();
    assert!(error.to_string().contains("more than 10 times"), "{error}");
}

// MCP-EL-02
#[tokio::test]
async fn a_user_can_take_longer_than_the_call_may() {
    let time = std::time::Duration::from_millis(300);
    for way in WAYS {
        let ask = text_tool("ask", |_, caller| async move {
            Ok(format!("{:?}", caller.elicit::<u32>("?").await? == Answer::Decline))
        });
        let (stuck, _events) = stuck();
        let (asked, answer) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (entered, released) = (Arc::clone(&asked), Arc::clone(&answer));
        let builder = builder().timeout(time).on_elicit(move |_: ElicitForm| {
            let (entered, released) = (Arc::clone(&entered), Arc::clone(&released));
            async move {
                entered.notify_one();
                released.notified().await;
                Elicited::decline()
            }
        });
        let connected = connect(way, &server([ask, stuck]), builder).await;
        let call = tokio::spawn(connected.client.tool("ask", ()).into_future());
        within(asked.notified()).await;
        // Meanwhile another call runs out of the same time.
        let late = within(connected.client.tool("stuck", ()).into_future()).await;
        assert_eq!(late, Err(CallError::TimedOut));
        answer.notify_one();
        assert_eq!(within(call).await.unwrap().unwrap().text(), "true", "{way:?}");
    }
}

// MCP-LOG-01, MCP-LOG-02
#[tokio::test]
async fn log_messages_reach_the_callback() {
    let logs = text_tool("logs", |_, caller| async move {
        caller.log(LogLevel::Debug, "too little").await;
        caller.log(LogLevel::Warning, "look").await;
        Ok(String::new())
    });
    let server = server([logs]);
    for way in WAYS {
        let (sender, mut lines) = tokio::sync::mpsc::unbounded_channel();
        let builder = builder().on_log(move |message| drop(sender.send(message.data.to_string())));
        let connected = connect(way, &server, builder).await;
        within(connected.client.tool("logs", ()).into_future()).await.unwrap();
        assert_eq!(within(lines.recv()).await.as_deref(), Some("\"look\""), "{way:?}");
    }
}

#[tokio::test]
async fn a_model_can_refuse() {
    let ask = text_tool("ask", |_, caller| async move {
        caller.sample("?").await.map(|told| told.text()).map_err(ErrorObject::from)
    });
    let builder =
        builder().on_sample(|_: Sampling| async { Err(ErrorObject::new(Code(-1), "the user said no")) });
    let connected = connect(Way::Duplex(Revision::V2025_11_25), &server([ask]), builder).await;
    let client: &Client = &connected.client;
    let told = within(client.tool("ask", ()).into_future()).await.unwrap();
    assert!(told.is_error && told.text().contains("the user said no"), "{told:?}");
}
