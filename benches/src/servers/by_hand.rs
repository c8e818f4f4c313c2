//! The floor: hyper and our scanner, nothing else.

use std::io;
use std::net::TcpListener;

use crate::cases::by_hand::answer;

/// Serves on `listener`.
///
/// # Errors
/// When the listener fails.
pub async fn serve(listener: TcpListener) -> io::Result<()> {
    super::accept::serve(listener, |body| answer(&body).into()).await
}
