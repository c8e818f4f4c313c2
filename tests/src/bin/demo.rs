//! A program that serves the methods of [`demo`] over its standard input and output; to language clients if its argument is `lsp`.

use std::sync::Arc;

use switchboard_core::{Profile, Settings};
use switchboard_tests::demo;
use switchboard_transport::stdio;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), switchboard_core::ConnectionError> {
    let is_lsp = std::env::args().nth(1).is_some_and(|argument| argument == "lsp");
    let profile = if is_lsp { Profile::lsp() } else { Profile::default() };
    let settings = Settings::default().with_profile(profile);
    stdio::serve(Arc::new(demo::router()), &stdio::options().with_settings(settings)).await
}
