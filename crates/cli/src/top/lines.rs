//! Intervals as lines of JSON, for programs.

use tokio::sync::{mpsc, watch};

use super::feed::{Feed, News, WAITING};
use super::state::{By, Calls, Wanted};
use crate::failure::Failure;
use crate::output;
use crate::session::Line;
use crate::visible::visible;

/// Prints a line for each interval until stdout is no longer read.
pub(super) async fn print(feed: &Feed<'_>, line: Line, by: By) -> Result<(), Failure> {
    let (news, mut incoming) = mpsc::channel(WAITING);
    // Held until the end, since the feed ends without it.
    let (_wanted, wanted) = watch::channel(Wanted { by, calls: Calls::Nothing });
    let print = async {
        let mut is_lost = false;
        while let Some((_, new)) = incoming.recv().await {
            match new {
                News::Stats(json) if !output::result(&json, feed.session.target.format)? => break,
                News::Lost(reason) if !std::mem::replace(&mut is_lost, true) => {
                    output::note(&format!("warning: connection lost: {}; reconnecting\n", visible(&reason)));
                }
                News::Info(_) if std::mem::take(&mut is_lost) => output::note("reconnected\n"),
                _ => {}
            }
        }
        Ok(())
    };
    tokio::select! {
        () = feed.follow(line, wanted, &news) => Ok(()),
        outcome = print => outcome,
    }
}
