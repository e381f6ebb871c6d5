//! Split checkpoints, valid and inconsistent.

use std::fs;
use std::path::{Path, PathBuf};

use inferno_gguf::{GgmlType, Gguf, GgufError, GgufWriter, Metadata};

/// Writes a shard with these numbers in its metadata and these tensors.
fn write_shard(path: &Path, number: u16, count: u16, num_tensors: i32, tensors: &[&str]) {
    let mut metadata = Metadata::new();
    metadata.insert("split.no", number);
    metadata.insert("split.count", count);
    metadata.insert("split.tensors.count", num_tensors);
    let mut writer = GgufWriter::new(&metadata).unwrap();
    for name in tensors {
        writer.add_tensor(name, &[1], GgmlType::F32).unwrap();
    }
    let mut payloads = writer.create(path).unwrap();
    for name in tensors {
        payloads.write_tensor(name, &[0; 4]).unwrap();
    }
    payloads.finish().unwrap();
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn shard(folder: &tempfile::TempDir, number: u32, count: u32) -> PathBuf {
    folder.path().join(format!("m-{number:05}-of-{count:05}.gguf"))
}

#[test]
fn a_missing_shard_error_has_the_path() {
    let folder = folder();
    write_shard(&shard(&folder, 2, 2), 1, 2, 2, &["b"]);
    let error = Gguf::open(shard(&folder, 2, 2)).unwrap_err();
    let GgufError::ShardMissing { path, count: 2 } = &error else { panic!("{error:?}") };
    assert_eq!(path, &shard(&folder, 1, 2));
    let advice =
        "shard not found; the checkpoint has 2 shards, download all of them into one folder";
    assert!(error.to_string().ends_with(advice), "{error}");
}

#[test]
fn a_shard_with_another_number_is_rejected() {
    let folder = folder();
    write_shard(&shard(&folder, 1, 2), 0, 2, 2, &["a"]);
    write_shard(&shard(&folder, 2, 2), 0, 2, 2, &["b"]);
    let error = Gguf::open(shard(&folder, 1, 2)).unwrap_err();
    assert!(
        matches!(&error, GgufError::ShardMismatch { path, key: "split.no", expected: 1, found: 0 }
            if *path == shard(&folder, 2, 2)),
        "{error:?}"
    );
}

#[test]
fn a_count_that_differs_from_the_name_is_rejected() {
    for stated in [1, 3] {
        let folder = folder();
        write_shard(&shard(&folder, 1, 2), 0, stated, 2, &["a"]);
        let error = Gguf::open(shard(&folder, 1, 2)).unwrap_err();
        assert!(
            matches!(&error, GgufError::ShardMismatch { key: "split.count", expected: 2, found, .. }
                if *found == u64::from(stated)),
            "{error:?}"
        );
    }
}

#[test]
fn a_wrong_total_of_tensors_is_rejected() {
    let folder = folder();
    write_shard(&shard(&folder, 1, 2), 0, 2, 3, &["a"]);
    write_shard(&shard(&folder, 2, 2), 1, 2, 3, &["b"]);
    let error = Gguf::open(shard(&folder, 1, 2)).unwrap_err();
    assert!(
        matches!(
            error,
            GgufError::ShardMismatch { key: "split.tensors.count", expected: 2, found: 3, .. }
        ),
        "{error:?}"
    );
}

#[test]
fn a_tensor_in_two_shards_is_an_error_with_the_second_path() {
    let folder = folder();
    write_shard(&shard(&folder, 1, 2), 0, 2, 2, &["same"]);
    write_shard(&shard(&folder, 2, 2), 1, 2, 2, &["same"]);
    let error = Gguf::open(shard(&folder, 1, 2)).unwrap_err();
    assert!(error.to_string().contains("m-00002-of-00002.gguf"), "{error}");
    assert!(matches!(error.without_path(), GgufError::DuplicateTensor { .. }), "{error:?}");
}

#[test]
fn a_renamed_shard_is_rejected_rather_than_loaded_alone() {
    let folder = folder();
    let path = folder.path().join("renamed.gguf");
    write_shard(&path, 0, 2, 2, &["a"]);
    let error = Gguf::open(&path).unwrap_err();
    assert!(matches!(error, GgufError::ShardName { count: 2, .. }), "{error:?}");
}

#[test]
fn a_whole_file_with_a_shard_name_is_opened() {
    let folder = folder();
    let path = shard(&folder, 1, 2);
    let mut writer = GgufWriter::new(&Metadata::new()).unwrap();
    writer.add_tensor("a", &[1], GgmlType::F32).unwrap();
    let mut payloads = writer.create(&path).unwrap();
    payloads.write_tensor("a", &[0; 4]).unwrap();
    payloads.finish().unwrap();
    let gguf = Gguf::open(&path).unwrap();
    assert_eq!((gguf.num_shards(), gguf.tensors().len()), (1, 1));
}

#[test]
fn a_single_shard_opens_with_any_name() {
    let folder = folder();
    for name in ["m.gguf", "m-00001-of-00001.gguf"] {
        let path = folder.path().join(name);
        write_shard(&path, 0, 1, 1, &["a"]);
        assert_eq!(Gguf::open(&path).unwrap().num_shards(), 1);
    }
}

#[test]
fn an_invalid_shard_error_has_the_path() {
    let folder = folder();
    write_shard(&shard(&folder, 1, 2), 0, 2, 2, &["a"]);
    fs::write(shard(&folder, 2, 2), b"GGUF").unwrap();
    let error = Gguf::open(shard(&folder, 1, 2)).unwrap_err();
    let GgufError::InFile { path, .. } = &error else { panic!("{error:?}") };
    assert_eq!(path, &shard(&folder, 2, 2));
}

#[test]
fn directories_missing_and_empty_files_are_rejected() {
    let folder = folder();
    let error = Gguf::open(folder.path()).unwrap_err();
    assert!(matches!(error, GgufError::NotAFile { .. }), "{error:?}");
    let error = Gguf::open(folder.path().join("absent.gguf")).unwrap_err();
    assert!(matches!(error, GgufError::Io { .. }), "{error:?}");
    let empty = folder.path().join("empty.gguf");
    fs::write(&empty, b"").unwrap();
    let error = Gguf::open(&empty).unwrap_err();
    assert!(matches!(error.without_path(), GgufError::Truncated { offset: 0, .. }), "{error:?}");
}

#[cfg(unix)]
#[test]
fn symbolic_links_open_like_files() {
    let (cache, folder) = (folder(), folder());
    for number in 1..=2 {
        let blob = cache.path().join(format!("blob-{number}"));
        write_shard(&blob, number as u16 - 1, 2, 2, &[&format!("t{number}")]);
        std::os::unix::fs::symlink(&blob, shard(&folder, number, 2)).unwrap();
    }
    assert_eq!(Gguf::open(shard(&folder, 2, 2)).unwrap().tensors().len(), 2);
}
