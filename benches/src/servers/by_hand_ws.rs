//! The floor over WebSocket: hand-written framing and our scanner, no framework.

use std::io::{self, Error, ErrorKind};
use std::net::TcpListener;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::cases::by_hand;

/// How much it reads at once, and the longest handshake.
const CHUNK: usize = 64 << 10;

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
    let mut buffer = vec![0; CHUNK];
    shake_hands(&mut stream, &mut buffer).await?;
    let (mut filled, mut out) = (0, Vec::new());
    loop {
        let count = stream.read(&mut buffer[filled..]).await?;
        if count == 0 {
            return Ok(());
        }
        filled += count;
        let mut at = 0;
        while let Some((payload, end)) = frame(&mut buffer[at..filled])? {
            write_frame(&mut out, &by_hand::answer(payload));
            at += end;
        }
        buffer.copy_within(at..filled, 0);
        filled -= at;
        stream.write_all(&out).await?;
        out.clear();
    }
}

/// Answers the request that asks for a WebSocket. No client sends more before it has the answer.
async fn shake_hands(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while !buffer[..filled].ends_with(b"\r\n\r\n") {
        match stream.read(&mut buffer[filled..]).await? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            count => filled += count,
        }
    }
    let head = String::from_utf8_lossy(&buffer[..filled]);
    let key = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("sec-websocket-key").then(|| value.trim())
    });
    let key = key.ok_or_else(|| Error::new(ErrorKind::InvalidData, "no handshake"))?;
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-accept: {}\r\n\r\n",
        derive_accept_key(key.as_bytes())
    );
    stream.write_all(answer.as_bytes()).await
}

/// The payload of the first frame, unmasked in place, and where the frame ends; nothing if it is not there whole.
fn frame(bytes: &mut [u8]) -> io::Result<Option<(&[u8], usize)>> {
    let (header, length) = match *bytes {
        [0x81, length @ 0x80..0xFE, ..] => (6, usize::from(length & 0x7F)),
        [0x81, 0xFE, high, low, ..] => (8, usize::from(u16::from_be_bytes([high, low]))),
        [] | [_] | [0x81, 0xFE, ..] => return Ok(None),
        _ => return Err(Error::new(ErrorKind::InvalidData, "not a short text message")),
    };
    if bytes.len() < header + length {
        return Ok(None);
    }
    let (head, payload) = bytes[..header + length].split_at_mut(header);
    let mask: [u8; 16] = std::array::from_fn(|n| head[header - 4 + n % 4]);
    for chunk in payload.chunks_mut(mask.len()) {
        chunk.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
    }
    Ok(Some((payload, header + length)))
}

fn write_frame(out: &mut Vec<u8>, text: &[u8]) {
    match u16::try_from(text.len()).expect("the workloads are short") {
        length @ 0..126 => out.extend_from_slice(&[0x81, length as u8]),
        length => {
            out.extend_from_slice(&[0x81, 126]);
            out.extend_from_slice(&length.to_be_bytes());
        }
    }
    out.extend_from_slice(text);
}
