//! How much scratch memory operations allocate.

use inferno_backend::{
    DeviceMemory, KvDType, LinearInput, Norm, Pass, PassShape, ProductShape, QkvLayout,
};
use inferno_conformance::attention::attend_after;
use inferno_conformance::cases::{Random, matrix, run};
use inferno_gpu::GpuBackend;
use inferno_tensor::DType;

use crate::device::adapter;

const TOKENS: usize = 200;
const LAYOUT: QkvLayout = QkvLayout::new(8, 2, 64);

#[test]
fn operations_allocate_at_most_what_is_estimated() {
    let Some(shared) = adapter() else { return };
    let backend = GpuBackend::new(shared.adapter()).expect("a device that can be opened");
    let (mut random, dtype, cols) = (Random::new(1), DType::Q8_0, 512);
    let product = ProductShape { dtype, cols, max_num_rows: TOKENS, num_experts: 1 };
    let shape = |products| PassShape {
        max_num_tokens: TOKENS,
        attention: vec![LAYOUT],
        kv_dtype: KvDType::F16,
        products,
        max_num_logit_rows: 0,
        vocab_size: 0,
    };
    let without_products = backend.scratch_bytes(&shape(vec![]));
    let estimated = backend.scratch_bytes(&shape(vec![product]));

    let weight = backend.load_weight(&[random.weight(dtype, 1, 48, cols)]).expect("memory");
    let x = matrix(&backend, TOKENS, cols, &random.values(TOKENS * cols));
    let norm_weight = matrix(&backend, 1, cols, &random.values(cols));
    let mut out = backend.alloc(TOKENS, 48).expect("memory");
    let mut multiply = || {
        let input = LinearInput::Normed { x: &x, norm: Norm::rms(&norm_weight, 1e-6) };
        run(&backend, |pass| pass.linear(TOKENS, input, &weight, None, &mut out)).expect("memory");
        backend.allocated_scratch_bytes()
    };
    let allocated = multiply();
    assert_eq!(allocated, estimated - without_products);
    assert_eq!(multiply(), allocated, "later passes use the same memory");

    for (start, tokens) in [(0, 1), (5000, 1), (0, TOKENS), (3000, TOKENS)] {
        attend_after(&backend, &LAYOUT, KvDType::F16, start, tokens);
        let allocated = backend.allocated_scratch_bytes();
        assert!(allocated <= estimated, "{start} {tokens}: {allocated}, {estimated} estimated");
    }
}
