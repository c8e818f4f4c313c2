//! A server over standard input and output, for programs that start their servers.

use std::error::Error;

use switchboard::server::Server;
use switchboard::{Profile, Settings};

/// Serves in the framing that is named: `lsp`, with its dialect, or `lines`.
#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let framing = std::env::args().nth(1).ok_or("name a framing: lsp or lines")?;
    let profile = if framing == "lsp" { Profile::lsp() } else { Profile::default() };
    let mut server = Server::new(switchboard_interop::router());
    server = server.with_settings(Settings::default().with_profile(profile));
    server.listen(&format!("stdio?framing={framing}")).await?;
    server.serve().await;
    Ok(())
}
