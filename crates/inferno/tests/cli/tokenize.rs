//! `inferno tokenize` and `tokenizer-demo`.

use std::fs;

use crate::support::{Run, expected, model, oracle};

fn tokenize(flags: &[&str]) -> Run {
    Run::inferno().args(["tokenize"]).args(flags).args(["-m"]).args([model()])
}

#[test]
fn text_is_converted_to_a_json_array() {
    let expected = format!("{}\n", expected()["prompt_tokens"]);
    assert_eq!(tokenize(&[]).stdin("Once upon a time").success().stdout, expected);
    assert_eq!(tokenize(&[]).stdin("").success().stdout, "[]\n");
}

#[test]
fn special_tokens_are_parsed_or_plain_text() {
    assert_eq!(tokenize(&[]).stdin("a<|im_end|>").success().stdout, "[97,258]\n");
    let plain = tokenize(&["--no-special"]).stdin("<|im_end|>").success().stdout;
    assert_eq!(plain, "[60,124,105,109,95,101,110,100,124,62]\n");
    assert_eq!(tokenize(&["--decode"]).stdin("[97, 258]").success().stdout, "a<|im_end|>");
    assert_eq!(tokenize(&["--decode", "--no-special"]).stdin("[97, 258]").success().stdout, "a");
}

#[test]
fn ids_are_converted_to_text() {
    let text = "the \u{1f525} of\ntime";
    let ids = tokenize(&[]).stdin(text).success().stdout;
    assert_eq!(tokenize(&["--decode"]).stdin(ids).success().stdout, text);
    for ids in [&["104,105"][..], &["104", "105"], &["[104]", "105"]] {
        assert_eq!(tokenize(&["--decode"]).args(ids).success().stdout, "hi");
    }
}

#[test]
fn invalid_text_and_ids_are_rejected() {
    let invalid = tokenize(&[]).stdin(b"ab\xff".to_vec()).failure(1);
    assert!(
        invalid.stderr.contains("standard input is not valid UTF-8 at byte 2"),
        "{}",
        invalid.stderr
    );
    for ids in ["", "1 2", "[1, -2]", "{}"] {
        let refused = tokenize(&["--decode"]).stdin(ids).failure(1);
        assert!(refused.stderr.contains("is not a JSON array of token ids"), "{}", refused.stderr);
    }
    let words = tokenize(&["two", "words"]).failure(2);
    assert!(
        words.stderr.contains("more than one argument; put a text of several words in quotes"),
        "{}",
        words.stderr
    );
    // Nothing is downloaded first.
    let remote = Run::inferno().args(["tokenize", "-m", "hf:owner/repo", "two", "words"]);
    let words = remote.env("HF_ENDPOINT", "http://127.0.0.1:1").failure(2);
    assert!(words.stderr.contains("more than one argument"), "{}", words.stderr);
    let unknown = tokenize(&["--decode"]).stdin("[260]").failure(1);
    assert!(unknown.stderr.contains("token id 260 is out of range"), "{}", unknown.stderr);
}

#[test]
fn vocabulary_files_match_llama_cpp() {
    for name in ["llama-bpe", "llama-spm", "qwen2"] {
        let (Some(model), Some(inputs), Some(outputs)) = (
            oracle(&format!("vocab/ggml-vocab-{name}.gguf")),
            oracle(&format!("vocab/ggml-vocab-{name}.gguf.inp")),
            oracle(&format!("vocab/ggml-vocab-{name}.gguf.out")),
        ) else {
            return;
        };
        let (inputs, outputs) =
            (fs::read_to_string(inputs).unwrap(), fs::read_to_string(outputs).unwrap());
        let texts = inputs.split("\n__ggml_vocab_test__\n");
        for (text, ids) in texts.zip(outputs.lines()).take(4) {
            let ids = ids.split_whitespace().collect::<Vec<_>>().join(",");
            let run =
                Run::inferno().args(["tokenize", "--no-bos", "--no-special", "-m"]).args([&model]);
            assert_eq!(run.stdin(text).success().stdout, format!("[{ids}]\n"), "{name}: {text:?}");
        }
    }
}

#[test]
fn decoding_removes_added_tokens() {
    let Some(model) = oracle("models/stories260K.gguf") else {
        return;
    };
    let run = |flags: &[&str]| Run::inferno().args(["tokenize", "-m"]).args([&model]).args(flags);
    let ids = run(&[]).stdin("Once upon").success().stdout;
    assert!(ids.starts_with("[1,"), "{ids}");
    assert_eq!(run(&["--decode"]).stdin(ids.clone()).success().stdout, "Once upon");
    assert_eq!(run(&["--decode", "--no-bos"]).stdin(ids).success().stdout, "<s>Once upon");
}

#[test]
fn the_demo_shows_pieces_and_ids() {
    let demo = Run::program(env!("CARGO_BIN_EXE_tokenizer-demo"));
    let outcome = demo.args([model()]).args(["the end<|im_end|>"]).success();
    insta::assert_snapshot!(outcome.stdout, @r"
    [th][e][ ][e][n][d][<|im_end|>]
        259  th
        101  e
         32   
        101  e
        110  n
        100  d
        258  <|im_end|>  (special)
    7 tokens
    ");
}

#[cfg(not(feature = "embedded-model"))]
#[test]
fn the_demo_reports_a_missing_model() {
    let missing = Run::program(env!("CARGO_BIN_EXE_tokenizer-demo")).args(["the end"]).failure(2);
    assert!(missing.stderr.contains("no model specified; pass its file"), "{}", missing.stderr);
}
