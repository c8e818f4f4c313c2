//! What the tests of the workspace share: the services they call, the carriers they call them over, and the readers
//! of vectors and transcripts.

#![allow(clippy::unwrap_used)]

pub mod carrier;
pub mod carriers;
pub mod client;
pub mod demo;
pub mod paused;
pub mod shape;
pub mod transcript;
pub mod tree;
pub mod vector;

/// Makes one test a carrier of a check `async fn check(carrier: &dyn Carrier)`. A new carrier is one line here.
#[macro_export]
macro_rules! over_every_carrier {
    ($check:ident) => {
        $crate::over_every_carrier! { $check:
            direct => $crate::carriers::Direct,
            exchange => $crate::carriers::Exchange,
            memory => $crate::carriers::Memory,
        }
    };
    ($check:ident: $($name:ident => $carrier:expr,)+) => {
        mod $check {
            $(
                #[tokio::test(start_paused = true)]
                async fn $name() {
                    super::$check(&$carrier).await;
                }
            )+
        }
    };
}
