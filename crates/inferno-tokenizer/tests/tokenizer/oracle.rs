//! Real vocabularies, with llama.cpp's ids for about fifty texts.
//!
//! `INFERNO_ORACLE` is the folder of the reference data; the tests are skipped if it is not set.

use std::io::Write;
use std::path::{Path, PathBuf};

use inferno_gguf::Gguf;
use inferno_tokenizer::{EncodeOptions, Tokenizer};

const SEPARATOR: &str = "\n__ggml_vocab_test__\n";

fn vocabularies() -> Vec<PathBuf> {
    let Some(oracle) = std::env::var_os("INFERNO_ORACLE") else {
        let _ = writeln!(std::io::stderr(), "skipped: INFERNO_ORACLE is not set");
        return Vec::new();
    };
    let folder = Path::new(&oracle).join("vocab");
    let entries = folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let files: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "gguf"))
        .collect();
    assert!(!files.is_empty(), "no vocabulary in {}", folder.display());
    files
}

fn beside(path: &Path, extension: &str) -> String {
    let path = PathBuf::from(format!("{}.{extension}", path.display()));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn real_vocabularies_match_the_reference_ids_and_decode_to_the_text() {
    for path in vocabularies() {
        let gguf = Gguf::open(&path).unwrap();
        let tokenizer = Tokenizer::from_metadata(gguf.metadata()).unwrap();
        let texts = beside(&path, "inp");
        let answers = beside(&path, "out");
        let texts: Vec<&str> = texts.split(SEPARATOR).collect();
        let answers: Vec<Vec<u32>> = answers
            .lines()
            .map(|line| line.split_whitespace().map(|id| id.parse().unwrap()).collect())
            .collect();
        assert_eq!(texts.len(), answers.len() + 1, "the last text is what follows the last line");
        for (text, expected) in texts.iter().zip(answers) {
            let ids = tokenizer.encode(text, EncodeOptions::default());
            assert_eq!(ids, expected, "{}: {text:?}", path.display());
            assert_eq!(tokenizer.decode(&ids, true).unwrap(), *text, "{}", path.display());
        }
    }
}
