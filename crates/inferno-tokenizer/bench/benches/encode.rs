//! Encoding throughput in bytes per second on one thread, ours and Hugging Face's, with the same
//! vocabulary.

use std::hint::black_box;

use ahash::AHashMap;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use inferno_gguf::{Gguf, Metadata, StringArray};
use inferno_tokenizer::{EncodeOptions, Tokenizer};
use tokenizers::models::bpe::BPE;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::tokenizer::SplitDelimiterBehavior;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures");

/// Maximum size of a text that is encoded at once.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// The pattern in Qwen 2's own `tokenizer.json`.
const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

fn path(variable: &str, default: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| format!("{FIXTURES}/{default}"))
}

fn peer(metadata: &Metadata) -> tokenizers::Tokenizer {
    let tokens: &StringArray = metadata.required("tokenizer.ggml.tokens").unwrap();
    let merges: &StringArray = metadata.required("tokenizer.ggml.merges").unwrap();
    let vocabulary: AHashMap<String, u32> =
        tokens.iter().zip(0..).map(|(text, id)| (text.to_owned(), id)).collect();
    let merges = merges
        .iter()
        .map(|merge| merge.split_once(' ').unwrap())
        .map(|(left, right)| (left.to_owned(), right.to_owned()))
        .collect();
    let model = BPE::builder().vocab_and_merges(vocabulary, merges);
    let mut peer = tokenizers::Tokenizer::new(model.build().unwrap());
    let pattern = SplitPattern::Regex(QWEN2.to_owned());
    let split = Split::new(pattern, SplitDelimiterBehavior::Isolated, false).unwrap();
    let bytes = ByteLevel::new(false, false, false);
    peer.with_pre_tokenizer(Some(Sequence::new(vec![split.into(), bytes.into()])));
    peer
}

fn encode(criterion: &mut Criterion) {
    let gguf = Gguf::open(path("INFERNO_VOCABULARY", "byte_level.gguf")).unwrap();
    let ours = Tokenizer::from_metadata(gguf.metadata()).unwrap();
    let peer = peer(gguf.metadata());
    let text = std::fs::read_to_string(path("INFERNO_TEXT", "corpus.txt")).unwrap();
    let text = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];

    let options = EncodeOptions::default();
    let answer = peer.encode(text, false).unwrap();
    assert_eq!(ours.encode(text, options), answer.get_ids(), "the two agree on this text");

    let mut group = criterion.benchmark_group("encode");
    group.sample_size(10);
    for (name, len) in [("whole", text.len()), ("500 bytes", 500)] {
        let part = &text[..text.floor_char_boundary(len)];
        group.throughput(Throughput::Bytes(part.len() as u64));
        group.bench_function(BenchmarkId::new("inferno", name), |bencher| {
            bencher.iter(|| ours.encode(black_box(part), options));
        });
        group.bench_function(BenchmarkId::new("tokenizers", name), |bencher| {
            bencher.iter(|| peer.encode_fast(black_box(part), false).unwrap());
        });
    }
    group.finish();
}

criterion_group!(benches, encode);
criterion_main!(benches);
