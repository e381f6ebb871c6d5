//! Long uniform texts are encoded in linear time with every vocabulary.

use std::time::Duration;

use inferno_gguf::StringArray;
use inferno_tokenizer::{EncodeOptions, Tokenizer};

use crate::vocabularies::{byte_level, metadata};

const MEGABYTE: usize = 1 << 20;

const WITH_SPECIAL: EncodeOptions = EncodeOptions { add_special: true, parse_special: true };

/// The processor time of this thread, which the load of the machine does not change.
#[cfg(unix)]
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::from_secs(time.tv_sec as u64) + Duration::from_nanos(time.tv_nsec as u64)
}

/// The time since the first call.
#[cfg(not(unix))]
fn thread_time() -> Duration {
    static START: std::sync::LazyLock<std::time::Instant> =
        std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed()
}

fn check(unit: &str, size: usize, limit: Duration, tokenizers: &[(&str, Tokenizer)]) {
    let text = unit.repeat(size / unit.len());
    for (name, tokenizer) in tokenizers {
        let start = thread_time();
        tokenizer.encode(&text, WITH_SPECIAL);
        let taken = thread_time() - start;
        assert!(taken < limit, "{name}: {unit:?} took {taken:?}");
    }
}

#[test]
fn a_uniform_megabyte_is_encoded_in_seconds() {
    let bytes = ["qwen2", "gpt-2", "superbpe"].map(|name| (name, byte_level(name).unwrap()));
    let others = ["text_level", "sentencepiece", "unigram", "wordpiece"]
        .map(|kind| (kind, Tokenizer::from_metadata(&metadata(kind)).unwrap()));
    let tokenizers: Vec<_> = bytes.into_iter().chain(others).collect();
    for unit in ["a", " ", "😀", "7", "\n", "qzxjkvbpw", "<|im_start|", "\u{301}", "!", "\t "] {
        // A generous limit: quadratic time for a megabyte would be minutes.
        check(unit, MEGABYTE, Duration::from_secs(20), &tokenizers);
    }
}

#[test]
fn thousands_of_overlapping_special_tokens_take_linear_time() {
    let mut metadata = metadata("byte_level");
    let key = "tokenizer.ggml.tokens";
    let mut tokens = metadata.required::<&StringArray>(key).unwrap().clone();
    let num_normal = tokens.len();
    for len in 2..=2000 {
        tokens.push(&"~".repeat(len));
    }
    for i in 0..4000 {
        tokens.push(&format!("<|{i:04}|><|"));
    }
    let num_special = tokens.len() - num_normal;
    metadata.insert(key, tokens);
    let key = "tokenizer.ggml.token_type";
    let mut kinds: Vec<i32> = metadata.required(key).unwrap();
    kinds.extend(vec![4; num_special]);
    metadata.insert(key, kinds);
    let tokenizer = [("many special", Tokenizer::from_metadata(&metadata).unwrap())];
    let short_of_the_longest = format!("{}!", "~".repeat(1999));
    let cases = ["~", &short_of_the_longest, "~~!", "<|", "<|0123|>", "<|0123|><|0124|"];
    for unit in cases {
        check(unit, MEGABYTE, Duration::from_secs(20), &tokenizer);
    }
}

/// One name per pre-tokenizer.
const PRE_TOKENIZERS: &[&str] = &[
    "default",
    "falcon",
    "starcoder",
    "llama-bpe",
    "jais-2",
    "minicpm5",
    "qwen35",
    "laguna",
    "seed-coder",
    "exaone-moe",
    "deepseek-llm",
    "deepseek-coder",
    "deepseek-v3",
    "spark2_5",
    "afmoe",
    "kimi-k2",
    "tekken",
    "gpt-4o",
    "granite-embed-multi-97m",
    "tiny_aya",
    "youtu",
    "bloom",
    "viking",
    "chameleon",
];

#[test]
fn every_pre_tokenizer_takes_linear_time_for_long_runs() {
    let tokenizers: Vec<_> =
        PRE_TOKENIZERS.iter().map(|name| (*name, byte_level(name).unwrap())).collect();
    for unit in [" ", "A", "éA", "1", "\r\n", " \u{3000}", "'", "a\u{301}", "IMGIMGA", "<sentinel:"]
    {
        check(unit, MEGABYTE / 8, Duration::from_secs(10), &tokenizers);
    }
}
