//! File descriptors that the runtime waits for, where the system supports that.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::pin::Pin;
use std::task::{Context, Poll};

use rustix::fs::{FileType, OFlags, fstat};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::unix::pipe::{Receiver, Sender};

use super::failure::OutputFailure;
use super::thread::Blocking;

/// Standard input, or a descriptor like it.
#[derive(Debug)]
pub(super) enum Input {
    /// The runtime waits for it.
    Polled(Receiver),
    /// A thread reads it.
    Blocking(Blocking),
}

/// Standard output, or a descriptor like it.
#[derive(Debug)]
pub(super) struct Output {
    to: Descriptor,
    failure: OutputFailure,
}

#[derive(Debug)]
enum Descriptor {
    /// The runtime waits for it.
    Polled(Sender),
    /// A file or the like, which takes what is written without waiting for anybody.
    File(File),
}

impl Input {
    pub(super) fn open(fd: BorrowedFd<'_>) -> io::Result<Input> {
        match pollable(fd, OpenOptions::new().read(true)).and_then(Receiver::from_file_unchecked) {
            Ok(receiver) => Ok(Input::Polled(receiver)),
            // The system cannot wait for it, or does not let us open it.
            Err(_) => Blocking::read(fd.try_clone_to_owned()?.into()).map(Input::Blocking),
        }
    }
}

impl Output {
    pub(super) fn open(fd: BorrowedFd<'_>, failure: OutputFailure) -> io::Result<Output> {
        let to = match pollable(fd, OpenOptions::new().write(true)).and_then(Sender::from_file_unchecked) {
            Ok(sender) => Descriptor::Polled(sender),
            Err(_) => Descriptor::File(fd.try_clone_to_owned()?.into()),
        };
        Ok(Output { to, failure })
    }
}

/// The same pipe, terminal or socket, which does not block.
///
/// Pipes and terminals are opened anew, so that those who share the old description are not disturbed. Sockets cannot
/// be; they are rarely shared.
fn pollable(fd: BorrowedFd<'_>, options: &mut OpenOptions) -> io::Result<File> {
    match FileType::from_raw_mode(fstat(fd)?.st_mode) {
        FileType::Socket => {
            let copy = fd.try_clone_to_owned()?;
            rustix::io::ioctl_fionbio(&copy, true)?;
            Ok(copy.into())
        }
        FileType::Fifo | FileType::CharacterDevice => {
            let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).unwrap_or(0);
            options.custom_flags(flags).open(format!("/dev/fd/{}", fd.as_raw_fd()))
        }
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

impl AsyncRead for Input {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Input::Polled(receiver) => Pin::new(receiver).poll_read(cx, buf),
            Input::Blocking(thread) => Pin::new(thread).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Output {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let output = self.get_mut();
        let written = match &mut output.to {
            Descriptor::Polled(sender) => Pin::new(sender).poll_write(cx, bytes),
            Descriptor::File(file) => Poll::Ready(file.write(bytes)),
        };
        written.map_err(|error| output.failure.note(error))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// The descriptors of the process stay open: they end with it.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
