//! The remaining members of a process group.
//!
//! A signal only tells whether the group has any members, and the guard always is one. So they are looked up where the system lists
//! its processes as files; elsewhere they are unknown.

use std::time::Duration;

use rustix::process::Pid;

/// The pauses between two looks, at most. They grow up to this.
const LONGEST: Duration = Duration::from_millis(50);

/// Waits until only the guard is left in the group; forever if that is unknown.
pub(super) async fn gone(group: Pid, guard: Option<u32>) {
    let mut pause = Duration::from_millis(1);
    loop {
        // There may be many processes.
        let look = tokio::task::spawn_blocking(move || is_empty(group, guard));
        match look.await {
            Ok(Some(true)) => return,
            Ok(Some(false)) => tokio::time::sleep(pause).await,
            Ok(None) | Err(_) => std::future::pending().await,
        }
        pause = LONGEST.min(pause * 2);
    }
}

/// Whether only the guard is left in the group; nothing if that is unknown.
#[cfg(target_os = "linux")]
fn is_empty(group: Pid, guard: Option<u32>) -> Option<bool> {
    for entry in std::fs::read_dir("/proc").ok()? {
        let name = entry.ok()?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        if Some(pid) == guard {
            continue;
        }
        // A process that is no longer there has ended meanwhile.
        let Ok(stat) = std::fs::read(format!("/proc/{pid}/stat")) else { continue };
        if is_in(&String::from_utf8_lossy(&stat), group) {
            return Some(false);
        }
    }
    Some(true)
}

#[cfg(not(target_os = "linux"))]
fn is_empty(_: Pid, _: Option<u32>) -> Option<bool> {
    None
}

/// Whether a process is in the group and has not ended, by its state: `1234 (name) S 1 1234 …`, where the last of these is its
/// group. The name may hold anything.
#[cfg(any(target_os = "linux", test))]
fn is_in(stat: &str, group: Pid) -> bool {
    let Some((_, fields)) = stat.rsplit_once(')') else { return false };
    let mut fields = fields.split_ascii_whitespace();
    let (state, group_field) = (fields.next(), fields.nth(1));
    let has_ended = matches!(state, Some("Z" | "X"));
    !has_ended && group_field.and_then(|field| field.parse().ok()) == Some(group.as_raw_nonzero().get())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_those_of_the_group_that_have_not_ended() {
        let group = Pid::from_raw(77).unwrap();
        let check = |stat: &str, expected: bool| assert_eq!(is_in(stat, group), expected, "{stat}");
        check("80 (sh) S 1 77 77 0 -1", true);
        check("80 (a) b (c)) R 1 77 77 0 -1", true);
        check("80 (sh) Z 1 77 77 0 -1", false);
        check("80 (77 77) S 1 78 77 0 -1", false);
        check("80 (sh) S", false);
        check("", false);
    }
}
