//! The limit on open files: every connection uses one, so only as many are accepted as fit.

/// Files that are kept for other things than connections: a quarter of all that may be open, this many at most.
const KEPT: usize = 256;

/// How many connections are being refused with a message at once; others are closed without one.
const REFUSALS: usize = 64;

/// How many connections fit under the limit on open files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    /// Connections that are served.
    pub(super) connections: usize,
    /// Connections that are refused with a message, at once.
    pub(super) refusals: usize,
}

impl Room {
    /// What fits under the limit that this process has now. Warns if `connections` do not.
    pub(super) fn for_connections(connections: usize) -> Room {
        let limit = system::current();
        let room = Room::within(limit, connections);
        if room.connections < connections {
            tracing::warn!(
                "accepting at most {} connections instead of {connections}, because this process may open only {} files; \
                 raise that limit with `ulimit -n`",
                room.connections,
                limit.unwrap_or_default(),
            );
        }
        room
    }

    fn within(limit: Option<usize>, connections: usize) -> Room {
        let Some(limit) = limit else { return Room { connections, refusals: REFUSALS } };
        let kept = (limit / 4).min(KEPT);
        Room { connections: connections.min(limit - kept), refusals: (kept / 4).max(1) }
    }
}

/// Raises the limit on open files (`ulimit -n`) of this process, as far as the system allows, so that this many connections
/// fit under it. It is never lowered.
///
/// A server accepts as many connections as fit: a quarter of the limit, at most 256 files, is kept for other things. Many systems
/// start processes with a limit of 1024. The limit applies to the whole process and is inherited by its child
/// processes, so servers do not raise it by themselves: call this before [`Server::serve`](super::Server::serve), as
/// `switchboard serve` does.
///
/// # Examples
///
/// ```
/// use switchboard_transport::server::{ServerOptions, raise_file_limit};
///
/// raise_file_limit(ServerOptions::default().connections);
/// ```
pub fn raise_file_limit(connections: usize) {
    // A quarter of the sum is a third of the connections.
    system::raise(connections.saturating_add(connections.div_ceil(3).min(KEPT)));
}

#[cfg(all(unix, any(feature = "http", feature = "tcp", feature = "unix")))]
mod system {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    /// How many files may be open; none if there is no limit.
    pub(super) fn current() -> Option<usize> {
        getrlimit(Resource::Nofile).current.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX))
    }

    pub(super) fn raise(files: usize) {
        let Rlimit { current: Some(current), maximum } = getrlimit(Resource::Nofile) else { return };
        let wanted = (files as u64).min(maximum.unwrap_or(u64::MAX));
        if wanted > current {
            // The server warns at its start if the system does not allow it.
            let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
        }
    }
}

#[cfg(not(all(unix, any(feature = "http", feature = "tcp", feature = "unix"))))]
mod system {
    pub(super) fn current() -> Option<usize> {
        None
    }

    pub(super) fn raise(_: usize) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_room_for_other_files() {
        let check = |limit, connections, expected| {
            let Room { connections, refusals } = Room::within(limit, connections);
            assert_eq!((connections, refusals), expected, "{limit:?}");
        };
        check(None, 1 << 20, (1 << 20, 64));
        check(Some(20_000), 1024, (1024, 64));
        check(Some(1280), 1024, (1024, 64));
        check(Some(1024), 1024, (768, 64));
        check(Some(64), 1024, (48, 4));
        check(Some(0), 1024, (0, 1));
    }

    #[test]
    fn as_many_files_are_asked_for_as_are_needed() {
        for connections in [1_usize, 2, 3, 10, 766, 767, 768, 769, 1024, 100_000] {
            let files = connections + connections.div_ceil(3).min(KEPT);
            assert_eq!(Room::within(Some(files), connections).connections, connections);
        }
    }
}
