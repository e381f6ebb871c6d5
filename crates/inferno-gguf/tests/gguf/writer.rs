//! Written files read back unchanged, and incomplete files never appear.

use std::fs;
use std::path::{Path, PathBuf};

use inferno_gguf::{
    Destination, GgmlType, Gguf, GgufError, GgufWriter, Metadata, MetadataArray, PayloadError,
    PayloadWriter, StringArray,
};

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// Copies a checkpoint, tensor by tensor.
fn copy<D: Destination>(
    source: &Gguf,
    begin: impl FnOnce(GgufWriter) -> PayloadWriter<D>,
) -> D::Finished {
    let mut writer = GgufWriter::new(source.metadata()).unwrap();
    for info in source.tensors() {
        writer.add_tensor(info.name(), info.dims(), info.ggml_type()).unwrap();
    }
    let mut payloads = begin(writer);
    for info in source.tensors() {
        payloads.write_tensor(info.name(), &source.data(info)).unwrap();
    }
    payloads.finish().unwrap()
}

/// A writer with two tensors of 8 bytes.
fn two_tensors() -> GgufWriter {
    let mut writer = GgufWriter::new(&Metadata::new()).unwrap();
    writer.add_tensor("a", &[2], GgmlType::F32).unwrap();
    writer.add_tensor("b", &[4], GgmlType::F16).unwrap();
    writer
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_copy_of_a_gguf_py_file_is_byte_identical() {
    for name in ["metadata.gguf", "tensor-types.gguf", "split-00001-of-00003.gguf"] {
        let bytes = fs::read(fixture(name)).unwrap();
        let source = Gguf::from_bytes(bytes.clone()).unwrap();
        assert_eq!(copy(&source, GgufWriter::in_memory), bytes, "{name}");
    }
}

#[test]
fn a_file_on_disk_equals_one_in_memory_and_has_the_predicted_size() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("copy.gguf");
    let source = Gguf::open(fixture("metadata.gguf")).unwrap();
    copy(&source, |writer| {
        assert_eq!(writer.file_bytes(), 2944);
        writer.create(&path).unwrap()
    });
    assert_eq!(fs::read(&path).unwrap(), fs::read(fixture("metadata.gguf")).unwrap());
    assert_eq!(names_in(folder.path()), ["copy.gguf"]);
}

#[test]
fn values_that_gguf_py_cannot_write_round_trip() {
    let mut metadata = Metadata::new();
    metadata.insert("empty.text", "");
    metadata.insert("empty.strings", StringArray::default());
    metadata.insert("empty.numbers", Vec::<i16>::new());
    metadata.insert("empty.nested", vec![MetadataArray::Array(vec![]), MetadataArray::U8(vec![])]);
    metadata.insert("infinity", f32::NEG_INFINITY);
    metadata.insert("", "an empty key");
    metadata.insert("longest", "x".repeat(100_000));
    metadata.insert("general.alignment", 4096_u32);
    let bytes = GgufWriter::new(&metadata).unwrap().in_memory().finish().unwrap();
    let gguf = Gguf::from_bytes(bytes).unwrap();
    assert_eq!(gguf.metadata(), &metadata);
    assert_eq!((gguf.version(), gguf.alignment()), (3, 4096));
}

#[test]
fn the_bits_of_nan_round_trip() {
    let bits = 0x7fc0_1234;
    let mut metadata = Metadata::new();
    metadata.insert("nan", f32::from_bits(bits));
    let bytes = GgufWriter::new(&metadata).unwrap().in_memory().finish().unwrap();
    let gguf = Gguf::from_bytes(bytes).unwrap();
    let Some(inferno_gguf::MetadataValue::F32(value)) = gguf.metadata().get("nan") else {
        panic!("{:?}", gguf.metadata());
    };
    assert_eq!(value.to_bits(), bits);
}

#[test]
fn payloads_can_be_written_in_parts() {
    let mut payloads = two_tensors().in_memory();
    for byte in 0..8 {
        payloads.append("a", &[byte]).unwrap();
    }
    payloads.append("b", &[8, 9, 10]).unwrap();
    payloads.append("b", &[]).unwrap();
    payloads.write_tensor("b", &[11, 12, 13, 14, 15]).unwrap();
    let gguf = Gguf::from_bytes(payloads.finish().unwrap()).unwrap();
    assert_eq!(gguf.data(gguf.tensor("a").unwrap())[..], [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(gguf.data(gguf.tensor("b").unwrap())[..], [8, 9, 10, 11, 12, 13, 14, 15]);
}

#[test]
fn a_payload_of_another_size_is_rejected() {
    let mut payloads = two_tensors().in_memory();
    let too_long = payloads.write_tensor("a", &[0; 9]).unwrap_err();
    assert!(
        matches!(too_long, GgufError::Payload(PayloadError::Size { expected: 8, found: 9, .. })),
        "{too_long:?}"
    );
    let too_short = payloads.write_tensor("a", &[0; 7]).unwrap_err();
    assert!(matches!(
        too_short,
        GgufError::Payload(PayloadError::Size { expected: 8, found: 7, .. })
    ));

    payloads.append("a", &[0; 5]).unwrap();
    let overflowing = payloads.append("a", &[0; 4]).unwrap_err();
    assert!(matches!(
        overflowing,
        GgufError::Payload(PayloadError::Size { expected: 8, found: 9, .. })
    ));
    let abandoned = payloads.append("b", &[0; 8]).unwrap_err();
    assert!(
        matches!(&abandoned, GgufError::Payload(PayloadError::Size { tensor, expected: 8, found: 5 }) if tensor == "a"),
        "{abandoned:?}"
    );
    let unfinished = payloads.finish().unwrap_err();
    assert!(matches!(
        unfinished,
        GgufError::Payload(PayloadError::Size { expected: 8, found: 5, .. })
    ));
}

#[test]
fn payloads_out_of_order_are_rejected() {
    let mut payloads = two_tensors().in_memory();
    let error = payloads.write_tensor("b", &[0; 8]).unwrap_err();
    assert_eq!(error.to_string(), "expected the payload of tensor \"a\", found that of \"b\"");
    payloads.write_tensor("a", &[0; 8]).unwrap();
    payloads.write_tensor("b", &[0; 8]).unwrap();
    let error = payloads.write_tensor("b", &[0; 8]).unwrap_err();
    assert!(
        matches!(error, GgufError::Payload(PayloadError::Order { expected: None, .. })),
        "{error:?}"
    );
}

#[test]
fn duplicate_and_overlong_names_are_rejected() {
    let mut writer = two_tensors();
    let error = writer.add_tensor("a", &[1], GgmlType::F32).unwrap_err();
    assert!(matches!(error, GgufError::DuplicateTensor { .. }), "{error:?}");
    writer.add_tensor(&"n".repeat(63), &[1], GgmlType::F32).unwrap();
    let long = "n".repeat(64);
    let error = writer.add_tensor(&long, &[1], GgmlType::F32).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("the tensor name {long} has 64 bytes; the maximum is 63")
    );

    let mut metadata = Metadata::new();
    metadata.insert("k".repeat(65_536), 1_u8);
    let error = GgufWriter::new(&metadata).unwrap_err();
    assert!(
        matches!(&error, GgufError::WrittenNameTooLong { name, .. } if name.len() == 65_536),
        "{error:?}"
    );
    assert!(error.to_string().starts_with("the metadata key kkkk"), "{error}");
    assert!(error.to_string().len() < 200, "{error}");
}

#[test]
fn invalid_shapes_are_not_written() {
    let mut writer = two_tensors();
    let error = writer.add_tensor("c", &[31], GgmlType::Q8_0).unwrap_err();
    assert!(matches!(error, GgufError::PartialBlock { row_len: 31, .. }), "{error:?}");
    let error = writer.add_tensor("c", &[1; 5], GgmlType::F32).unwrap_err();
    assert!(matches!(error, GgufError::TooManyDims { num_dims: 5, .. }), "{error:?}");
    // One such tensor fits a file, two do not.
    writer.add_tensor("c", &[usize::MAX / 64], GgmlType::F64).unwrap();
    let error = writer.add_tensor("d", &[usize::MAX / 64], GgmlType::F64).unwrap_err();
    assert!(matches!(error, GgufError::SizeOverflow { .. }), "{error:?}");
}

#[test]
fn arrays_nested_too_deeply_are_not_written() {
    let mut nested = MetadataArray::U8(vec![]);
    for _ in 0..32 {
        nested = MetadataArray::Array(vec![nested]);
    }
    let mut metadata = Metadata::new();
    metadata.insert("k", nested);
    let error = GgufWriter::new(&metadata).unwrap_err();
    assert!(matches!(error, GgufError::NestedTooDeep { max: 32, .. }), "{error:?}");
}

#[test]
fn an_incomplete_file_leaves_nothing_and_the_old_one_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    fs::write(&path, b"old").unwrap();

    let mut payloads = two_tensors().create(&path).unwrap();
    payloads.write_tensor("a", &[0; 8]).unwrap();
    assert_eq!(names_in(folder.path()).len(), 2);
    drop(payloads);
    assert_eq!(names_in(folder.path()), ["model.gguf"]);

    let mut payloads = two_tensors().create(&path).unwrap();
    payloads.write_tensor("a", &[0; 8]).unwrap();
    let error = payloads.finish().unwrap_err();
    assert!(
        matches!(&error, GgufError::Payload(PayloadError::Missing { count: 1, first }) if first == "b"),
        "{error:?}"
    );
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names_in(folder.path()), ["model.gguf"]);
}

#[test]
fn an_open_checkpoint_can_be_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    fs::copy(fixture("metadata.gguf"), &path).unwrap();
    let source = Gguf::open(&path).unwrap();
    copy(&source, |writer| writer.create(&path).unwrap());
    assert_eq!(fs::read(&path).unwrap(), fs::read(fixture("metadata.gguf")).unwrap());
}

#[test]
fn a_missing_directory_is_an_error_with_the_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("absent/model.gguf");
    let error = two_tensors().create(&path).unwrap_err();
    assert!(matches!(&error, GgufError::Io { path: named, .. } if *named == path), "{error:?}");
}

#[cfg(unix)]
#[test]
fn a_complete_file_has_the_permissions_of_the_mask() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (ours, ordinary) = (folder.path().join("ours"), folder.path().join("ordinary"));
    GgufWriter::new(&Metadata::new()).unwrap().create(&ours).unwrap().finish().unwrap();
    fs::write(&ordinary, b"").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&ours), mode(&ordinary));
}
