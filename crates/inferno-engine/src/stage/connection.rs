//! A connection between a head and a stage.
//!
//! Both sides prove that they know the key of the stages before anything else is read. Messages follow, each with its
//! length and that of its payload. Nothing is encrypted: the network between stages must be trusted.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use socket2::{SockRef, TcpKeepalive};

/// The protocol and its version: the first bytes that both sides send.
const MAGIC: [u8; 8] = *b"INFSTG02";
/// Time for a connection and its handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// A connection without traffic is checked this often, and fails after [`KEEPALIVE_RETRIES`] checks without an answer.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_RETRIES: u32 = 3;
/// Maximum size of a message without its payload.
const MAX_MESSAGE_BYTES: u32 = 64 << 20;
/// Size of the buffers of a connection.
const BUFFER_BYTES: usize = 64 << 10;

/// A secret that a head and its stages share.
#[derive(Clone)]
pub struct StageKey([u8; 32]);

impl StageKey {
    /// Derives the key from a secret text.
    pub fn new(secret: &str) -> Self {
        Self(Sha256::digest(secret.as_bytes()).into())
    }

    /// Proves to the other side that `role` knows the key.
    fn proof(&self, role: &str, nonces: [&[u8; 32]; 2]) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(self.0);
        nonces.into_iter().for_each(|nonce| hash.update(nonce));
        hash.update(role);
        hash.finalize().into()
    }
}

/// A number that no handshake used before.
fn nonce() -> [u8; 32] {
    let mut nonce = [0; 32];
    for (index, bytes) in nonce.chunks_exact_mut(8).enumerate() {
        bytes.copy_from_slice(&RandomState::new().hash_one(index).to_le_bytes());
    }
    nonce
}

/// A connection whose other side knows the key.
pub(super) struct Connection {
    reader: BufReader<TcpStream>,
    writer: BufWriter<TcpStream>,
    /// The next message or payload, as it is sent.
    staging: Vec<u8>,
}

impl Connection {
    /// Connects to a stage.
    ///
    /// **Errors**: an address without a stage, another key, another version of the protocol.
    pub(super) fn to_stage(address: &str, key: &StageKey) -> io::Result<Self> {
        let mut last = None;
        for address in address.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, HANDSHAKE_TIMEOUT) {
                Ok(stream) => return Self::shake_hands(stream, key, ["head", "stage"]),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| io::Error::other("the address has no host")))
    }

    /// Accepts a connection from a head.
    ///
    /// **Errors**: as [`to_stage`](Self::to_stage).
    pub(super) fn from_head(stream: TcpStream, key: &StageKey) -> io::Result<Self> {
        Self::shake_hands(stream, key, ["stage", "head"])
    }

    fn shake_hands(mut stream: TcpStream, key: &StageKey, roles: [&str; 2]) -> io::Result<Self> {
        let [own_role, other_role] = roles;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(HANDSHAKE_TIMEOUT))?;
        stream.set_write_timeout(Some(HANDSHAKE_TIMEOUT))?;
        let own = nonce();
        stream.write_all(&[&MAGIC[..], &own].concat())?;
        let (mut magic, mut other) = ([0; MAGIC.len()], [0; 32]);
        stream.read_exact(&mut magic)?;
        if magic != MAGIC {
            return Err(io::Error::other("the other side does not run this version of inferno"));
        }
        stream.read_exact(&mut other)?;
        stream.write_all(&key.proof(own_role, [&own, &other]))?;
        let mut proof = [0; 32];
        let read = stream.read_exact(&mut proof);
        if read.is_err() || proof != key.proof(other_role, [&other, &own]) {
            return Err(io::Error::other("the other side has another key"));
        }
        stream.set_read_timeout(None)?;
        stream.set_write_timeout(None)?;
        Self::unchecked(stream)
    }

    /// A connection whose other side has proved that it knows the key.
    pub(super) fn unchecked(stream: TcpStream) -> io::Result<Self> {
        let keepalive = TcpKeepalive::new().with_time(KEEPALIVE_INTERVAL);
        let keepalive = keepalive.with_interval(KEEPALIVE_INTERVAL).with_retries(KEEPALIVE_RETRIES);
        SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
        // Keepalive checks pause while data is not acknowledged.
        #[cfg(any(target_os = "android", target_os = "linux"))]
        SockRef::from(&stream)
            .set_tcp_user_timeout(Some(KEEPALIVE_INTERVAL * (KEEPALIVE_RETRIES + 1)))?;
        Ok(Self {
            reader: BufReader::with_capacity(BUFFER_BYTES, stream.try_clone()?),
            writer: BufWriter::with_capacity(BUFFER_BYTES, stream),
            staging: Vec::new(),
        })
    }

    /// Sends a message at the latest with the next [`flush`](Self::flush).
    pub(super) fn send(&mut self, message: &impl Serialize, payload: &[u8]) -> io::Result<()> {
        self.staging.clear();
        rmp_serde::encode::write(&mut self.staging, message).map_err(io::Error::other)?;
        let len = u32::try_from(self.staging.len()).ok().filter(|&len| len <= MAX_MESSAGE_BYTES);
        let len = len.ok_or_else(|| io::Error::other("the message is too long"))?;
        self.writer.write_all(&len.to_le_bytes())?;
        self.writer.write_all(&(payload.len() as u64).to_le_bytes())?;
        self.writer.write_all(&self.staging)?;
        self.writer.write_all(payload)
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }

    /// Receives a message, and replaces `payload` by its payload. Memory grows with what arrives, never with lengths
    /// that were only announced.
    pub(super) fn receive<M: DeserializeOwned>(&mut self, payload: &mut Vec<u8>) -> io::Result<M> {
        let (mut len, mut payload_len) = ([0; 4], [0; 8]);
        self.reader.read_exact(&mut len)?;
        self.reader.read_exact(&mut payload_len)?;
        let len = u32::from_le_bytes(len);
        if len > MAX_MESSAGE_BYTES {
            return Err(io::Error::other("the message is too long"));
        }
        read_exactly(&mut self.reader, u64::from(len), &mut self.staging)?;
        read_exactly(&mut self.reader, u64::from_le_bytes(payload_len), payload)?;
        rmp_serde::from_slice(&self.staging).map_err(io::Error::other)
    }
}

fn read_exactly(reader: &mut impl Read, len: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
    bytes.clear();
    let found = reader.take(len).read_to_end(bytes)?;
    match found as u64 == len {
        true => Ok(()),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Replaces `bytes` by the little-endian bytes of `values`.
pub(super) fn to_bytes(values: &[f32], bytes: &mut Vec<u8>) {
    bytes.resize(size_of_val(values), 0);
    let (chunks, _) = bytes.as_chunks_mut();
    for (bytes, value) in chunks.iter_mut().zip(values) {
        *bytes = value.to_le_bytes();
    }
}

/// Replaces `values` by those of which `bytes` are the little-endian bytes.
pub(super) fn to_values(bytes: &[u8], values: &mut Vec<f32>) {
    values.clear();
    let (chunks, _) = bytes.as_chunks();
    values.extend(chunks.iter().map(|&bytes| f32::from_le_bytes(bytes)));
}
