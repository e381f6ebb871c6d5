//! The reference operations on cases computed by hand.

use inferno_backend::{
    AttentionMask, AttentionParams, AttentionWindow, Backend, BackendError, Batch, BatchBuilder,
    BlockId, DeviceMemory, DistanceBias, ExpertParams, KvBlockPart, KvDType, KvLayer, KvLayout,
    LogitRows, Pass, QkNorm, QkvLayout, ReferenceBackend, RopePairing, Rotation, SequenceChunk,
    WeightPart,
};
use inferno_tensor::DType;

type Matrix = <ReferenceBackend as DeviceMemory>::Buffer;

const BACKEND: ReferenceBackend = ReferenceBackend;

fn matrix(rows: usize, values: &[f32]) -> Matrix {
    let mut buffer = BACKEND.alloc(rows, values.len() / rows).expect("memory");
    BACKEND.upload(values, &mut buffer);
    buffer
}

fn values(buffer: &Matrix, len: usize) -> Vec<f32> {
    BACKEND.download(buffer, 0..len, &mut Vec::new()).expect("a host buffer").to_vec()
}

fn part(name: &str, experts: usize, rows: usize, values: &[f32]) -> WeightPart {
    let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    let cols = values.len() / experts / rows;
    WeightPart::experts(name, DType::F32, experts, rows, cols, bytes.into()).expect("its size")
}

fn assert_close(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-6, "{found} is not {expected}");
    }
}

fn one_sequence(num_tokens: usize, table: &[BlockId]) -> Batch {
    let mut builder = BatchBuilder::new(2);
    let tokens = vec![0; num_tokens];
    let chunk = SequenceChunk {
        tokens: &tokens,
        start: 0,
        block_table: table,
        logits: LogitRows::Last,
        second_segment: None,
    };
    builder.push(&chunk).expect("the table covers the tokens");
    builder.build()
}

#[test]
fn stacked_parts_are_one_product_with_rows_in_order() {
    let parts = [part("a", 1, 1, &[1.0, 2.0]), part("b", 1, 2, &[3.0, 4.0, 5.0, 6.0])];
    let weight = BACKEND.load_weight(&parts).expect("they stack");
    let mut out = matrix(1, &[9.0, 9.0, 9.0]);
    let bias = matrix(1, &[0.5, 0.0, -0.5]);
    BACKEND
        .begin()
        .linear(1, &matrix(1, &[1.0, -1.0]), &weight, Some(&bias), &mut out)
        .expect("memory");
    assert_close(&values(&out, 3), &[-0.5, -1.0, -1.5]);
    BACKEND
        .begin()
        .linear_add(1, &matrix(1, &[0.0, 1.0]), &weight, None, &mut out)
        .expect("memory");
    assert_close(&values(&out, 3), &[1.5, 3.0, 4.5]);
}

#[test]
fn scales_multiply_the_rows_of_their_part() {
    let scaled = part("a", 2, 1, &[1.0, 2.0, 3.0, 4.0]).with_scales(vec![10.0, -0.5]);
    let parts = [scaled, part("b", 2, 1, &[5.0, 6.0, 7.0, 8.0])];
    assert_eq!(WeightPart::stacked_scales(&parts), Some(vec![10.0, 1.0, -0.5, 1.0]));
    assert_eq!(WeightPart::stacked_scales(&parts[1..]), None);
    let mut row = [0.0; 2];
    parts[0].decode_row(1, 0, &mut row).expect("two columns");
    assert_eq!(row, [-1.5, -2.0]);
    let weight = BACKEND.load_weight(&parts).expect("they stack");
    let mut out = matrix(1, &[0.0; 2]);
    let bias = matrix(1, &[1.0, 1.0]);
    BACKEND
        .begin()
        .linear(1, &matrix(1, &[1.0, 1.0]), &weight, Some(&bias), &mut out)
        .expect("memory");
    assert_close(&values(&out, 2), &[31.0, 12.0]);
}

#[test]
fn an_error_names_the_parts_that_cannot_be_stacked() {
    let parts = [part("wide", 1, 1, &[1.0, 2.0]), part("narrow", 1, 1, &[3.0])];
    let error = BACKEND.load_weight(&parts).expect_err("different widths");
    assert!(matches!(error, BackendError::MismatchedParts { .. }));
    assert!(error.to_string().contains("\"wide\" and \"narrow\""), "{error}");
    assert!(matches!(BACKEND.load_weight(&[]), Err(BackendError::NoParts)));
}

#[test]
fn a_weight_size_error_has_both_sizes() {
    let error = WeightPart::matrix("w", DType::Q8_0, 2, 32, vec![0; 67].into())
        .expect_err("two rows of one block take 68 bytes");
    assert!(matches!(error, BackendError::WeightSize { expected: 68, found: 67, .. }), "{error}");
    let error = WeightPart::matrix("w", DType::Q8_0, 2, 33, vec![0; 68].into())
        .expect_err("33 is no multiple of 32");
    assert!(matches!(error, BackendError::WeightShape { .. }), "{error}");
}

/// One query head, one key head and one value head.
const HEADS_OF_5: QkvLayout = QkvLayout::new(1, 1, 5);

#[test]
fn rope_rotates_pairs_in_either_pairing_and_leaves_the_rest() {
    // Two pairs: the first rotated by 90 degrees, the second not at all; the fifth component is not
    // rotary.
    let angles = matrix(1, &[0.0, 1.0, 1.0, 0.0]);
    let head = [1.0, 2.0, 3.0, 4.0, 5.0];
    for (pairing, turned) in [
        (RopePairing::Interleaved, [-2.0, 1.0, 3.0, 4.0, 5.0]),
        (RopePairing::Halves, [-3.0, 2.0, 1.0, 4.0, 5.0]),
    ] {
        let mut qkv = matrix(1, &head.repeat(3));
        let rotation = Rotation { pairing, angles: Some(&angles), query_factors: None };
        BACKEND.begin().rope(1, &HEADS_OF_5, None, Some(rotation), &mut qkv);
        assert_close(&values(&qkv, 15), &[turned, turned, head].concat());
    }
}

#[test]
fn each_head_is_normalized_before_rotation() {
    let angles = matrix(1, &[0.0, 1.0, 1.0, 0.0]);
    // The means of the squares are 4 and 9.
    let (query, key) = ([2.0; 5], [3.0; 5]);
    let [q, k] = [[1.0, 2.0, 3.0, 4.0, 5.0], [6.0; 5]].map(|norm| matrix(1, &norm));
    let mut qkv = matrix(1, &[query, key, key].concat());
    let norm = QkNorm::per_head(&q, &k, 0.0);
    let pairing = RopePairing::Interleaved;
    let rotation = Rotation { pairing, angles: Some(&angles), query_factors: None };
    BACKEND.begin().rope(1, &HEADS_OF_5, Some(norm), Some(rotation), &mut qkv);
    let expected = [[-2.0, 1.0, 3.0, 4.0, 5.0], [-6.0, 6.0, 6.0, 6.0, 6.0], key].concat();
    assert_close(&values(&qkv, 15), &expected);
}

/// Three tokens, one head of one component, blocks out of order. All scores are zero, so attention is
/// the mean of the visible values.
#[test]
fn attention_covers_the_past_within_the_window() {
    let layout = QkvLayout::new(1, 1, 1);
    let kv = KvLayout {
        layers: vec![KvLayer::new(1, 1)],
        window: None,
        block_tokens: 2,
        num_blocks: 4,
        dtype: KvDType::F32,
    };
    let batch = one_sequence(3, &[BlockId(3), BlockId(1)]);
    let qkv = matrix(3, &[0.0, 1.0, 6.0, 0.0, 1.0, 12.0, 0.0, 1.0, 30.0]);
    let mut cache = BACKEND.alloc_kv_cache(&kv).expect("memory");
    BACKEND.begin().store_kv(&batch, 0, &layout, &qkv, &mut cache);
    let causal = |window| AttentionMask::Causal(Some(window));
    let bidirectional = |reach| AttentionMask::Bidirectional { reach };
    for (mask, expected) in [
        (AttentionMask::Causal(None), [6.0, 9.0, 16.0]),
        (causal(AttentionWindow::Sliding(2)), [6.0, 9.0, 21.0]),
        (causal(AttentionWindow::Sliding(1)), [6.0, 12.0, 30.0]),
        (causal(AttentionWindow::Chunked(2)), [6.0, 9.0, 30.0]),
        (bidirectional(None), [16.0, 16.0, 16.0]),
        (bidirectional(Some(1)), [9.0, 16.0, 21.0]),
        (bidirectional(Some(0)), [6.0, 12.0, 30.0]),
    ] {
        let mut out = matrix(3, &[0.0; 3]);
        let params = AttentionParams { mask, ..AttentionParams::new(0, 1.0) };
        BACKEND
            .begin()
            .paged_attention(&batch, &params, &layout, &qkv, &cache, &mut out)
            .expect("memory");
        assert_close(&values(&out, 3), &expected);
    }
}

#[test]
fn distances_lower_the_scores_by_the_slope_of_the_head() {
    let layout = QkvLayout::new(2, 1, 1);
    let kv = KvLayout {
        layers: vec![KvLayer::new(1, 1)],
        window: None,
        block_tokens: 2,
        num_blocks: 1,
        dtype: KvDType::F32,
    };
    let batch = one_sequence(2, &[BlockId(0)]);
    // Two queries of zero, a key, a value.
    let qkv = matrix(2, &[0.0, 0.0, 1.0, 6.0, 0.0, 0.0, 1.0, 12.0]);
    let mut cache = BACKEND.alloc_kv_cache(&kv).expect("memory");
    BACKEND.begin().store_kv(&batch, 0, &layout, &qkv, &mut cache);
    // Weights 1 and 1/3, and 1 and 1.
    let slopes = matrix(1, &[3f32.ln(), 0.0]);
    let params = AttentionParams {
        mask: AttentionMask::Bidirectional { reach: None },
        distance_bias: Some(DistanceBias::Slopes(&slopes)),
        ..AttentionParams::new(0, 1.0)
    };
    let mut out = matrix(2, &[0.0; 4]);
    BACKEND
        .begin()
        .paged_attention(&batch, &params, &layout, &qkv, &cache, &mut out)
        .expect("memory");
    assert_close(&values(&out, 4), &[7.5, 9.0, 10.5, 9.0]);
    // Weights 1 and 2 after the own position of the first head, 3 and 1 before that of the second.
    let table = matrix(2, &[0.0, 0.0, 2f32.ln(), 3f32.ln(), 0.0, 0.0]);
    let params = AttentionParams { distance_bias: Some(DistanceBias::Table(&table)), ..params };
    BACKEND
        .begin()
        .paged_attention(&batch, &params, &layout, &qkv, &cache, &mut out)
        .expect("memory");
    assert_close(&values(&out, 4), &[10.0, 9.0, 9.0, 7.5]);
}

#[test]
fn a_saved_block_can_be_restored_to_another_block_but_only_whole() {
    let kv = KvLayout {
        layers: vec![KvLayer::new(1, 2); 2],
        window: None,
        block_tokens: 2,
        num_blocks: 2,
        dtype: KvDType::F16,
    };
    let layout = QkvLayout::new(1, 1, 2);
    let mut cache = BACKEND.alloc_kv_cache(&kv).expect("memory");
    let batch = one_sequence(2, &[BlockId(0)]);
    let qkv = matrix(2, &[0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 5.0, 6.0, 7.0, 8.0]);
    BACKEND.begin().store_kv(&batch, 1, &layout, &qkv, &mut cache);
    let mut saved = Vec::new();
    BACKEND.read_kv_block(&cache, BlockId(0), KvBlockPart::All, &mut saved).expect("a host cache");
    assert_eq!(saved.len(), kv.block_bytes().expect("divides"));
    BACKEND
        .write_kv_block(&mut cache, BlockId(1), KvBlockPart::All, &saved)
        .expect("the same size");
    let mut again = Vec::new();
    BACKEND.read_kv_block(&cache, BlockId(1), KvBlockPart::All, &mut again).expect("a host cache");
    assert_eq!(saved, again);
    // Layer 1's keys are the third of four equal shares: 1, 2, 5, 6 as half floats.
    assert_eq!(saved[16..24], [0x00, 0x3c, 0x00, 0x40, 0x00, 0x45, 0x00, 0x46]);
    assert!(matches!(
        BACKEND.write_kv_block(&mut cache, BlockId(1), KvBlockPart::All, &saved[1..]),
        Err(BackendError::KvBlockSize { expected: 32, found: 31 })
    ));
}

/// All backends follow this rule: invalid values propagate as NaN, without a panic.
#[test]
fn a_q8_0_cache_stores_blocks_with_infinity_as_nan() {
    let layout = QkvLayout::new(1, 1, 64);
    let kv = KvLayout {
        layers: vec![KvLayer::new(1, 64)],
        window: None,
        block_tokens: 1,
        num_blocks: 1,
        dtype: KvDType::Q8_0,
    };
    let mut row = vec![1.0; 3 * 64];
    row[2 * 64] = f32::INFINITY;
    let qkv = matrix(1, &row);
    let batch = {
        let mut builder = BatchBuilder::new(1);
        let block_table = &[BlockId(0)];
        let chunk = SequenceChunk {
            tokens: &[0],
            start: 0,
            block_table,
            logits: LogitRows::Last,
            second_segment: None,
        };
        builder.push(&chunk).expect("one block is enough");
        builder.build()
    };
    let mut cache = BACKEND.alloc_kv_cache(&kv).expect("memory");
    BACKEND.begin().store_kv(&batch, 0, &layout, &qkv, &mut cache);
    let mut out = matrix(1, &[0.0; 64]);
    let params = AttentionParams::new(0, 1.0);
    BACKEND
        .begin()
        .paged_attention(&batch, &params, &layout, &qkv, &cache, &mut out)
        .expect("memory");
    let out = values(&out, 64);
    assert!(out[..32].iter().all(|x| x.is_nan()), "the block with the infinity: {out:?}");
    assert!(out[32..].iter().all(|x| (x - 1.0).abs() < 1e-2), "its neighbour: {out:?}");
}

#[test]
fn allocating_more_than_the_available_memory_is_an_error() {
    let kv = KvLayout {
        layers: vec![KvLayer::new(1 << 24, 1 << 24); 2],
        window: None,
        block_tokens: 16,
        num_blocks: 1 << 24,
        dtype: KvDType::F16,
    };
    assert_eq!(kv.total_bytes().expect("divides"), usize::MAX);
    assert!(matches!(BACKEND.alloc_kv_cache(&kv), Err(BackendError::OutOfMemory { .. })));
    assert!(matches!(BACKEND.alloc(1 << 40, 1 << 40), Err(BackendError::OutOfMemory { .. })));
}

#[test]
fn tokens_use_their_most_probable_experts_with_ties_by_index() {
    let params = ExpertParams::softmax(3, 2, true);
    let mut routing = BACKEND.alloc_routing(1, &params).expect("memory");
    // Experts 0 and 2 tie behind expert 1: probabilities 1/4, 1/2, 1/4.
    let logits = matrix(1, &[0.0, 2f32.ln(), 0.0]);
    BACKEND.begin().route_experts(1, &logits, None, &params, &mut routing);
    // Expert e multiplies by e + 1.
    let weight = BACKEND.load_weight(&[part("e", 3, 1, &[1.0, 2.0, 3.0])]).expect("one part");
    let mut slots = matrix(2, &[0.0; 2]);
    let x = matrix(2, &[6.0; 2]);
    BACKEND.begin().expert_linear(&routing, &x, &weight, None, &mut slots).expect("memory");
    assert_close(&values(&slots, 2), &[12.0, 6.0]);
    let again = matrix(2, &[1.0, 10.0]);
    BACKEND.begin().expert_linear(&routing, &again, &weight, None, &mut slots).expect("memory");
    assert_close(&values(&slots, 2), &[2.0, 10.0]);
    let mut out = matrix(1, &[100.0]);
    BACKEND.begin().combine_experts(1, &routing, &slots, true, &mut out);
    assert_close(&values(&out, 1), &[100.0 + 2.0 * 2.0 / 3.0 + 10.0 / 3.0]);
}
