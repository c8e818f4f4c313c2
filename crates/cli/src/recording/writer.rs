//! Writes recordings.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;
use std::time::SystemTime;

use switchboard::lines::LineQueue;

use super::{Header, line, reader};
use crate::exit::Exit;
use crate::failure::Failure;

/// How many bytes wait for the disk before calls are left out.
const ROOM: usize = 32 << 20;

/// Starts a recording at the end of this file, which only its owner can read if it is new. The queue takes its lines.
pub(crate) fn start(path: &Path) -> Result<LineQueue, Failure> {
    let cannot = |error: io::Error| {
        Failure::new(Exit::CannotWrite, format!("cannot record to {}: {error}", path.display()))
    };
    let file = open(path).map_err(cannot)?;
    if !is_recording(&file).map_err(cannot)? {
        let what = format!("{} exists and is not a recording", path.display());
        return Err(Failure::usage(what).advise("choose another file, or delete it first"));
    }
    let queue = LineQueue::builder("recording", lost).with_room(ROOM).start(file).map_err(cannot)?;
    queue.push(&line(&Header::new(SystemTime::now())));
    Ok(queue)
}

/// Opens a file to append to.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Whether a file is empty or begins like a recording. Something else must not be overwritten, nor appended to.
fn is_recording(mut file: &File) -> io::Result<bool> {
    /// As long as a header can be.
    const LONGEST: u64 = 4096;
    if !file.metadata()?.is_file() {
        return Ok(true);
    }
    let mut first = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    BufReader::new(io::Read::take(file, LONGEST)).read_until(b'\n', &mut first)?;
    Ok(first.is_empty() || reader::header(&String::from_utf8_lossy(&first)).is_ok())
}

/// The line in the place of calls that could not be written in time.
fn lost(count: u64) -> String {
    format!("{{\"lost\":{count}}}\n")
}
