//! Members of messages that JSON-RPC does not define, on their way through a gateway.

use std::ops::ControlFlow;
use std::sync::Arc;

use switchboard_core::{Call, Json, Layer, Members, ReplyFuture, Service};
use switchboard_layers::explain::{Conclusion, Explain, Step};

/// Lets members that JSON-RPC does not define pass under these names only, of requests and of responses. Without this layer, all pass.
#[derive(Clone, Debug)]
pub struct AllowedMembers(Arc<[Box<str>]>);

impl AllowedMembers {
    /// Lets members with these names pass; none if there are no names.
    pub fn new<N: Into<Box<str>>>(names: impl IntoIterator<Item = N>) -> AllowedMembers {
        AllowedMembers(names.into_iter().map(Into::into).collect())
    }

    /// Those of these members that pass; none if there is none.
    fn of(&self, members: &Json) -> Option<Json> {
        let mut kept = Vec::new();
        for (name, value) in members.members() {
            if !self.0.iter().any(|allowed| allowed.as_bytes() == &*name) {
                continue;
            }
            kept.push(if kept.is_empty() { b'{' } else { b',' });
            serde_json::to_writer(&mut kept, &String::from_utf8_lossy(&name)).ok()?;
            kept.push(b':');
            kept.extend_from_slice(value);
        }
        if kept.is_empty() {
            return None;
        }
        kept.push(b'}');
        Json::parse(kept).ok()
    }
}

impl Layer for AllowedMembers {
    fn layer(&self, service: Arc<dyn Service>) -> Arc<dyn Service> {
        Arc::new(Filtered { allowed: self.clone(), service })
    }
}

impl Explain for AllowedMembers {
    fn name(&self) -> &'static str {
        "members"
    }

    fn explain(&self, _: &Call, steps: &mut Vec<Step>) -> ControlFlow<Conclusion> {
        let detail = match &*self.0 {
            [] => "members that JSON-RPC does not define are dropped".to_owned(),
            names => format!("of the members that JSON-RPC does not define, {} pass", names.join(", ")),
        };
        steps.push(Step::new(self.name(), "filter", detail));
        ControlFlow::Continue(())
    }
}

struct Filtered {
    allowed: AllowedMembers,
    service: Arc<dyn Service>,
}

impl Service for Filtered {
    fn call(&self, call: &Call) -> ReplyFuture {
        let reply = match Members::of(&call.cx) {
            None => self.service.call(call),
            Some(members) => {
                let mut call = call.clone();
                call.cx.insert(Members(self.allowed.of(members).unwrap_or_else(Members::none)));
                self.service.call(&call)
            }
        };
        let allowed = self.allowed.clone();
        reply.map(move |mut reply| {
            if let Some(extra) = &mut reply.extra {
                extra.members = extra.members.take().and_then(|members| allowed.of(&members));
            }
            reply
        })
    }
}

#[cfg(test)]
mod tests {
    use switchboard_core::{Reply, service_fn};

    use super::*;

    /// The members that the server gets, and those that its caller gets back, if both sides send these.
    async fn passed(names: &[&str], members: &str) -> (Option<String>, Option<String>) {
        let (sender, receiver) = std::sync::mpsc::channel();
        let sender = std::sync::Mutex::new(sender);
        let server = service_fn(move |call: &Call| {
            sender.lock().unwrap().send(Members::of(&call.cx).map(ToString::to_string)).unwrap();
            let mut reply = Reply::value(Json::TRUE);
            reply.extra_mut().members = Members::of(&call.cx).cloned();
            ReplyFuture::ready(reply)
        });
        let service = AllowedMembers::new(names.iter().copied()).layer(Arc::new(server));
        let mut call = Call::new("m", None);
        call.cx.insert(Members(Json::parse(members.to_owned()).unwrap()));
        let reply = service.call(&call).await;
        let back = reply.extra.and_then(|extra| extra.members).map(|members| members.to_string());
        (receiver.recv().unwrap(), back)
    }

    #[tokio::test]
    async fn members_pass_by_name_as_they_are_written() {
        let members = r#"{"trace":{"a" : 1.0},"x\u002did":"7","secret":true}"#;
        let both = |text: &str| (Some(text.to_owned()), Some(text.to_owned()));
        assert_eq!(passed(&["trace", "x-id"], members).await, both(r#"{"trace":{"a" : 1.0},"x-id":"7"}"#));
        assert_eq!(passed(&["secret"], members).await, both(r#"{"secret":true}"#));
        assert_eq!(passed(&["other"], members).await, (None, None));
        assert_eq!(passed(&[], members).await, (None, None));
    }
}
