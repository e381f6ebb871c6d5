//! The connections of subscribers and of routers that request replays. Each has a task of its own, so that one which does not
//! read delays no other.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::stored::StoredMessages;
use super::zmtp::{encode_message, handshake, read_message};

/// The most connections of a socket.
const MAX_NUM_PEERS: usize = 64;
/// The most topics of a subscriber.
const MAX_NUM_TOPICS: usize = 64;
/// Time for a handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// Time for sending a message. A peer that reads nothing for so long is disconnected.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Pause after a failed accept, for example without free file descriptors.
const NO_SOCKETS_PAUSE: Duration = Duration::from_millis(100);
/// The number of the message that ends a replay: -1.
const END_OF_REPLAY: u64 = u64::MAX;

/// Accepts connections up to the limit, and serves each on its own task. The tasks end with this one.
pub(super) async fn accept<F>(listener: TcpListener, serve: impl Fn(TcpStream) -> F)
where
    F: Future<Output = io::Result<()>> + Send + 'static,
{
    let mut peers = JoinSet::new();
    loop {
        let stream = tokio::select! {
            Some(_) = peers.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match stream {
            Ok((stream, _)) if peers.len() < MAX_NUM_PEERS => {
                let _ = stream.set_nodelay(true);
                let peer = serve(stream);
                peers.spawn(async move {
                    if let Err(error) = peer.await {
                        tracing::debug!(%error, "a connection for cache events was closed");
                    }
                });
            }
            Ok((_, address)) => {
                tracing::debug!(%address, "too many connections for cache events");
            }
            Err(error) => {
                tracing::warn!(%error, "failed to accept a connection for cache events");
                tokio::time::sleep(NO_SOCKETS_PAUSE).await;
            }
        }
    }
}

/// Sends the encoded messages to a subscriber while it is subscribed to their topic.
///
/// **Errors**: a connection that fails; a subscriber that breaks the protocol or does not read.
pub(super) async fn publish(
    mut stream: TcpStream,
    messages: Receiver<Bytes>,
    topic: Arc<str>,
) -> io::Result<()> {
    timeout(HANDSHAKE_TIMEOUT, handshake(&mut stream, "PUB")).await??;
    let (mut reader, mut writer) = stream.split();
    let topics = Mutex::new(Vec::new());
    let is_subscribed =
        || topics.lock().iter().any(|it: &Vec<u8>| topic.as_bytes().starts_with(it));
    tokio::select! {
        result = read_subscriptions(&mut reader, &topics) => result,
        result = forward(&mut writer, messages, is_subscribed) => result,
    }
}

/// Updates the topics of a subscriber until it closes the connection. Subscriptions are messages of a 1 and the beginning of
/// topics; those that begin with 0 end a subscription.
async fn read_subscriptions(
    reader: &mut (impl AsyncRead + Unpin),
    topics: &Mutex<Vec<Vec<u8>>>,
) -> io::Result<()> {
    loop {
        let message = read_message(reader).await?;
        let [frame] = message.as_slice() else { continue };
        let mut topics = topics.lock();
        match frame.split_first() {
            Some((1, topic)) if topics.len() < MAX_NUM_TOPICS => topics.push(topic.to_vec()),
            Some((1, _)) => return Err(io::Error::other("too many topics")),
            Some((0, topic)) => {
                if let Some(index) = topics.iter().position(|known| known == topic) {
                    topics.remove(index);
                }
            }
            _ => {}
        }
    }
}

/// Sends messages until there are no more. A subscriber that is too slow misses some, which it can request again.
async fn forward(
    writer: &mut (impl AsyncWrite + Unpin),
    mut messages: Receiver<Bytes>,
    is_subscribed: impl Fn() -> bool,
) -> io::Result<()> {
    loop {
        match messages.recv().await {
            Ok(message) if is_subscribed() => send(writer, &message).await?,
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return Ok(()),
        }
    }
}

/// Answers a peer's requests for missed messages, one after another.
///
/// **Errors**: a connection that fails; a peer that breaks the protocol or does not read.
pub(super) async fn replay(
    mut stream: TcpStream,
    stored: Arc<Mutex<StoredMessages>>,
) -> io::Result<()> {
    timeout(HANDSHAKE_TIMEOUT, handshake(&mut stream, "ROUTER")).await??;
    loop {
        // The socket of the peer puts an empty frame before the number.
        let request = read_message(&mut stream).await?;
        let [delimiter, number] = request.as_slice() else { continue };
        let Ok(number) = <[u8; 8]>::try_from(number.as_slice()) else { continue };
        send_from(&mut stream, delimiter, u64::from_be_bytes(number), &stored).await?;
    }
}

/// Sends the messages from `next` on that are stored now. Each is looked up when it is sent, so that a slow peer does not keep
/// old ones in memory.
async fn send_from(
    stream: &mut (impl AsyncWrite + Unpin),
    delimiter: &[u8],
    mut next: u64,
    stored: &Mutex<StoredMessages>,
) -> io::Result<()> {
    let end = stored.lock().next_number();
    while next < end {
        let Some((number, payload)) = stored.lock().first_from(next) else { break };
        send(stream, &encode_message(&[delimiter, &number.to_be_bytes(), &payload])).await?;
        next = number + 1;
    }
    send(stream, &encode_message(&[delimiter, &END_OF_REPLAY.to_be_bytes(), b""])).await
}

async fn send(writer: &mut (impl AsyncWrite + Unpin), message: &[u8]) -> io::Result<()> {
    timeout(WRITE_TIMEOUT, writer.write_all(message)).await?
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;
    use tokio::sync::broadcast;
    use zeromq::{DealerSocket, Socket, SocketRecv, SocketSend, ZmqMessage};

    use super::*;

    /// A socket that replays messages of this size, and the task that serves it.
    async fn replays(num_messages: usize, num_bytes: usize) -> (std::net::SocketAddr, JoinSet<()>) {
        let mut stored = StoredMessages::new(num_messages);
        for _ in 0..num_messages {
            stored.push(vec![0; num_bytes].into());
        }
        let stored = Arc::new(Mutex::new(stored));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, mut tasks) = (listener.local_addr().unwrap(), JoinSet::new());
        tasks.spawn(accept(listener, move |stream| replay(stream, Arc::clone(&stored))));
        (address, tasks)
    }

    fn request() -> Vec<u8> {
        encode_message(&[b"", &0_u64.to_be_bytes()])
    }

    #[tokio::test]
    async fn a_peer_that_does_not_read_delays_no_other() {
        // More than the buffers of a connection hold.
        let (address, _tasks) = replays(64, 1 << 20).await;
        let mut stalled = TcpStream::connect(address).await.unwrap();
        handshake(&mut stalled, "DEALER").await.unwrap();
        stalled.write_all(&request()).await.unwrap();

        let mut socket = DealerSocket::new();
        socket.connect(&format!("tcp://{address}")).await.unwrap();
        let mut request = ZmqMessage::from(Vec::new());
        request.push_back(60_u64.to_be_bytes().to_vec().into());
        socket.send(request).await.unwrap();
        for number in [60, 61, 62, 63, END_OF_REPLAY] {
            let message = timeout(Duration::from_secs(20), socket.recv()).await.unwrap().unwrap();
            assert_eq!(message.get(1).unwrap().as_ref(), number.to_be_bytes());
        }
    }

    #[tokio::test]
    async fn connections_beyond_the_limit_are_closed_until_others_end() {
        let (address, _tasks) = replays(1, 1).await;
        let mut held = Vec::new();
        for _ in 0..MAX_NUM_PEERS {
            let mut stream = TcpStream::connect(address).await.unwrap();
            handshake(&mut stream, "DEALER").await.unwrap();
            held.push(stream);
        }
        let mut rejected = TcpStream::connect(address).await.unwrap();
        assert_eq!(rejected.read(&mut [0]).await.unwrap(), 0);
        held.clear();
        timeout(Duration::from_secs(20), async {
            loop {
                let mut stream = TcpStream::connect(address).await.unwrap();
                if handshake(&mut stream, "DEALER").await.is_ok() {
                    break;
                }
            }
        })
        .await
        .unwrap();
    }

    #[tokio::test]
    async fn a_handshake_takes_limited_time() {
        let (address, _tasks) = replays(1, 1).await;
        let mut silent = TcpStream::connect(address).await.unwrap();
        let mut received = Vec::new();
        let closed = timeout(2 * HANDSHAKE_TIMEOUT, silent.read_to_end(&mut received)).await;
        assert_eq!(closed.unwrap().unwrap(), 64, "a greeting");
    }

    #[tokio::test]
    async fn only_subscribed_topics_are_sent() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (messages, receiver) = broadcast::channel(4);
        let publishing = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            publish(stream, receiver, "kv".into()).await
        });
        let mut stream = TcpStream::connect(address).await.unwrap();
        handshake(&mut stream, "SUB").await.unwrap();
        for topic in [&b"\x01other"[..], b"\x01k", b"\x00other"] {
            stream.write_all(&encode_message(&[topic])).await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        messages.send(encode_message(&[b"kv", b"1"]).into()).unwrap();
        assert_eq!(read_message(&mut stream).await.unwrap(), [&b"kv"[..], b"1"]);
        stream.write_all(&encode_message(&[b"\x00k"])).await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        messages.send(encode_message(&[b"kv", b"2"]).into()).unwrap();
        drop(messages);
        assert!(read_message(&mut stream).await.is_err(), "the connection is closed");
        publishing.await.unwrap().unwrap();
    }
}
