//! A built batch keeps its invariants, whatever chunks go into it.

use inferno_backend::{
    BackendError, Batch, BatchBuilder, BlockId, KvDType, KvLayer, KvLayout, KvValues, KvWindow,
    LogitRows, SequenceChunk, SequenceState, StateCheckpoint, StateSlot, largest_i16,
};
use proptest::prelude::*;

const BLOCK_TOKENS: usize = 4;

/// One sequence: start and length of its chunk, and its logit rows.
fn chunk() -> impl Strategy<Value = (usize, usize, LogitRows)> {
    (0..20usize, 1..9usize).prop_flat_map(|(start, len)| {
        let tail = (0..=len).prop_map(LogitRows::Tail);
        let fixed = [LogitRows::None, LogitRows::Last, LogitRows::All].map(Just);
        let [none, last, all] = fixed;
        (Just(start), Just(len), prop_oneof![none, last, all, tail])
    })
}

fn build(chunks: &[(usize, usize, LogitRows)], into: BatchBuilder) -> Batch {
    let mut builder = into;
    let mut next_block = 0;
    for &(start, len, logits) in chunks {
        let tokens: Vec<u32> = (0..len as u32).collect();
        let num_blocks = (start + len).div_ceil(BLOCK_TOKENS) as u32;
        let block_table: Vec<BlockId> =
            (next_block..next_block + num_blocks).map(BlockId).collect();
        next_block += num_blocks;
        builder
            .push(&SequenceChunk {
                tokens: &tokens,
                start,
                block_table: &block_table,
                logits,
                second_segment: None,
            })
            .expect("the table is long enough");
    }
    builder.build()
}

proptest! {
    #[test]
    fn every_token_has_a_distinct_slot_in_the_blocks_of_its_sequence(
        chunks in prop::collection::vec(chunk(), 1..6)
    ) {
        let batch = build(&chunks, BatchBuilder::new(BLOCK_TOKENS));
        prop_assert_eq!(batch.num_sequences(), chunks.len());
        let mut wanted_rows = Vec::new();
        for (sequence, &(start, len, logits)) in chunks.iter().enumerate() {
            let rows = batch.rows(sequence);
            prop_assert_eq!(rows.len(), len);
            prop_assert_eq!(batch.context_lens()[sequence], start + len);
            for (row, position) in rows.clone().zip(start..) {
                prop_assert_eq!(batch.positions()[row] as usize, position);
                let block = batch.block_table(sequence)[position / BLOCK_TOKENS].0 as usize;
                let slot = block * BLOCK_TOKENS + position % BLOCK_TOKENS;
                prop_assert_eq!(batch.slot_mapping()[row], slot);
            }
            match logits {
                LogitRows::None => {}
                LogitRows::Last => wanted_rows.push(rows.end - 1),
                LogitRows::Tail(num_rows) => wanted_rows.extend(rows.end - num_rows..rows.end),
                LogitRows::All => wanted_rows.extend(rows),
            }
        }
        prop_assert_eq!(batch.logit_rows(), wanted_rows);
        let mut slots = batch.slot_mapping().to_vec();
        slots.sort_unstable();
        slots.dedup();
        prop_assert_eq!(slots.len(), batch.num_tokens());
    }

    #[test]
    fn a_reused_builder_is_empty(
        first in prop::collection::vec(chunk(), 1..6),
        second in prop::collection::vec(chunk(), 1..6),
    ) {
        let fresh = build(&second, BatchBuilder::new(BLOCK_TOKENS));
        let used = build(&first, BatchBuilder::new(BLOCK_TOKENS));
        prop_assert_eq!(build(&second, used.into_builder(BLOCK_TOKENS)), fresh);
    }
}

#[test]
fn a_chunk_without_tokens_or_blocks_is_rejected_and_changes_nothing() {
    let mut builder = BatchBuilder::new(BLOCK_TOKENS);
    let table = [BlockId(0)];
    let mut push = |tokens: &[u32], start| {
        let chunk = SequenceChunk {
            tokens,
            start,
            block_table: &table,
            logits: LogitRows::Last,
            second_segment: None,
        };
        builder.push(&chunk)
    };
    assert!(matches!(push(&[], 0), Err(BackendError::EmptyChunk)));
    assert!(matches!(
        push(&[1, 2], 3),
        Err(BackendError::BlockTableTooShort { end: 5, needed: 2, found: 1 })
    ));
    assert_eq!(builder.build().num_tokens(), 0);
}

#[test]
fn logits_of_more_tokens_than_a_chunk_has_are_rejected_and_change_nothing() {
    let mut builder = BatchBuilder::new(BLOCK_TOKENS);
    let mut push = |num_rows| {
        builder.push(&SequenceChunk {
            tokens: &[1, 2],
            start: 0,
            block_table: &[BlockId(0)],
            logits: LogitRows::Tail(num_rows),
            second_segment: None,
        })
    };
    for num_rows in [3, usize::MAX] {
        match push(num_rows) {
            Err(BackendError::TailTooLong { num_rows: found, num_tokens: 2 }) => {
                assert_eq!(found, num_rows);
            }
            other => panic!("{other:?}"),
        }
    }
    push(2).expect("as many as there are");
    assert_eq!(builder.build().logit_rows(), [0, 1]);
}

/// Builds a batch of sequences of one token, with the slots of their states and of checkpoints after it.
fn build_with_states(states: &[(u32, Option<u32>)]) -> Batch {
    let mut builder = BatchBuilder::new(BLOCK_TOKENS);
    for &(slot, checkpoint) in states {
        let (block_table, logits) = (&[BlockId(0)], LogitRows::None);
        let chunk =
            SequenceChunk { tokens: &[1], start: 0, block_table, logits, second_segment: None };
        let checkpoint =
            checkpoint.map(|slot| StateCheckpoint { num_rows: 1, slot: StateSlot(slot) });
        let state = SequenceState { slot: StateSlot(slot), checkpoint };
        builder.push_with_state(&chunk, Some(state)).expect("a block for one token");
    }
    builder.build()
}

#[test]
fn each_slot_of_the_recurrent_state_occurs_once() {
    assert_eq!(build_with_states(&[(0, Some(1)), (2, None)]).states().len(), 2);
}

#[test]
#[should_panic(expected = "a state and its checkpoint share a slot")]
fn a_checkpoint_in_the_slot_of_its_sequence_panics() {
    build_with_states(&[(0, Some(0))]);
}

#[test]
#[should_panic(expected = "slots are shared")]
fn a_checkpoint_in_the_slot_of_another_sequence_panics() {
    build_with_states(&[(0, None), (1, Some(0))]);
}

#[test]
fn block_and_cache_sizes_follow_from_the_format() {
    let layout = |dtype, head_dim| KvLayout {
        layers: vec![KvLayer::new(8, head_dim); 28],
        window: None,
        block_tokens: 16,
        num_blocks: 256,
        dtype,
    };
    // 2 x 28 layers x 8 heads x 16 positions, times 128 values of 4 or 2 bytes, or 4 x 34 bytes.
    let rows = 2 * 28 * 8 * 16;
    for (dtype, row_bytes) in
        [(KvDType::F32, 512), (KvDType::I16, 260), (KvDType::F16, 256), (KvDType::Q8_0, 136)]
    {
        assert_eq!(layout(dtype, 128).block_bytes().expect("divides"), rows * row_bytes);
        assert_eq!(layout(dtype, 128).total_bytes().expect("divides"), 256 * rows * row_bytes);
    }
    let error = layout(KvDType::Q8_0, 80).block_bytes().expect_err("80 is no multiple of 32");
    assert!(matches!(error, BackendError::KvHeadDim { head_dim: 80, multiple: 32, .. }), "{error}");
    let error = layout(KvDType::I16, 81).block_bytes().expect_err("81 is odd");
    assert!(matches!(error, BackendError::KvHeadDim { head_dim: 81, multiple: 2, .. }), "{error}");
    assert_eq!(KvDType::I16.row_bytes(512).expect("fits"), 1028);
    let error = KvDType::I16.row_bytes(1026).expect_err("too wide");
    assert!(matches!(error, BackendError::KvHeadTooWide { most: 1024, .. }), "{error}");
}

#[test]
fn sums_of_the_largest_integers_of_a_row_are_below_two_to_the_31() {
    for (num_values, largest) in [(1, 32639.0), (514, 32639.0), (576, 29127.0), (1024, 16383.0)] {
        assert_eq!(largest_i16(num_values), largest);
        assert!(num_values * 128 * largest as usize <= i32::MAX as usize, "{num_values}");
        // Both halves of a factor, without the low 8 bits of the sum.
        let sum = num_values * 32639 * largest as usize;
        assert!(sum / 256 <= i32::MAX as usize, "{num_values}");
    }
}

#[test]
fn values_in_keys_need_no_memory() {
    // DeepSeek V2 Lite: 512 components of a latent vector and 64 rotated ones.
    let layer = |values| KvLayer { values, ..KvLayer::new(1, 576) };
    let layout = |values, dtype| KvLayout {
        layers: vec![layer(values); 27],
        window: None,
        block_tokens: 16,
        num_blocks: 64,
        dtype,
    };
    for (dtype, row_bytes) in
        [(KvDType::F32, 2304), (KvDType::I16, 1156), (KvDType::F16, 1152), (KvDType::Q8_0, 612)]
    {
        let layout = |values| layout(values, dtype);
        let in_keys = layout(KvValues::InKeys { start: 64 });
        assert_eq!(in_keys.block_bytes().expect("divides"), 27 * 16 * row_bytes);
        assert_eq!(in_keys.total_bytes().expect("divides"), 64 * 27 * 16 * row_bytes);
        let separate = layout(KvValues::Separate { dim: 512 }).block_bytes().expect("divides");
        let value_bytes = dtype.row_bytes(512).expect("divides");
        assert_eq!(separate, 27 * 16 * (row_bytes + value_bytes));
    }
}

#[test]
fn windowed_layers_need_the_memory_of_their_windows_in_a_long_context() {
    // The sizes of Gemma 3 1B: five of six layers have a window of 512 positions.
    let layer =
        |index: usize| KvLayer { is_windowed: (index + 1) % 6 != 0, ..KvLayer::new(1, 256) };
    let whole = KvLayout {
        layers: (0..26).map(layer).collect(),
        window: None,
        block_tokens: 16,
        num_blocks: 32768 / 16,
        dtype: KvDType::I16,
    };
    let window = Some(KvWindow::for_sequences(512, 16, 1, 256));
    let windowed = KvLayout { window, ..whole.clone() };
    let mebibytes = |layout: &KvLayout| layout.total_bytes().expect("sizes that fit") >> 20;
    assert_eq!(mebibytes(&whole), 838);
    assert_eq!(mebibytes(&windowed), 158);
    // A saved session of 32768 positions has 32 whole blocks.
    let whole_blocks = 32 * windowed.block_bytes().expect("even heads");
    let others = (2048 - 32) * windowed.unwindowed_bytes().expect("even heads");
    assert_eq!(windowed.saved_bytes(32768).expect("sizes that fit"), whole_blocks + others);
}
