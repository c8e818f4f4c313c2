//! Our server, where other people's programs meet it: at every carrier, on free ports.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use switchboard::http::{EndpointOptions, Get};
use switchboard::server::{Handle, Server};
use switchboard::{Profile, Settings};
use tokio::task::JoinHandle;

use crate::router;

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Serving {
    urls: Vec<String>,
    /// Where the Unix socket is.
    folder: PathBuf,
    handle: Handle,
    task: JoinHandle<()>,
}

/// Serves at every carrier.
pub async fn serve() -> Serving {
    start(Settings::default(), "").await
}

/// Serves language clients: in their framing and their dialect.
pub async fn serve_lsp() -> Serving {
    let settings = Settings::default().with_profile(Profile::lsp());
    start(settings, "?framing=lsp").await
}

/// Serves with this query for the carriers that are streams of bytes.
async fn start(settings: Settings, query: &str) -> Serving {
    static FOLDERS: AtomicU32 = AtomicU32::new(0);
    let folder =
        format!("switchboard-interop-{}-{}", std::process::id(), FOLDERS.fetch_add(1, Ordering::Relaxed));
    let folder = std::env::temp_dir().join(folder);
    fs::create_dir(&folder).expect("a folder for the socket can be made");
    let socket = format!("unix:{}{query}", folder.join("rpc.sock").display());

    // An event stream is asked for with GET, which calls only what is named.
    let http = EndpointOptions::default().with_get(Get::only(["count"]));
    let mut server = Server::new(router()).with_settings(settings).with_http(http);
    for url in ["http://127.0.0.1:0", &format!("tcp://127.0.0.1:0{query}"), &socket] {
        server.listen(url).await.expect("it can be listened at");
    }
    let (urls, handle) = (server.urls().collect(), server.handle());
    Serving { urls, folder, handle, task: tokio::spawn(server.serve()) }
}

impl Serving {
    /// The URL with this scheme. WebSocket shares the port of HTTP.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[must_use]
    pub fn url(&self, scheme: &str) -> String {
        if scheme == "ws" {
            return self.url("http").replacen("http", "ws", 1);
        }
        let is_it = |url: &&String| url.split(':').next() == Some(scheme);
        self.urls.iter().find(is_it).unwrap_or_else(|| panic!("there is no URL of {scheme}")).clone()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.handle.shutdown();
        self.task.abort();
        // What cannot be removed does no harm among other temporary files.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
