//! Connections: accepted up to a limit, served, and closed gracefully.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;

use crate::Limits;
use crate::errors::ApiError;

/// Pause after a failed accept, for example without free file descriptors.
const NO_SOCKETS_PAUSE: Duration = Duration::from_millis(100);
/// Time to read from a rejected connection.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);

/// A stream that fails without write progress for too long.
type WriteLimited<S> = Pin<Box<TimeoutStream<S>>>;

/// The connections of a server.
pub(super) struct Connections {
    router: Router,
    tls: Option<TlsAcceptor>,
    limits: Limits,
    /// One permit per connection.
    permits: Arc<Semaphore>,
    is_closing: watch::Receiver<bool>,
}

impl Connections {
    pub fn new(
        router: Router,
        tls: Option<TlsAcceptor>,
        limits: Limits,
        is_closing: watch::Receiver<bool>,
    ) -> Self {
        let num_permits = limits.max_num_connections.min(Semaphore::MAX_PERMITS);
        let permits = Arc::new(Semaphore::new(num_permits));
        Self { router, tls, limits, permits, is_closing }
    }

    /// Accepts connections until it is aborted.
    pub async fn accept(self: Arc<Self>, listener: TcpListener) {
        loop {
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "failed to accept a connection");
                    tokio::time::sleep(NO_SOCKETS_PAUSE).await;
                    continue;
                }
            };
            // Tokens are small, and each must be sent immediately.
            let _ = stream.set_nodelay(true);
            let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else {
                self.refuse(stream);
                continue;
            };
            let connections = Arc::clone(&self);
            tokio::spawn(async move {
                connections.handshake(connections.limit_writes(stream)).await;
                drop(permit);
            });
        }
    }

    /// Waits until all connections are closed, up to the timeout.
    pub async fn closed(&self, timeout: Duration) {
        let all = u32::try_from(self.limits.max_num_connections).unwrap_or(u32::MAX);
        let _ = tokio::time::timeout(timeout, self.permits.acquire_many(all)).await;
    }

    /// Rejects a connection with an error, unless that takes a TLS handshake.
    fn refuse(&self, stream: TcpStream) {
        if self.tls.is_none() {
            tokio::spawn(tokio::time::timeout(REFUSAL_TIMEOUT, refuse(stream)));
        }
    }

    /// Closes connections of clients that do not read: they hold a connection slot and delay shutdown. This is below TLS, which
    /// does not report partial writes.
    fn limit_writes<S: AsyncRead + AsyncWrite>(&self, stream: S) -> WriteLimited<S> {
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(self.limits.write_timeout));
        Box::pin(stream)
    }

    async fn handshake(&self, stream: WriteLimited<TcpStream>) {
        let Some(tls) = &self.tls else {
            return self.serve(stream).await;
        };
        match tokio::time::timeout(self.limits.read_timeout, tls.accept(stream)).await {
            Ok(Ok(stream)) => self.serve(stream).await,
            Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
            Err(_) => tracing::debug!("TLS handshake timed out"),
        }
    }

    /// Serves a connection until the client closes it.
    ///
    /// A client that closes only its sending side is treated as disconnected, and its request is aborted: TCP does not
    /// distinguish it from one that gave up, for which the engine would otherwise compute a whole answer.
    async fn serve(&self, stream: impl AsyncRead + AsyncWrite + Unpin) {
        let service = TowerToHyperService::new(self.router.clone());
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.read_timeout)
            // Some clients compare header names with their case.
            .title_case_headers(true)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let mut is_closing = self.is_closing.clone();
        let result = tokio::select! {
            result = connection.as_mut() => result,
            () = until_closing(&mut is_closing) => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = result {
            tracing::debug!(%error, "connection closed with an error");
        }
    }
}

async fn until_closing(is_closing: &mut watch::Receiver<bool>) {
    // An error means that the server was dropped.
    let _ = is_closing.wait_for(|&closing| closing).await;
}

/// Answers a rejected connection, and reads its request: closing a socket with unread bytes discards the answer.
async fn refuse(stream: TcpStream) -> io::Result<()> {
    stream.writable().await?;
    stream.try_write(too_many().as_bytes())?;
    let mut unread = [0; 4096];
    loop {
        stream.readable().await?;
        match stream.try_read(&mut unread) {
            Ok(0) => return Ok(()),
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            _ => {}
        }
    }
}

/// The response to a rejected connection.
fn too_many() -> String {
    let mut error = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "too many connections");
    error.code = Some("connection_limit");
    let body = serde_json::to_string(&error.openai()).unwrap_or_default();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
    use tokio::time::{Instant, sleep, timeout};

    use super::*;

    const WRITE_TIMEOUT: Duration = Duration::from_millis(500);
    const BODY_BYTES: usize = 100_000;

    /// A client that requested a body larger than the buffers on the way, and the server's side of the connection.
    async fn ask() -> (DuplexStream, tokio::task::JoinHandle<()>) {
        let router = Router::new().route("/", get(|| async { "a".repeat(BODY_BYTES) }));
        let limits = Limits { write_timeout: WRITE_TIMEOUT, ..Limits::default() };
        let (closing, is_closing) = watch::channel(false);
        let connections = Connections::new(router, None, limits, is_closing);
        let (mut client, server) = tokio::io::duplex(1024);
        let ended = tokio::spawn(async move {
            connections.serve(connections.limit_writes(server)).await;
            // Keeps the channel open until here.
            drop(closing);
        });
        client.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        (client, ended)
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_is_disconnected() {
        let (mut client, ended) = ask().await;
        timeout(20 * WRITE_TIMEOUT, ended).await.expect("the connection closes").unwrap();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.unwrap();
        assert!(answer.len() <= 1024, "{} bytes", answer.len());
    }

    #[tokio::test]
    async fn a_client_that_reads_slowly_gets_the_whole_body() {
        let (mut client, _ended) = ask().await;
        let (started, mut num_read) = (Instant::now(), 0);
        while num_read < BODY_BYTES {
            sleep(WRITE_TIMEOUT / 25).await;
            match client.read(&mut [0; 1024]).await.unwrap() {
                0 => panic!("the connection closed after {num_read} bytes"),
                read => num_read += read,
            }
        }
        assert!(started.elapsed() > 2 * WRITE_TIMEOUT, "it was not slow");
    }
}
