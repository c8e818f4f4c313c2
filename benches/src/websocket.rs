//! The client's part of WebSocket, as far as a load generator needs it.

use std::io::{self, Error, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long a handshake may take.
const GRACE: Duration = Duration::from_secs(10);

/// Any mask serves: it must be there, and not be zero, or a server could skip its work.
const MASK: [u8; 4] = [0x37, 0xFA, 0x21, 0x3D];

/// Opens a connection, reading nothing behind the handshake.
///
/// # Errors
/// When nobody is there, or it is no WebSocket server.
pub async fn open(address: SocketAddr) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let request = format!(
        "GET / HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let head = async {
        let mut head = Vec::new();
        // Byte by byte, so that nothing of the first message is taken.
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await?);
        }
        io::Result::Ok(head)
    };
    let head = timeout(GRACE, head).await??;
    if !head.starts_with(b"HTTP/1.1 101") {
        return Err(Error::new(ErrorKind::InvalidData, String::from_utf8_lossy(&head)));
    }
    Ok(stream)
}

/// A text message of up to 64 KiB in one frame, as a client sends it.
pub fn message(text: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x81];
    match u16::try_from(text.len()).expect("the workloads are short") {
        length @ 0..126 => frame.push(0x80 | length as u8),
        length => {
            frame.push(0x80 | 126);
            frame.extend_from_slice(&length.to_be_bytes());
        }
    }
    frame.extend_from_slice(&MASK);
    frame.extend(text.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

/// Reads one frame of a server: its bytes, and where its payload begins.
///
/// # Errors
/// When the connection ends, or the frame is long.
pub async fn read_frame(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<(Vec<u8>, usize)> {
    let mut frame = vec![0; 2];
    stream.read_exact(&mut frame).await?;
    let (header, length) = match frame[1] {
        length @ 0..126 => (2, usize::from(length)),
        126 => {
            let length = stream.read_u16().await?;
            frame.extend_from_slice(&length.to_be_bytes());
            (4, usize::from(length))
        }
        _ => return Err(Error::new(ErrorKind::InvalidData, "a frame is masked or longer than expected")),
    };
    frame.resize(header + length, 0);
    stream.read_exact(&mut frame[header..]).await?;
    Ok((frame, header))
}
