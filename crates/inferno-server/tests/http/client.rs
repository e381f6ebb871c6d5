//! A minimal HTTP/1.1 client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The timeout of all reads and waits.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A complete response.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

/// One server-sent event.
#[derive(Debug, Clone)]
pub struct SseEvent {
    pub name: Option<String>,
    pub data: String,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find_map(|(known, value)| (known == name).then_some(value.as_str()))
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// The JSON body of a successful response.
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.body);
        self.json()
    }

    /// The error object of a response with this status, in OpenAI's format.
    pub fn error(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        let error = self.json()["error"].clone();
        assert!(error["message"].is_string() && error["type"].is_string(), "{}", self.body);
        error
    }

    /// The events of a stream.
    pub fn events(&self) -> Vec<SseEvent> {
        assert_eq!(self.status, 200, "{}", self.body);
        assert_eq!(self.header("content-type"), Some("text/event-stream"));
        let blocks = self.body.split("\n\n").filter(|block| !block.is_empty());
        blocks
            .filter(|block| !block.starts_with(':'))
            .map(|block| {
                let field = |name: &str| {
                    block.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned)
                };
                SseEvent { name: field("event: "), data: field("data: ").expect("it has data") }
            })
            .collect()
    }

    /// The JSON of all events, and whether the stream ended with `[DONE]`.
    pub fn chunks(&self) -> Vec<Value> {
        let mut events = self.events();
        assert_eq!(events.pop().expect("there are events").data, "[DONE]");
        events.iter().map(|it| serde_json::from_str(&it.data).expect("it is JSON")).collect()
    }
}

/// Opens a connection.
pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout can be set");
    stream
}

/// Sends raw bytes and reads until the connection closes.
pub fn raw(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = connect(address);
    // The server may respond before it has read everything.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

/// The bytes of a request.
pub fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
    let headers: String =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let len = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {len}\r\n{headers}\r\n{body}"
    )
}

/// Sends a request and reads the complete response.
pub fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Reply {
    let mut stream = connect(address);
    stream.write_all(request(method, path, headers, body).as_bytes()).expect("it can be sent");
    read(&mut BufReader::new(stream))
}

pub fn get(address: SocketAddr, path: &str) -> Reply {
    send(address, "GET", path, &[], "")
}

pub fn post(address: SocketAddr, path: &str, body: &Value) -> Reply {
    send(address, "POST", path, &[("content-type", "application/json")], &body.to_string())
}

/// The value of the metric whose line has this prefix.
pub fn metric(address: SocketAddr, name: &str) -> f64 {
    let page = get(address, "/metrics").body;
    let line = page.lines().find(|line| line.starts_with(name));
    let number = line.and_then(|line| line.rsplit(' ').next()).and_then(|it| it.parse().ok());
    number.unwrap_or_else(|| panic!("no {name} in {page}"))
}

/// Waits until no request is running.
pub fn wait_until_idle(address: SocketAddr) {
    let started = Instant::now();
    while metric(address, "inferno_http_requests_in_flight") != 0.0
        || metric(address, "vllm:num_requests_running") != 0.0
    {
        assert!(started.elapsed() < PATIENCE, "something is still computed");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Reads one response.
pub fn read(stream: &mut impl BufRead) -> Reply {
    let mut line = String::new();
    stream.read_line(&mut line).expect("a status line comes");
    let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status = status.unwrap_or_else(|| panic!("no status line: {line:?}"));
    let mut headers = Vec::new();
    loop {
        line.clear();
        stream.read_line(&mut line).expect("headers come");
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let reply = Reply { status, headers, body: String::new() };
    let body = match (reply.header("transfer-encoding"), reply.header("content-length")) {
        (Some("chunked"), _) => chunked(stream),
        (_, Some(len)) => {
            let mut body = vec![0; len.parse().expect("a length is a number")];
            stream.read_exact(&mut body).expect("the body comes");
            body
        }
        _ => {
            let mut body = Vec::new();
            stream.read_to_end(&mut body).expect("the body comes");
            body
        }
    };
    Reply { body: String::from_utf8(body).expect("the body is text"), ..reply }
}

fn chunked(stream: &mut impl BufRead) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).expect("a chunk comes");
        let len = usize::from_str_radix(line.trim(), 16).expect("a chunk has a length");
        let mut chunk = vec![0; len + 2];
        stream.read_exact(&mut chunk).expect("the chunk comes");
        body.extend(&chunk[..len]);
        if len == 0 {
            return body;
        }
    }
}
