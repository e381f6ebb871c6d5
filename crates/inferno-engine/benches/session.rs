//! The time per token of one session besides the model: with greedy sampling from 64 tokens.

use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use inferno_backend::{Batch, BlockId, KvBlockPart, KvDType, KvLayer, KvLayout};
use inferno_engine::{
    CoreOptions, EngineError, Fingerprint, GenerationCore, GenerationParams, PassRows, Rows,
    Runner, SamplingParams, Session, SessionOptions, StopParams, WindowUpdate,
};
use inferno_gguf::Gguf;
use inferno_model::{BatchLimits, StageOutput};
use inferno_tokenizer::Tokenizer;

const VOCAB_SIZE: usize = 64;
const CONTEXT_LENGTH: usize = 1 << 16;

/// Returns the same logits for every batch.
struct ConstantRunner {
    layout: KvLayout,
    logits: Vec<f32>,
    /// Rows of the current pass.
    num_rows: usize,
}

impl Runner for ConstantRunner {
    fn vocab_size(&self) -> usize {
        VOCAB_SIZE
    }

    fn hidden_size(&self) -> usize {
        1
    }

    fn context_length(&self) -> usize {
        CONTEXT_LENGTH
    }

    fn limits(&self) -> BatchLimits {
        BatchLimits { max_num_tokens: 256, max_num_logit_rows: 1 }
    }

    fn kv_layout(&self) -> &KvLayout {
        &self.layout
    }

    fn fingerprint(&self) -> Fingerprint {
        Fingerprint(0)
    }

    fn submit(&mut self, batch: &Batch, _: PassRows) -> Result<(), EngineError> {
        self.num_rows = batch.logit_rows().len();
        Ok(())
    }

    fn wait(&mut self) -> Result<Rows<'_>, EngineError> {
        let values = &self.logits[..self.num_rows * VOCAB_SIZE];
        Ok(Rows::new(StageOutput::Values(values), VOCAB_SIZE))
    }

    fn update_windows(&mut self, _: &[WindowUpdate]) {}

    fn read_kv_block(
        &self,
        _: BlockId,
        _: KvBlockPart,
        _: &mut Vec<u8>,
    ) -> Result<(), EngineError> {
        Ok(())
    }

    fn write_kv_block(&mut self, _: BlockId, _: KvBlockPart, _: &[u8]) -> Result<(), EngineError> {
        Ok(())
    }
}

fn token_of_one_session(criterion: &mut Criterion) {
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/ember.gguf");
    let checkpoint = Gguf::open(model).expect("a sound file");
    let tokenizer = Tokenizer::from_metadata(checkpoint.metadata()).expect("a sound tokenizer");
    let block_tokens = KvLayout::DEFAULT_BLOCK_TOKENS;
    let layout = KvLayout {
        layers: vec![KvLayer::new(1, 1)],
        window: None,
        block_tokens,
        num_blocks: CONTEXT_LENGTH / block_tokens,
        dtype: KvDType::F32,
    };
    let logits = (0..VOCAB_SIZE).map(|token| (token * 7 % VOCAB_SIZE) as f32).collect();
    let runner = Box::new(ConstantRunner { layout, logits, num_rows: 0 });
    let core = GenerationCore::new(runner, Arc::new(tokenizer), CoreOptions::default());
    let core = core.expect("a sound runner");
    let mut session = Session::new(core, SessionOptions::default()).expect("a sound cache");
    let params = GenerationParams {
        sampling: SamplingParams::greedy(),
        stop: StopParams { max_tokens: Some(1000), ignore_eos: true, ..StopParams::default() },
        ..GenerationParams::default()
    };
    criterion.bench_function("1000_tokens_of_one_session", |bencher| {
        bencher.iter(|| {
            session.reset();
            let generation = session.generate(&[1, 2, 3], &params).expect("it fits");
            generation.complete().expect("a runner that does not fail").tokens.len()
        });
    });
}

criterion_group!(benches, token_of_one_session);
criterion_main!(benches);
