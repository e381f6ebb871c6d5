//! Cache events over ZeroMQ, as routers receive them.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use inferno_server::{CacheEventOptions, ServerOptions};
use serde_json::{Value, json};
use tokio::time::timeout;
use zeromq::{DealerSocket, Socket, SocketRecv, SocketSend, SubSocket, ZmqMessage};

use crate::client::{get, post};
use crate::server::start;

/// A port that is free for the moment.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("a bound socket").port()
}

/// The number and the events of a message.
fn decoded(frames: &[impl AsRef<[u8]>]) -> (u64, Value) {
    let [number, payload] = frames else { panic!("expected two frames") };
    let number = number.as_ref().try_into().expect("eight bytes");
    let events = match payload.as_ref() {
        [] => Value::Null,
        payload => rmp_serde::from_slice(payload).expect("MessagePack"),
    };
    (u64::from_be_bytes(number), events)
}

/// The messages from `first` on, as a router requests them that missed some.
async fn replay(port: u16, first: u64) -> Vec<(u64, Value)> {
    // A REQ socket would accept only one of the answers.
    let mut socket = DealerSocket::new();
    socket.connect(&format!("tcp://127.0.0.1:{port}")).await.expect("a server");
    let mut request = ZmqMessage::from(Vec::new());
    request.push_back(first.to_be_bytes().to_vec().into());
    socket.send(request).await.expect("a connected socket");
    let mut messages = Vec::new();
    loop {
        let message = receive(&mut socket).await.into_vec();
        let (number, events) = decoded(&message[1..]);
        if number == u64::MAX {
            return messages;
        }
        messages.push((number, events));
    }
}

async fn receive(socket: &mut impl SocketRecv) -> ZmqMessage {
    timeout(Duration::from_secs(20), socket.recv()).await.expect("a message").expect("a message")
}

#[test]
fn routers_learn_which_blocks_are_cached() {
    let (events_port, replay_port) = (free_port(), free_port());
    let cache_events = CacheEventOptions {
        enable_kv_cache_events: true,
        endpoint: format!("tcp://127.0.0.1:{events_port}"),
        replay_endpoint: Some(format!("tcp://127.0.0.1:{replay_port}")),
        topic: "kv-events".to_owned(),
        ..CacheEventOptions::default()
    };
    let server = start(ServerOptions { cache_events, ..ServerOptions::default() });
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (published, replayed) = runtime.block_on(async {
        let mut socket = SubSocket::new();
        socket.subscribe("kv-").await.expect("a valid topic");
        socket.connect(&format!("tcp://127.0.0.1:{events_port}")).await.expect("a server");
        // The subscription arrives after the connection.
        tokio::time::sleep(Duration::from_millis(300)).await;
        let address = server.address;
        let prompt: Vec<u32> = (300..340).collect();
        let request = json!({"prompt": prompt, "max_tokens": 2, "temperature": 0});
        tokio::task::spawn_blocking(move || post(address, "/v1/completions", &request).ok())
            .await
            .expect("an answer");
        let frames = receive(&mut socket).await.into_vec();
        assert_eq!(frames[0].as_ref(), b"kv-events");
        (decoded(&frames[1..]), replay(replay_port, 0).await)
    });

    let (number, batch) = published;
    let stored = &batch[1][0];
    assert_eq!(number, 1, "the first message empties the router's index");
    assert!(batch[0].as_f64().is_some_and(|seconds| seconds > 1.7e9), "{batch}");
    assert_eq!(stored["type"], "BlockStored");
    assert_eq!(
        stored["block_hashes"].as_array().map(Vec::len),
        Some(2),
        "two whole blocks of 16: {batch}"
    );
    assert_eq!(stored["parent_block_hash"], Value::Null, "the first block follows no other");
    let tokens: Vec<u32> = (300..332).collect();
    assert_eq!(stored["token_ids"], json!(tokens));
    assert_eq!(stored["block_size"], 16);
    assert_eq!(batch[2], 0);

    assert_eq!(replayed[0].1[1][0]["type"], "AllBlocksCleared");
    assert_eq!(replayed[1], (number, batch));
    server.stop();
    server.join();
}

#[test]
fn a_frame_of_any_announced_length_stops_nothing() {
    let (events_port, replay_port) = (free_port(), free_port());
    let cache_events = CacheEventOptions {
        enable_kv_cache_events: true,
        endpoint: format!("tcp://127.0.0.1:{events_port}"),
        replay_endpoint: Some(format!("tcp://127.0.0.1:{replay_port}")),
        ..CacheEventOptions::default()
    };
    let server = start(ServerOptions { cache_events, ..ServerOptions::default() });
    let mut hostile = vec![0; 64];
    (hostile[0], hostile[9], hostile[10]) = (0xff, 0x7f, 3);
    hostile[12..16].copy_from_slice(b"NULL");
    hostile.push(6);
    hostile.extend_from_slice(&0x4000_0000_0000_0000_u64.to_be_bytes());
    for port in [events_port, replay_port] {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a server");
        stream.write_all(&hostile).expect("an open connection");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a valid timeout");
        let mut received = Vec::new();
        // The rest of the hostile bytes may reset the connection.
        match stream.read_to_end(&mut received) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
        }
    }
    assert_eq!(get(server.address, "/health").status, 200);
    server.stop();
    server.join();
}

#[test]
fn an_endpoint_in_use_is_an_error() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("a bound socket").port();
    let cache_events = CacheEventOptions {
        enable_kv_cache_events: true,
        endpoint: format!("tcp://127.0.0.1:{port}"),
        ..CacheEventOptions::default()
    };
    let options = ServerOptions {
        address: ([127, 0, 0, 1], 0).into(),
        cache_events,
        ..ServerOptions::default()
    };
    let server = inferno_server::Server::bind(options).expect("a free port");
    let error = server
        .run_until(|| Err::<inferno_server::ServedModel, _>("not reached"), std::future::pending)
        .expect_err("the endpoint is in use");
    assert!(error.to_string().contains(&port.to_string()), "{error}");
}
