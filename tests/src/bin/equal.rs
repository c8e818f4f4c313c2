//! A child that serves the methods of [`equals`], with the smallest limits.

use std::sync::Arc;

use switchboard_tests::duplex::{equals, smallest};
use switchboard_transport::stdio;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), switchboard_core::ConnectionError> {
    stdio::serve(Arc::new(equals()), &stdio::options().with_settings(smallest())).await
}
