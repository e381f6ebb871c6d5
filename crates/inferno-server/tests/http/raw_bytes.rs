//! Malformed HTTP.

use std::io::{Read, Write};
use std::time::Duration;

use inferno_server::{Limits, ServerOptions};

use crate::client::{connect, get, raw};
use crate::server::{shared, start};

#[test]
fn header_names_are_in_title_case() {
    let request = b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let mut stream = connect(shared());
    stream.write_all(request).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let head = answer.split("\r\n\r\n").next().unwrap();
    assert!(head.contains("\r\nContent-Type: application/json\r\n"), "{head}");
    for line in head.lines().skip(1) {
        let name = line.split(':').next().unwrap();
        let is_capitalized = |word: &str| word.starts_with(|it: char| it.is_ascii_uppercase());
        assert!(name.split('-').all(is_capitalized), "{line}");
    }
}

#[test]
fn malformed_requests_do_not_crash_the_server() {
    let mut noise = Vec::new();
    let mut state = 1_u32;
    for _ in 0..4096 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        noise.push((state >> 24) as u8);
    }
    let cases: Vec<Vec<u8>> = vec![
        vec![],
        vec![0; 1000],
        noise,
        b"GET".to_vec(),
        b"GET / HTTP/9.9\r\n\r\n".to_vec(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        b"POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n".to_vec(),
        b"POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999999999999\r\n\r\n{}".to_vec(),
        b"POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n{}".to_vec(),
        b"POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\ncontent-type: application/json\r\n\r\nzz\r\n".to_vec(),
        b"POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 4\r\n\r\n\xff\xfe\x00{".to_vec(),
        [b"GET /".as_slice(), &[b'a'; 200_000], b" HTTP/1.1\r\n\r\n"].concat(),
        [b"GET /health HTTP/1.1\r\n".as_slice(), &b"x: y\r\n".repeat(2000), b"\r\n"].concat(),
    ];
    for bytes in cases {
        let answer = raw(shared(), &bytes);
        let text = String::from_utf8_lossy(&answer);
        let is_refused = answer.is_empty() || text.starts_with("HTTP/1.1 4");
        assert!(is_refused, "{:?} {text}", String::from_utf8_lossy(&bytes[..bytes.len().min(60)]));
        assert_eq!(get(shared(), "/health").status, 200);
    }
}

#[test]
fn slow_requests_time_out() {
    let limits = Limits { read_timeout: Duration::from_millis(200), ..Limits::default() };
    let server = start(ServerOptions { limits, ..ServerOptions::default() });
    let mut head = connect(server.address);
    head.write_all(b"GET /health HTTP/1.1\r\nhost:").unwrap();
    let mut answer = Vec::new();
    let _ = head.read_to_end(&mut answer);

    let mut body = connect(server.address);
    body.write_all(b"POST /tokenize HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 20\r\n\r\n{\"prompt\"").unwrap();
    let mut answer = [0; 12];
    body.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 408");
    server.stop();
    server.join();
}

#[test]
fn excess_connections_get_an_error() {
    let limits = Limits { max_num_connections: 2, ..Limits::default() };
    let server = start(ServerOptions { limits, ..ServerOptions::default() });
    let held = [connect(server.address), connect(server.address)];
    std::thread::sleep(Duration::from_millis(200));
    let refused = get(server.address, "/health");
    assert_eq!(refused.error(503)["code"], "connection_limit");
    drop(held);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(get(server.address, "/health").status, 200);
    server.stop();
    server.join();
}
