//! Servers of lines by hand, which write when no whole line is left: what carrying lines costs.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::net::TcpListener;
use std::os::fd::AsFd;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::cases::by_hand;

/// What a server does with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// It sends it back, and reads nothing in it.
    Echo,
    /// It answers the call: the floor.
    Call,
}

/// Serves on `listener`.
///
/// # Errors
/// When the listener fails.
pub async fn serve(listener: TcpListener, answers: Answers) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        // A connection that fails is the caller's to notice.
        tokio::spawn(async move { talk(stream, answers).await.is_ok() });
    }
}

async fn talk(mut stream: TcpStream, answers: Answers) -> io::Result<()> {
    let (reader, writer) = stream.split();
    let mut reader = tokio::io::BufReader::new(reader);
    let mut writer = tokio::io::BufWriter::new(writer);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).await? > 0 {
        answers.change(&mut line);
        writer.write_all(&line).await?;
        line.clear();
        if !reader.buffer().contains(&b'\n') {
            writer.flush().await?;
        }
    }
    Ok(())
}

/// Serves standard input and output until the input ends.
///
/// # Errors
/// When either fails.
pub fn serve_stdio(answers: Answers) -> io::Result<()> {
    let mut reader = BufReader::new(io::stdin().lock());
    // Standard output itself would write each line.
    let mut writer = BufWriter::new(File::from(io::stdout().as_fd().try_clone_to_owned()?));
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        answers.change(&mut line);
        writer.write_all(&line)?;
        line.clear();
        if !reader.buffer().contains(&b'\n') {
            writer.flush()?;
        }
    }
    Ok(())
}

impl Answers {
    /// Puts the answer in the place of the line.
    fn change(self, line: &mut Vec<u8>) {
        if self == Self::Call {
            *line = by_hand::answer(line);
            line.push(b'\n');
        }
    }
}
