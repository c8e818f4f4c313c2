//! Servers to test, and the methods they are made of.

use std::future::Future;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_core::{
    Context, ErrorObject, FromContext as _, Json, Method, MethodDescription, ParamDescription,
    ResultDescription, Router,
};
use switchboard_mcp::{Caller, Server};
use tokio::sync::mpsc;

/// A server with these methods.
pub(crate) fn server(methods: impl IntoIterator<Item = Method>) -> Server {
    let methods: Vec<Method> = methods.into_iter().collect();
    Server::new(Router::builder().add(methods).build().unwrap()).named("test", "1.0.0")
}

/// A tool that takes any arguments.
pub(crate) fn tool<F, R, T>(name: &str, run: F) -> Method
where
    F: Fn(Value, Caller) -> R + Send + Sync + 'static,
    R: Future<Output = Result<T, ErrorObject>> + Send + 'static,
    T: Serialize + 'static,
{
    Method::future(name, move |arguments: Option<Json>, cx: Context| {
        let arguments = arguments.map_or(Value::Null, |arguments| arguments.decode().unwrap());
        run(arguments, Caller::from_context(&cx).unwrap().clone())
    })
}

/// A method with a result of this schema.
pub(crate) fn returning(method: Method, schema: Value) -> Method {
    method.described(move |_| {
        MethodDescription::documented("A method.").result(ResultDescription::Value(schema.clone()))
    })
}

/// A tool that returns a text.
pub(crate) fn text_tool<F, R>(name: &str, run: F) -> Method
where
    F: Fn(Value, Caller) -> R + Send + Sync + 'static,
    R: Future<Output = Result<String, ErrorObject>> + Send + 'static,
{
    returning(tool(name, run), json!({"type": "string"}))
}

/// Adds two numbers.
pub(crate) fn add() -> Method {
    #[derive(Deserialize)]
    struct Pair {
        a: i64,
        b: i64,
    }
    let add = Method::sync("math/add", |Pair { a, b }, _| Ok::<_, ErrorObject>(a + b));
    add.described(|_| {
        let number = || json!({"type": "integer"});
        MethodDescription::documented("Adds two numbers.")
            .param(ParamDescription::required("a", number()))
            .param(ParamDescription::required("b", number()))
            .result(ResultDescription::Value(number()))
    })
}

/// A resource or a prompt, by what `#[mcp(…)]` says about it.
pub(crate) fn offered(name: &str, options: Value, text: &'static str) -> Method {
    let method = Method::sync(name, move |_: Option<Json>, _| Ok::<_, ErrorObject>(text));
    method.described(move |_| MethodDescription::documented("").extension("x-mcp", options.clone()))
}

/// A tool that never returns. It says when it starts and when it is dropped.
pub(crate) fn stuck() -> (Method, mpsc::UnboundedReceiver<&'static str>) {
    struct Told(mpsc::UnboundedSender<&'static str>);
    impl Drop for Told {
        fn drop(&mut self) {
            let _ = self.0.send("dropped");
        }
    }
    let (sender, events) = mpsc::unbounded_channel();
    let method = tool("stuck", move |_, _| {
        let told = Told(sender.clone());
        async move {
            told.0.send("started").unwrap();
            std::future::pending::<()>().await;
            drop(told);
            Ok(())
        }
    });
    (method, events)
}

/// The text of a tool's result.
pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"))
}
