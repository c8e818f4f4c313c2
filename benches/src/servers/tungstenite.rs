//! tungstenite alone: echoes messages, and feeds items to whoever asks for them.

use std::io;
use std::net::TcpListener;

use futures_util::{FutureExt, Sink, SinkExt, Stream, StreamExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, accept_async_with_config};

use crate::workload::{ITEM, SUBSCRIBE};

/// How much it reads at once where it is tuned: its default of 128 KiB is slower for small messages.
const READ_BUFFER: usize = 8 << 10;

/// How a server writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// Once for all messages that are there, with a small buffer.
    Together,
    /// Once a message, with the default buffers.
    Each,
}

/// Serves on `listener`.
///
/// # Errors
/// When the listener fails.
pub async fn serve(listener: TcpListener, writes: Writes) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        // A connection that fails is the caller's to notice.
        tokio::spawn(async move { talk(stream, writes).await.is_ok() });
    }
}

async fn talk(stream: TcpStream, writes: Writes) -> Result<(), Error> {
    let config = WebSocketConfig::default();
    match writes {
        Writes::Each => {
            let mut socket = accept_async_with_config(stream, Some(config)).await?;
            while let Some(message) = socket.next().await {
                socket.send(message?).await?;
            }
        }
        Writes::Together => {
            let config = config.read_buffer_size(READ_BUFFER);
            let mut socket = accept_async_with_config(stream, Some(config)).await?;
            while let Some(message) = socket.next().await {
                let message = message?;
                if message.to_text().is_ok_and(|text| text == SUBSCRIBE) {
                    return feed(&mut socket).await;
                }
                socket.feed(message).await?;
                feed_what_is_there(&mut socket).await?;
                socket.flush().await?;
            }
        }
    }
    Ok(())
}

async fn feed_what_is_there<S>(socket: &mut S) -> Result<(), Error>
where
    S: Stream<Item = Result<Message, Error>> + Sink<Message, Error = Error> + Unpin,
{
    while let Some(Some(message)) = socket.next().now_or_never() {
        socket.feed(message?).await?;
    }
    Ok(())
}

/// Sends the same item without end, as fast as it is read; its buffer decides when to write.
async fn feed(socket: &mut WebSocketStream<TcpStream>) -> Result<(), Error> {
    socket.send(Message::text(r#"{"jsonrpc":"2.0","result":1234567890123456,"id":1}"#)).await?;
    let item = format!(
        r#"{{"jsonrpc":"2.0","method":"{ITEM}","params":{{"subscription":1234567890123456,"result":107}}}}"#
    );
    let item = Message::text(item);
    loop {
        socket.feed(item.clone()).await?;
    }
}
