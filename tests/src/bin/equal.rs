//! A child that serves the methods of [`equals`], with the smallest limits; or with room for so many bytes in its outbox.

use std::sync::Arc;

use switchboard_tests::duplex::{equals, smallest};
use switchboard_transport::stdio;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), switchboard_core::ConnectionError> {
    let mut settings = smallest();
    if let Some(outbox) = std::env::args().nth(1) {
        settings.limits.outbox = outbox.parse().expect("a number of bytes");
        settings.limits.send_time = switchboard_tests::by_hand::SEND_TIME;
    }
    stdio::serve(Arc::new(equals()), &stdio::options().with_settings(settings)).await
}
