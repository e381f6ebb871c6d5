//! How much scratch memory operations allocate.

use crate::cases::{Random, SILU, backend, matrix, run};
use inferno_backend::{
    CandidateShape, DeviceMemory, ExpertParams, KvDType, MAX_CANDIDATES, Pass, PassShape,
    ProductShape, QkvLayout,
};
use inferno_conformance::attention::attend_after;
use inferno_cpu::Isa;
use inferno_tensor::DType;

const TOKENS: usize = 200;
const LAYOUT: QkvLayout = QkvLayout::new(8, 2, 64);

fn pass(kv_dtype: KvDType, products: Vec<ProductShape>) -> PassShape {
    PassShape {
        max_num_tokens: TOKENS,
        attention: vec![LAYOUT],
        kv_dtype,
        products,
        max_num_logit_rows: 0,
        vocab_size: 0,
    }
}

#[test]
fn products_allocate_what_is_estimated() {
    for isa in Isa::available() {
        for dtype in [DType::F32, DType::F16, DType::Q8_0, DType::Q4K] {
            let (mut random, cols) = (Random::new(1), 512);
            let backend = backend(isa, 2);
            let weights = [(); 2].map(|()| random.weight(dtype, 1, 48, cols));
            let weight = backend.load_weight(&weights).expect("memory");
            let x = matrix(&backend, TOKENS, cols, &random.values(TOKENS * cols));
            let mut out = backend.alloc(TOKENS, 48).expect("memory");
            run(&backend, |pass| pass.linear_gated(TOKENS, &x, &weight, None, SILU, &mut out))
                .expect("memory");
            let product = ProductShape { dtype, cols, max_num_rows: TOKENS, num_experts: 1 };
            let estimate = |products| backend.scratch_bytes(&pass(KvDType::F16, products));
            let estimated = estimate(vec![product]) - estimate(vec![]);
            // Without products, the scratch memory of threads is estimated all the same.
            let threads = backend
                .scratch_bytes(&PassShape { max_num_tokens: 0, ..pass(KvDType::F16, vec![]) });
            assert_eq!(backend.allocated_scratch_bytes(), estimated + threads, "{isa} {dtype}");
        }
    }
}

#[test]
fn routed_products_allocate_at_most_what_is_estimated() {
    let mut random = Random::new(2);
    let (cols, used) = (64, 2);
    for num_experts in [2, 8, 60] {
        let backend = backend(Isa::Scalar, 2);
        let params = ExpertParams::softmax(num_experts, used, true);
        let weight = random.weight(DType::Q8_0, num_experts, 32, cols);
        let weight = backend.load_weight(&[weight]).expect("memory");
        let logits = random.values(TOKENS * num_experts);
        let logits = matrix(&backend, TOKENS, num_experts, &logits);
        let mut routing = backend.alloc_routing(TOKENS, &params).expect("memory");
        run(&backend, |pass| pass.route_experts(TOKENS, &logits, None, &params, &mut routing));
        let x = matrix(&backend, TOKENS * used, cols, &random.values(TOKENS * used * cols));
        let mut out = backend.alloc(TOKENS * used, 32).expect("memory");
        run(&backend, |pass| pass.expert_linear(&routing, &x, &weight, None, &mut out))
            .expect("memory");
        let product =
            ProductShape { dtype: DType::Q8_0, cols, max_num_rows: TOKENS * used, num_experts };
        let estimated = backend.scratch_bytes(&pass(KvDType::F16, vec![product]));
        let allocated = backend.allocated_scratch_bytes();
        assert!(allocated <= estimated, "{allocated} bytes, {estimated} estimated");
    }
}

#[test]
fn selections_of_candidates_allocate_at_most_what_is_estimated() {
    let (rows, vocab_size) = (3, 20_000);
    let backend = backend(Isa::Scalar, 2);
    let logits = Random::new(3).values(rows * vocab_size);
    let logits = matrix(&backend, rows, vocab_size, &logits);
    let shape = CandidateShape { count: MAX_CANDIDATES, vocab_size };
    let mut out = None;
    run(&backend, |pass| pass.select_candidates(rows, shape, &logits, &mut out)).expect("memory");
    let without = pass(KvDType::F16, vec![]);
    let with = PassShape { max_num_logit_rows: rows, vocab_size, ..without.clone() };
    let estimated = backend.scratch_bytes(&with) - backend.scratch_bytes(&without);
    let allocated = backend.allocated_scratch_bytes();
    assert!(allocated <= estimated, "{allocated} bytes, {estimated} estimated");
    // The candidates themselves are part of the estimate.
    assert!(allocated >= estimated / 2, "{allocated} bytes, {estimated} estimated");
}

#[test]
fn estimates_of_passes_of_any_size_do_not_overflow() {
    let backend = backend(Isa::Scalar, 1);
    for (max_num_rows, num_experts) in [(usize::MAX, 1), (usize::MAX, 8), (usize::MAX - 20, 1)] {
        let product = ProductShape { dtype: DType::Q8_0, cols: 64, max_num_rows, num_experts };
        let estimated = backend.scratch_bytes(&pass(KvDType::F16, vec![product]));
        assert_eq!(estimated, usize::MAX);
    }
}

#[test]
fn split_contexts_of_many_heads_allocate_at_most_what_is_estimated() {
    for num_heads in [100, 200, 300, 600] {
        let layout = QkvLayout::new(num_heads, 1, 64);
        let shape =
            PassShape { max_num_tokens: 3, attention: vec![layout], ..pass(KvDType::I16, vec![]) };
        for isa in Isa::available() {
            let backend = backend(isa, 2);
            attend_after(&backend, &layout, KvDType::I16, 1000, 3);
            let (allocated, estimated) =
                (backend.allocated_scratch_bytes(), backend.scratch_bytes(&shape));
            assert!(allocated <= estimated, "{num_heads} {isa}: {allocated}, {estimated}");
        }
    }
}

#[test]
fn attention_allocates_at_most_what_is_estimated() {
    for kv_dtype in KvDType::ALL {
        for threads in [1, 3] {
            let backend = backend(Isa::available().pop().expect("scalar"), threads);
            let without =
                backend.scratch_bytes(&PassShape { max_num_tokens: 0, ..pass(kv_dtype, vec![]) });
            let estimated = backend.scratch_bytes(&pass(kv_dtype, vec![])) - without;
            let mut allocated = 0;
            for (start, tokens) in
                [(0, 1), (5000, 1), (0, TOKENS), (3000, TOKENS / 2), (3000, TOKENS)]
            {
                attend_after(&backend, &LAYOUT, kv_dtype, start, tokens);
                allocated = backend.allocated_scratch_bytes();
                assert!(allocated <= estimated, "{kv_dtype} {threads}: {allocated}, {estimated}");
            }
            // Memory for contexts that are split is an upper bound.
            assert!(allocated >= estimated / 16, "{kv_dtype} {threads}: {allocated}, {estimated}");
        }
    }
}
