//! Messages: what one side sends is what the other reads, and no bytes are harmful.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use inferno_backend::{
    Batch, BatchBuilder, BlockId, KvLayer, KvLayout, LogitRows, ReferenceBackend, SequenceChunk,
    SequenceState, StateCheckpoint, StateLayout, StateMatrices, StateSlot,
};
use inferno_gguf::{FileWatch, Gguf};
use inferno_model::{BatchLimits, CacheLayout, Model, ModelSpec};
use parking_lot::Mutex;
use proptest::prelude::*;
use proptest::strategy::ValueTree;

use super::batch::{BatchBounds, to_chunks};
use super::connection::{Connection, to_bytes, to_values};
use super::lane::Lane;
use super::message::{OpenMessage, Reply, Request, RowsMessage};
use super::{StageKey, StageModel};
use crate::{Fingerprint, RunnerOptions};

const BLOCK_TOKENS: usize = 4;
const NUM_BLOCKS: usize = 64;
const NUM_SLOTS: usize = 16;

fn layout(has_state: bool) -> CacheLayout {
    let matrices = StateMatrices { count: 1, rows: 1, cols: 1 };
    let state = StateLayout { num_layers: 1, conv_values: 0, matrices, num_slots: NUM_SLOTS };
    let kv = KvLayout {
        layers: vec![KvLayer::new(1, 1)],
        window: None,
        block_tokens: BLOCK_TOKENS,
        num_blocks: NUM_BLOCKS,
        dtype: Default::default(),
    };
    CacheLayout { kv, state: has_state.then_some(state) }
}

fn rebuilt(batch: &Batch, has_state: bool) -> Batch {
    let layout = layout(has_state);
    let limits = BatchLimits { max_num_tokens: 64, max_num_logit_rows: 64 };
    let bounds = BatchBounds { layout: &layout, limits, context_length: 64 };
    bounds.build(&to_chunks(batch), Batch::default()).expect("a sound batch")
}

/// A batch of sequences with these numbers of tokens and first positions, which have blocks of their own.
fn batch(sequences: &[(usize, usize, u8)], has_state: bool) -> Batch {
    let mut builder = BatchBuilder::new(BLOCK_TOKENS);
    for (index, &(len, start, rows)) in sequences.iter().enumerate() {
        let first = index as u32 * 8;
        let tokens: Vec<u32> = (0..len as u32).map(|at| at * 1000 + first).collect();
        let blocks: Vec<BlockId> = (0..8).map(|at| BlockId(first + at)).collect();
        let logits = [
            LogitRows::None,
            LogitRows::Last,
            LogitRows::All,
            LogitRows::Tail(tokens.len().min(2)),
        ][usize::from(rows % 4)];
        let chunk = SequenceChunk {
            tokens: &tokens,
            start,
            block_table: &blocks,
            logits,
            second_segment: None,
        };
        let slot = StateSlot(2 * index as u32);
        let checkpoint = StateCheckpoint { num_rows: len, slot: StateSlot(slot.0 + 1) };
        let state = SequenceState { slot, checkpoint: (rows > 2).then_some(checkpoint) };
        builder.push_with_state(&chunk, has_state.then_some(state)).expect("a sound chunk");
    }
    builder.build()
}

proptest! {
    #[test]
    fn batches_arrive_as_they_were_sent(
        sequences in prop::collection::vec((1usize..9, 0usize..20, 0u8..6), 1..8),
        has_state: bool,
    ) {
        let batch = batch(&sequences, has_state);
        prop_assert_eq!(rebuilt(&batch, has_state), batch);
    }

    #[test]
    fn rows_arrive_as_they_were_sent(bits in prop::collection::vec(any::<u32>(), 0..50)) {
        let values: Vec<f32> = bits.iter().map(|&bits| f32::from_bits(bits)).collect();
        let (mut bytes, mut found) = (vec![1; 3], vec![1.0; 3]);
        to_bytes(&values, &mut bytes);
        to_values(&bytes, &mut found);
        prop_assert_eq!(found.into_iter().map(f32::to_bits).collect::<Vec<_>>(), bits);
    }
}

/// A stage of a small model, and the message that opens it.
fn stage_model() -> (StageModel, OpenMessage) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../inferno-model/tests/fixtures");
    let checkpoint = Gguf::open(fixtures.join("nemotron-h-latent.gguf")).expect("a sound file");
    let spec = ModelSpec::from_checkpoint(&checkpoint).expect("a sound model");
    let layers = 1..spec.num_layers();
    let stage = spec.stage(layers.clone()).expect("divisible layers");
    let backend = Arc::new(ReferenceBackend::new());
    let model = Model::load_stage(stage, None, &checkpoint, backend, None, &mut |_| ());
    let model = model.expect("a sound model");
    let fingerprint = Fingerprint::of_model(&checkpoint, None);
    let options = RunnerOptions {
        context_length: Some(32),
        limits: BatchLimits { max_num_tokens: 16, max_num_logit_rows: 4 },
        max_num_sequences: Some(4),
        ..RunnerOptions::default()
    };
    let open = OpenMessage::new(fingerprint, &options);
    (StageModel::new(model, spec, layers, fingerprint, FileWatch::default()), open)
}

fn requests() -> impl Strategy<Value = Request> {
    let sequences = prop::collection::vec((1usize..9, 0usize..20, 0u8..6), 0..3);
    let candidates = (0usize..300, 0usize..300)
        .prop_map(|(count, vocab_size)| RowsMessage::Candidates { count, vocab_size });
    let rows = prop_oneof![
        Just(RowsMessage::Logits),
        Just(RowsMessage::Hidden),
        Just(RowsMessage::Residual),
        candidates
    ];
    let id = 0u32..40;
    prop_oneof![
        (sequences, any::<bool>(), rows).prop_map(|(sequences, has_state, rows)| {
            Request::Pass { chunks: to_chunks(&batch(&sequences, has_state)), rows }
        }),
        (0usize..6, 0usize..6).prop_map(|(start, end)| Request::ReadLogits { start, end }),
        prop::collection::vec((id.clone(), prop::option::of(id.clone())), 0..4)
            .prop_map(Request::UpdateWindows),
        (id.clone(), id.clone()).prop_map(|(from, to)| Request::CopyState { from, to }),
        (id.clone(), any::<bool>())
            .prop_map(|(block, is_whole)| Request::ReadBlock { block, is_whole }),
        (id.clone(), any::<bool>())
            .prop_map(|(block, is_whole)| Request::WriteBlock { block, is_whole }),
        id.clone().prop_map(|slot| Request::ReadState { slot }),
        id.prop_map(|slot| Request::WriteState { slot }),
    ]
}

#[test]
fn no_request_is_harmful() {
    let (model, open) = stage_model();
    let turn = Mutex::new(());
    let mut lane = Lane::open(&model, &turn, &Request::Open(open)).expect("a sound request");
    let runner = &mut proptest::test_runner::TestRunner::deterministic();
    let (mut num_done, mut num_rejected) = (0, 0);
    let input = (requests(), 0usize..20, prop::collection::vec(any::<u8>(), 0..40));
    for _ in 0..500 {
        let tree = input.new_tree(runner).expect("a value");
        let (request, num_rows, bytes) = tree.current();
        // Most passes have the right number of rows.
        let payload = match &request {
            Request::Pass { chunks, .. } if num_rows > 3 => {
                let num_tokens: usize = chunks.iter().map(|chunk| chunk.num_tokens()).sum();
                vec![0; num_tokens * model.residual_len() * 4]
            }
            _ => bytes,
        };
        match lane.handle(request, &payload) {
            Ok(_) => num_done += 1,
            Err(_) => num_rejected += 1,
        }
    }
    assert!(num_done > 30 && num_rejected > 50, "{num_done} and {num_rejected}");
}

/// The two sides of a connection.
fn connected() -> (Connection, Connection) {
    let key = StageKey::new("a secret");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    let other = key.clone();
    let head = thread::spawn(move || Connection::to_stage(&address, &other));
    let (stream, _) = listener.accept().expect("a connection");
    let stage = Connection::from_head(stream, &key).expect("the same key");
    (head.join().expect("no panic").expect("the same key"), stage)
}

#[test]
fn messages_arrive_in_order_with_their_payloads() {
    let (mut head, mut stage) = connected();
    let large = vec![7; 1 << 20];
    let messages = [
        (Reply::Done, &large[..]),
        (Reply::Failed { message: "é".to_owned() }, b""),
        (Reply::Done, b"x"),
    ];
    thread::scope(|scope| {
        scope.spawn(|| {
            for (message, payload) in &messages {
                stage.send(message, payload).expect("an open connection");
            }
            stage.flush().expect("an open connection");
        });
        let mut payload = Vec::new();
        for (expected, expected_payload) in &messages {
            let found: Reply = head.receive(&mut payload).expect("a message");
            assert_eq!((&found, &payload[..]), (expected, *expected_payload));
        }
    });
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let mut sender = TcpStream::connect(listener.local_addr().expect("an address")).expect("it listens");
        let (stream, _) = listener.accept().expect("a connection");
        sender.write_all(&bytes).expect("an open connection");
        drop(sender);
        let mut connection = Connection::unchecked(stream).expect("an open connection");
        let mut payload = Vec::new();
        // The end of the bytes is an error, if nothing else is.
        while let Ok(request) = connection.receive::<Request>(&mut payload) {
            prop_assert!(!matches!(request, Request::Open(_)) || bytes.len() > 20);
        }
        prop_assert!(payload.len() <= bytes.len());
    }
}

#[test]
fn announced_lengths_allocate_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let mut sender =
        TcpStream::connect(listener.local_addr().expect("an address")).expect("it listens");
    let (stream, _) = listener.accept().expect("a connection");
    let mut connection = Connection::unchecked(stream).expect("an open connection");
    // An array of 2^32 - 1 blocks, of which none follows, and a payload of 2^63 bytes.
    let message = [&[0x81, 0xad][..], b"UpdateWindows", &[0xdd, 0xff, 0xff, 0xff, 0xff]].concat();
    sender.write_all(&(message.len() as u32).to_le_bytes()).expect("an open connection");
    sender.write_all(&(1u64 << 63).to_le_bytes()).expect("an open connection");
    sender.write_all(&message).expect("an open connection");
    drop(sender);
    let mut payload = Vec::new();
    assert!(connection.receive::<Request>(&mut payload).is_err());
    assert!(payload.capacity() < 1 << 20);
    assert!(rmp_serde::from_slice::<Request>(&message).is_err());
}
