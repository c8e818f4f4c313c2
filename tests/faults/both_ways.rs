//! Readers never wait on handlers: with the smallest limits, and calls in both directions from within handlers.

use std::time::Duration;

use switchboard_core::{CallError, Code};
use switchboard_tests::duplex::{Duplex, smallest, storm};
use switchboard_tests::over_every_duplex_carrier;

/// Nothing here takes that long; it only tells a deadlock from a slow machine.
const PATIENCE: Duration = Duration::from_secs(20);

over_every_duplex_carrier!(every_call_ends_with_the_smallest_limits);

// SEC-L-10, SEC-L-14
async fn every_call_ends_with_the_smallest_limits(duplex: Duplex) {
    let open = duplex.open(smallest()).await;
    let peer = &open.peer;
    let all = async {
        for _ in 0..5 {
            // Both sides call each other from within handlers, each with room for one call.
            let (here, there) = tokio::join!(storm(peer, 40), peer.call::<(u32, u32)>("storm", [40]));
            assert_eq!(here.0 + here.1, 40);
            match there {
                Ok((answered, refused)) => assert_eq!(answered + refused, 40),
                Err(CallError::Rejected(error)) => assert_eq!(error.code, Code::OVER_LIMIT),
                Err(other) => panic!("{other}"),
            }
        }
        // No place is taken for ever: there and back again is as far as one call each way goes.
        assert_eq!(peer.call::<String>("bounce", (1, "still here")).await.as_deref(), Ok("still here"));
    };
    tokio::time::timeout(PATIENCE, all).await.expect("nobody waits for ever");
}
