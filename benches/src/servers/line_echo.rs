//! An echo of lines, which writes when it has no whole line left: what carrying lines costs, with nothing read in them.

use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::net::TcpListener;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Serves on `listener`.
///
/// # Errors
/// When the listener fails.
pub async fn serve(listener: TcpListener) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        // A connection that fails is the caller's to notice.
        tokio::spawn(async move { talk(stream).await.is_ok() });
    }
}

async fn talk(mut stream: TcpStream) -> io::Result<()> {
    let (reader, writer) = stream.split();
    let mut reader = tokio::io::BufReader::new(reader);
    let mut writer = tokio::io::BufWriter::new(writer);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).await? > 0 {
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
pub fn serve_stdio() -> io::Result<()> {
    let mut reader = BufReader::new(io::stdin().lock());
    // Standard output would flush at every line.
    let mut writer =
        BufWriter::new(std::fs::File::from(std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned()?));
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        writer.write_all(&line)?;
        line.clear();
        if !reader.buffer().contains(&b'\n') {
            writer.flush()?;
        }
    }
    Ok(())
}
