//! The methods of MCP.

use std::sync::Arc;

use switchboard_core::{Call, ErrorObject, Id, Json, Reply, ReplyFuture, Service};

use super::request::Request;
use super::{Shared, completion, discover, lifecycle, listen, logging, prompts, resources, tasks, tools};
use crate::adapt::Own;
use crate::model::methods::{self, Direction};

/// Answers the methods of MCP.
pub(super) struct McpService(pub(super) Arc<Shared>);

impl Service for McpService {
    fn call(&self, call: &Call) -> ReplyFuture {
        if call.id().is_some_and(Id::is_null) {
            // MCP-B-02
            return ReplyFuture::ready(ErrorObject::invalid_request("id must be a string or a number"));
        }
        // The two methods that need no handshake.
        match call.method.as_str() {
            methods::INITIALIZE if !is_modern(call) => return lifecycle::initialize(call, &self.0).into(),
            methods::PING if !is_modern(call) => return lifecycle::pong().into(),
            _ => {}
        }
        match Request::read(call, &self.0) {
            Ok(request) => answer(&request),
            Err(error) => ReplyFuture::ready(error),
        }
    }
}

fn is_modern(call: &Call) -> bool {
    call.params.as_ref().is_some_and(|params| crate::model::RequestMeta::of(params).is_modern())
}

fn answer(request: &Request<'_>) -> ReplyFuture {
    let method = request.call.method.as_str();
    let is_known = methods::find(method, Direction::ToServer, request.revision()).is_some();
    if !is_known || !discover::offers(request, method) {
        return ReplyFuture::ready(ErrorObject::method_not_found(method));
    }
    match method {
        methods::CALL_TOOL => tools::call(request),
        methods::LIST_TOOLS => tools::list(request).into(),
        methods::LIST_RESOURCES => resources::list(request).into(),
        methods::LIST_TEMPLATES => resources::templates(request).into(),
        methods::READ_RESOURCE => resources::read(request),
        methods::SUBSCRIBE => resources::subscribe(request, true),
        methods::UNSUBSCRIBE => resources::subscribe(request, false),
        methods::LIST_PROMPTS => prompts::list(request).into(),
        methods::GET_PROMPT => prompts::get(request),
        methods::COMPLETE => completion::complete(request),
        methods::SET_LEVEL => logging::set_level(request).into(),
        methods::DISCOVER => discover::discover(request).into(),
        methods::LISTEN => listen::listen(request),
        methods::INITIALIZED => lifecycle::initialized(request).into(),
        methods::ROOTS_CHANGED => {
            Own::roots_changed(request.cx().session());
            Reply::value(Json::NULL).into()
        }
        methods::GET_TASK => tasks::get(request),
        methods::UPDATE_TASK => tasks::update(request),
        methods::CANCEL_TASK => tasks::cancel(request),
        methods::TASK_RESULT => tasks::result(request),
        // Notifications that need nothing to be done.
        _ if request.call.is_notification() => Reply::value(Json::NULL).into(),
        other => ReplyFuture::ready(ErrorObject::method_not_found(other)),
    }
}
