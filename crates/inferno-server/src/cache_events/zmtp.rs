//! The part of ZMTP 3.0, ZeroMQ's protocol, that a server of events needs: the handshake of the mechanism `NULL`, and frames.
//! Peers are not authenticated, so nothing that they announce is allocated beyond small limits.
//!
//! **Source**: <https://rfc.zeromq.org/spec/23/>.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The longest frame that peers may send: subscriptions and requests for replays have a few bytes.
const MAX_FRAME_BYTES: u64 = 4096;
/// The most frames of a message of a peer.
const MAX_NUM_FRAMES: usize = 8;
/// Bytes of a greeting.
const GREETING_BYTES: usize = 64;
/// The mechanism without authentication, as a greeting contains it.
const MECHANISM: [u8; 20] = *b"NULL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
/// How the command begins that ends a handshake.
const READY: &[u8] = b"\x05READY";

/// Flag of a frame that is not the last of its message.
const HAS_MORE: u8 = 1;
/// Flag of a frame whose length has eight bytes instead of one.
const IS_LONG: u8 = 2;
/// Flag of a command.
const IS_COMMAND: u8 = 4;

/// Agrees with a peer on the protocol, as a socket of type `socket_type`.
///
/// **Errors**: a connection that fails; a peer with another protocol or mechanism.
pub(super) async fn handshake(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    socket_type: &str,
) -> io::Result<()> {
    stream.write_all(&greeting()).await?;
    let mut received = [0; GREETING_BYTES];
    stream.read_exact(&mut received).await?;
    if !is_supported(&received) {
        return Err(invalid("another protocol than ZMTP 3 with the mechanism NULL"));
    }
    stream.write_all(&ready(socket_type)).await?;
    let frame = read_frame(stream).await?;
    match frame.flags & IS_COMMAND != 0 && frame.body.starts_with(READY) {
        true => Ok(()),
        false => Err(invalid("another command than READY")),
    }
}

fn greeting() -> [u8; GREETING_BYTES] {
    let mut greeting = [0; GREETING_BYTES];
    (greeting[0], greeting[9]) = (0xff, 0x7f);
    greeting[10] = 3;
    greeting[12..32].copy_from_slice(&MECHANISM);
    greeting
}

/// Whether a greeting begins with the signature, and announces a supported version and mechanism.
fn is_supported(greeting: &[u8; GREETING_BYTES]) -> bool {
    greeting[0] == 0xff
        && greeting[9] & 1 == 1
        && greeting[10] >= 3
        && greeting[12..32] == MECHANISM
}

/// The command that ends the handshake of a socket of this type.
fn ready(socket_type: &str) -> Vec<u8> {
    let mut body = READY.to_vec();
    for (name, value) in [("Socket-Type", socket_type), ("Identity", "")] {
        body.push(name.len() as u8);
        body.extend_from_slice(name.as_bytes());
        body.extend_from_slice(&(value.len() as u32).to_be_bytes());
        body.extend_from_slice(value.as_bytes());
    }
    let mut frame = Vec::new();
    encode_frame(IS_COMMAND, &body, &mut frame);
    frame
}

/// Encodes a message of these frames.
pub(super) fn encode_message(frames: &[&[u8]]) -> Vec<u8> {
    let mut message = Vec::new();
    let last = frames.len().saturating_sub(1);
    for (index, frame) in frames.iter().enumerate() {
        encode_frame(if index < last { HAS_MORE } else { 0 }, frame, &mut message);
    }
    message
}

fn encode_frame(flags: u8, body: &[u8], bytes: &mut Vec<u8>) {
    match u8::try_from(body.len()) {
        Ok(len) => bytes.extend_from_slice(&[flags, len]),
        Err(_) => {
            bytes.push(flags | IS_LONG);
            bytes.extend_from_slice(&(body.len() as u64).to_be_bytes());
        }
    }
    bytes.extend_from_slice(body);
}

/// Reads the frames of the next message. Commands are skipped; those of later versions, such as `PING`, have no answer.
///
/// **Errors**: a connection that fails or is closed; a message that exceeds the limits.
pub(super) async fn read_message(
    reader: &mut (impl AsyncRead + Unpin),
) -> io::Result<Vec<Vec<u8>>> {
    let mut frames = Vec::new();
    while frames.len() < MAX_NUM_FRAMES {
        let Frame { flags, body } = read_frame(reader).await?;
        if flags & IS_COMMAND != 0 {
            continue;
        }
        frames.push(body);
        if flags & HAS_MORE == 0 {
            return Ok(frames);
        }
    }
    Err(invalid("a message of too many frames"))
}

struct Frame {
    flags: u8,
    body: Vec<u8>,
}

async fn read_frame(reader: &mut (impl AsyncRead + Unpin)) -> io::Result<Frame> {
    let flags = reader.read_u8().await?;
    if flags & !(HAS_MORE | IS_LONG | IS_COMMAND) != 0 {
        return Err(invalid("a frame with unknown flags"));
    }
    let len = match flags & IS_LONG {
        0 => u64::from(reader.read_u8().await?),
        _ => reader.read_u64().await?,
    };
    if len > MAX_FRAME_BYTES {
        return Err(invalid("a frame that is too long"));
    }
    let mut body = vec![0; len as usize];
    reader.read_exact(&mut body).await?;
    Ok(Frame { flags, body })
}

fn invalid(found: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the peer sent {found}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::AsyncReadExt;

    use super::*;

    /// A reader of what a peer sends, and a writer that discards everything.
    fn peer(sent: &[u8]) -> impl AsyncRead + AsyncWrite + Unpin {
        tokio::io::join(std::io::Cursor::new(sent.to_vec()), tokio::io::sink())
    }

    #[tokio::test]
    async fn sockets_agree_with_each_other() {
        let (mut one, mut other) = tokio::io::duplex(1024);
        let (first, second) =
            tokio::join!(handshake(&mut one, "PUB"), handshake(&mut other, "SUB"));
        first.and(second).unwrap();
    }

    #[tokio::test]
    async fn long_and_short_frames_are_read_as_they_were_encoded() {
        let long = [7; 300];
        let bytes = encode_message(&[b"", &long, b"end"]);
        let mut peer = peer(&bytes);
        assert_eq!(read_message(&mut peer).await.unwrap(), [&b""[..], &long, b"end"]);
        assert!(read_message(&mut peer).await.is_err(), "the connection is closed");
    }

    #[tokio::test]
    async fn announced_lengths_are_not_allocated() {
        let mut bytes = greeting().to_vec();
        bytes.push(IS_COMMAND | IS_LONG);
        bytes.extend_from_slice(&0x4000_0000_0000_0000_u64.to_be_bytes());
        let error = handshake(&mut peer(&bytes), "PUB").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[tokio::test]
    async fn messages_without_end_are_errors() {
        let frames = vec![&b"x"[..]; MAX_NUM_FRAMES + 1];
        let error = read_message(&mut peer(&encode_message(&frames))).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            is_greeted: bool,
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let mut sent = if is_greeted { greeting().to_vec() } else { Vec::new() };
            sent.extend_from_slice(&bytes);
            runtime.block_on(async {
                let mut peer = peer(&sent);
                let _ = handshake(&mut peer, "ROUTER").await;
                while let Ok(frames) = read_message(&mut peer).await {
                    assert!(frames.len() <= MAX_NUM_FRAMES);
                }
                let mut rest = Vec::new();
                peer.read_to_end(&mut rest).await.unwrap();
            });
        }
    }
}
