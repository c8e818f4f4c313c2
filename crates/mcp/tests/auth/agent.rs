//! A client that logs in, and a user who says yes to everything.

use std::sync::Arc;
use std::time::Duration;

use ::http::header::LOCATION;
use ::http::{HeaderMap, Method};
use bytes::Bytes;
use serde_json::json;
use switchboard_mcp::Client;
use switchboard_mcp::auth::{AuthError, Login, MemoryTokens, TokenStore, UserAgent, UserFuture, Visit};
use switchboard_transport::http;

use crate::client::within;

const TIME: Duration = Duration::from_secs(20);

/// A user whose pages are answered at once.
#[derive(Debug, Default)]
pub(crate) struct Yes;

impl UserAgent for Yes {
    fn begin<'a>(&'a self, _: Option<&'a str>) -> UserFuture<'a, Box<dyn Visit>> {
        Box::pin(async { Ok(Box::new(Page) as Box<dyn Visit>) })
    }
}

/// A user who does not log in.
#[derive(Debug)]
pub(crate) struct No;

impl UserAgent for No {
    fn begin<'a>(&'a self, _: Option<&'a str>) -> UserFuture<'a, Box<dyn Visit>> {
        Box::pin(async { Err(AuthError::Unfinished("no".to_owned())) })
    }
}

struct Page;

impl Visit for Page {
    fn redirect_uri(&self) -> &'static str {
        "http://127.0.0.1:7/callback"
    }

    fn visit(self: Box<Self>, url: String, _: String) -> UserFuture<'static, String> {
        Box::pin(async move {
            let client = http::Client::new(&url).unwrap();
            let response = client.send(Method::GET, HeaderMap::new(), Bytes::new(), TIME).await.unwrap();
            let to = response.headers().get(LOCATION).map(|to| to.to_str().unwrap().to_owned());
            let to = to.ok_or_else(|| AuthError::Unfinished("the page sends nobody back".to_owned()))?;
            Ok(to.split_once('?').unwrap().1.to_owned())
        })
    }
}

/// A store that several logins share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shared(Arc<MemoryTokens>);

impl TokenStore for Shared {
    fn read(&self) -> Result<Option<String>, AuthError> {
        self.0.read()
    }

    fn write(&self, text: &str) -> Result<(), AuthError> {
        self.0.write(text)
    }
}

pub(crate) fn login() -> Login {
    Login::user(Yes).named("test")
}

/// Calls a tool once with these credentials: the text that it returns, or why there is none.
pub(crate) async fn call(login: Login, url: &str, tool: &str) -> Result<String, String> {
    let client = connect(login, url).await?;
    ask(&client, tool).await
}

pub(crate) async fn connect(login: Login, url: &str) -> Result<Client, String> {
    let client = Client::builder("test", "1.0.0").credentials(Arc::new(login)).connect(url);
    within(client).await.map_err(|error| error.to_string())
}

pub(crate) async fn ask(client: &Client, tool: &str) -> Result<String, String> {
    let result = within(client.tool(tool, json!({"a": 2, "b": 3})).into_future()).await;
    let result = result.map_err(|error| error.to_string())?;
    Ok(format!("{result:?}"))
}
