//! A listening socket, private from the start and removed at the end.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream as BlockingStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use tokio::net::{UnixListener, UnixStream};

use super::at;
use crate::server::ListeningSocket;

/// A listening Unix socket with mode 0600 (JT-07). Dropping it removes its file.
#[derive(Debug)]
pub struct UnixSocketListener {
    socket: UnixListener,
    path: PathBuf,
    /// Device and inode, to tell our file from one that replaced it; none if it is not ours.
    file: Option<(u64, u64)>,
    is_kept: AtomicBool,
}

/// How long another process may take to bind in the same folder.
const LOCK_TRIES: u32 = 100;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

impl UnixSocketListener {
    /// Listens on this path.
    ///
    /// The socket is created in a private directory and moved to its place when its mode is set, so that no client
    /// can connect before. A stale socket is removed first. A lock on the directory
    /// keeps two servers that start at once from removing each other's.
    ///
    /// # Errors
    ///
    /// When another process is listening there, when the path is not a socket, or when the directory is not writable.
    pub async fn bind(path: impl Into<PathBuf>) -> io::Result<UnixSocketListener> {
        let path = path.into();
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        let _lock = lock(&folder).await.map_err(|error| at(&path, &in_folder(&folder, &error)))?;
        remove_stale(&path)?;
        let (socket, file) = bind_privately(&folder, &path).map_err(|error| at(&path, &error))?;
        Ok(UnixSocketListener { socket, path, file: Some(file), is_kept: AtomicBool::new(false) })
    }

    /// Listens with a socket that was bound to this path elsewhere.
    pub(super) fn adopt(socket: &ListeningSocket, path: PathBuf) -> io::Result<UnixSocketListener> {
        let keeps_file = socket.keeps_file();
        let socket = UnixListener::from_std(socket.open()?)?;
        // It must be a Unix socket.
        socket.local_addr()?;
        let file = fs::symlink_metadata(&path).ok().filter(|_| !keeps_file);
        let file = file.map(|found| (found.dev(), found.ino()));
        Ok(UnixSocketListener { socket, path, file, is_kept: AtomicBool::new(false) })
    }

    /// Leaves the file where it is, for another process that uses the socket.
    pub(super) fn keep_file(&self) {
        self.is_kept.store(true, Ordering::Relaxed);
    }

    /// The path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Accepts the next connection.
    ///
    /// # Errors
    ///
    /// When the system cannot open more files at the moment.
    pub async fn accept(&self) -> io::Result<UnixStream> {
        self.socket.accept().await.map(|(stream, _)| stream)
    }

    /// Accepts the next connection, when there is one.
    ///
    /// # Errors
    ///
    /// As for [`accept`](UnixSocketListener::accept).
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<UnixStream>> {
        self.socket.poll_accept(cx).map_ok(|(stream, _)| stream)
    }
}

impl AsFd for UnixSocketListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for UnixSocketListener {
    fn drop(&mut self) {
        let Some(file) = self.file.filter(|_| !self.is_kept.load(Ordering::Relaxed)) else { return };
        // Somebody else's file may be there by now.
        if fs::symlink_metadata(&self.path).is_ok_and(|found| (found.dev(), found.ino()) == file) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The error of the folder that a socket is to be in.
fn in_folder(folder: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot open the folder {}: {error}", folder.display()))
}

/// A lock on the folder, which is released when the file is dropped.
async fn lock(folder: &Path) -> io::Result<File> {
    let file = File::open(folder)?;
    for _ in 0..LOCK_TRIES {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) => tokio::time::sleep(LOCK_PAUSE).await,
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::new(ErrorKind::TimedOut, "another process holds the lock of this directory"))
}

/// Removes a stale socket, and nothing else.
fn remove_stale(path: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(at(path, &error)),
    };
    if !found.file_type().is_socket() {
        let what = "the path exists and is not a socket: remove it, or choose another path";
        return Err(at(path, &io::Error::new(ErrorKind::AlreadyExists, what)));
    }
    match BlockingStream::connect(path) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            tracing::info!(path = %path.display(), "removed a stale socket");
            fs::remove_file(path).map_err(|error| at(path, &error))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() != ErrorKind::WouldBlock => Err(at(path, &error)),
        // It was answered, or its queue of callers is full.
        _ => {
            let what = "another process is listening there: stop it, or choose another path";
            Err(at(path, &io::Error::new(ErrorKind::AddrInUse, what)))
        }
    }
}

fn bind_privately(folder: &Path, path: &Path) -> io::Result<(UnixListener, (u64, u64))> {
    let private = Private::new(folder)?;
    let inside = private.0.join("s");
    let socket = UnixListener::bind(&inside)?;
    fs::set_permissions(&inside, Permissions::from_mode(0o600))?;
    // Fails if something came to be there meanwhile, where renaming would replace it.
    fs::hard_link(&inside, path)?;
    let found = fs::symlink_metadata(path)?;
    Ok((socket, (found.dev(), found.ino())))
}

/// A folder that only we can enter. Dropping it removes it.
struct Private(PathBuf);

impl Private {
    fn new(folder: &Path) -> io::Result<Private> {
        // Short, because the path of a socket has little more than a hundred bytes.
        let name = format!(".{:x}-{:x}", std::process::id(), next_number());
        let path = folder.join(name);
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Private(path))
    }
}

fn next_number() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

impl Drop for Private {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.0.join("s"));
        let _ = fs::remove_dir(&self.0);
    }
}
