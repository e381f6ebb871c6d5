//! Real files, if the environment variable INFERNO_ORACLE is set to a folder of them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use inferno_gguf::{Gguf, StringArray};

/// The folder, or `None` with a note if the variable is not set.
fn oracle() -> Option<PathBuf> {
    let folder = std::env::var_os("INFERNO_ORACLE").map(PathBuf::from);
    if folder.is_none() {
        let _ = writeln!(std::io::stderr(), "skipped: INFERNO_ORACLE is not set");
    }
    folder
}

fn gguf_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("INFERNO_ORACLE names a folder") {
        let path = entry.unwrap().path();
        if path.is_dir() {
            gguf_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "gguf") {
            found.push(path);
        }
    }
}

#[test]
fn every_file_opens_with_all_payloads() {
    let Some(folder) = oracle() else { return };
    let mut files = Vec::new();
    gguf_files(&folder, &mut files);
    assert!(!files.is_empty(), "no .gguf file below {}", folder.display());
    for path in files {
        let gguf = Gguf::open(&path).unwrap_or_else(|error| panic!("{error}"));
        for info in gguf.tensors() {
            assert_eq!(gguf.data(info).len(), info.num_bytes(), "{}: {info}", path.display());
        }
    }
}

#[test]
fn a_trained_model_has_its_documented_shape() {
    let Some(folder) = oracle() else { return };
    let gguf = Gguf::open(folder.join("models/stories260K.gguf")).unwrap();
    // Five layers of 64 channels, a vocabulary of 512: the table in the model's own description.
    assert_eq!(gguf.metadata().required::<&str>("general.architecture").unwrap(), "llama");
    assert_eq!(gguf.metadata().required::<u32>("llama.block_count").unwrap(), 5);
    assert_eq!(gguf.metadata().required::<usize>("llama.embedding_length").unwrap(), 64);
    let tokens: &StringArray = gguf.metadata().required("tokenizer.ggml.tokens").unwrap();
    assert_eq!(tokens.len(), 512);
    let embeddings = gguf.tensor("token_embd.weight").unwrap();
    assert_eq!(embeddings.dims(), [64, 512]);
}
