//! Files written by gguf-py, compared with their source values (`fixtures/make_fixtures.py`).

use std::fs;
use std::path::PathBuf;

use inferno_gguf::{GgmlType, Gguf, GgufError, Metadata, MetadataArray, MetadataValue};
use serde_json::{Value, json};

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn expected(name: &str) -> Value {
    let text = fs::read_to_string(fixture("expected.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()[name].take()
}

/// A value in the form of the fixture script.
fn value_to_json(value: &MetadataValue) -> Value {
    let content = match value {
        MetadataValue::U8(value) => json!(value),
        MetadataValue::I8(value) => json!(value),
        MetadataValue::U16(value) => json!(value),
        MetadataValue::I16(value) => json!(value),
        MetadataValue::U32(value) => json!(value),
        MetadataValue::I32(value) => json!(value),
        MetadataValue::F32(value) => json!(f64::from(*value)),
        MetadataValue::Bool(value) => json!(value),
        MetadataValue::String(text) => json!(text),
        MetadataValue::U64(value) => json!(value),
        MetadataValue::I64(value) => json!(value),
        MetadataValue::F64(value) => json!(value),
        MetadataValue::Array(array) => return array_to_json(array),
    };
    json!({ "type": value.value_type().name(), "value": content })
}

fn array_to_json(array: &MetadataArray) -> Value {
    let content = match array {
        MetadataArray::U8(values) => json!(values),
        MetadataArray::I8(values) => json!(values),
        MetadataArray::U16(values) => json!(values),
        MetadataArray::I16(values) => json!(values),
        MetadataArray::U32(values) => json!(values),
        MetadataArray::I32(values) => json!(values),
        MetadataArray::F32(values) => values.iter().map(|&value| f64::from(value)).collect(),
        MetadataArray::Bool(values) => json!(values),
        MetadataArray::String(strings) => strings.iter().collect(),
        MetadataArray::Array(arrays) => arrays.iter().map(array_to_json).collect(),
        MetadataArray::U64(values) => json!(values),
        MetadataArray::I64(values) => json!(values),
        MetadataArray::F64(values) => json!(values),
    };
    json!({ "type": "array", "element": array.element_type().name(), "value": content })
}

fn metadata_to_json(metadata: &Metadata) -> Value {
    metadata.iter().map(|(key, value)| (key.to_owned(), value_to_json(value))).collect()
}

fn tensors_to_json(gguf: &Gguf) -> Value {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let tensor_to_json = |info: &inferno_gguf::TensorInfo| {
        let data = gguf.data(info);
        let mut tensor = json!({
            "name": info.name(),
            "dims": info.dims(),
            "type_id": info.ggml_type().id(),
            "type": info.ggml_type().name(),
            "num_bytes": info.num_bytes(),
            "file_offset": info.file_offset(),
            "first_bytes": hex(&data[..data.len().min(8)]),
            "last_bytes": hex(&data[data.len().saturating_sub(8)..]),
        });
        if gguf.num_shards() > 1 {
            tensor["shard"] = json!(info.shard());
        }
        tensor
    };
    gguf.tensors().iter().map(tensor_to_json).collect()
}

fn assert_as_expected(gguf: &Gguf, name: &str) {
    let expected = expected(name);
    assert_eq!(metadata_to_json(gguf.metadata()), expected["metadata"]);
    assert_eq!(tensors_to_json(gguf), expected["tensors"]);
    assert_eq!(json!(gguf.alignment()), expected["alignment"]);
}

#[test]
fn all_thirteen_value_types_and_nested_arrays_are_read() {
    let gguf = Gguf::open(fixture("metadata.gguf")).unwrap();
    assert_eq!(gguf.version(), 3);
    assert_as_expected(&gguf, "metadata.gguf");
}

#[test]
fn keys_are_in_the_order_of_the_file() {
    let gguf = Gguf::open(fixture("metadata.gguf")).unwrap();
    let keys: Vec<_> = gguf.metadata().iter().map(|(key, _)| key).take(5).collect();
    assert_eq!(
        keys,
        ["general.architecture", "test.u8.0", "test.u8.1", "test.u8.2", "test.array.u8"]
    );
}

#[test]
fn version_2_reads_like_version_3() {
    let gguf = Gguf::open(fixture("version-2.gguf")).unwrap();
    assert_eq!(gguf.version(), 2);
    assert_as_expected(&gguf, "version-2.gguf");
}

#[test]
fn a_file_in_memory_reads_like_one_on_disk() {
    let bytes = fs::read(fixture("metadata.gguf")).unwrap();
    let gguf = Gguf::from_bytes(bytes).unwrap();
    assert_as_expected(&gguf, "metadata.gguf");
    assert_eq!((gguf.paths().count(), gguf.file_bytes()), (0, 2944));
}

#[test]
fn every_tensor_type_has_the_name_and_size_of_gguf_py() {
    let gguf = Gguf::open(fixture("tensor-types.gguf")).unwrap();
    assert_as_expected(&gguf, "tensor-types.gguf");
    for info in gguf.tensors() {
        assert_eq!(info.dims(), [2 * info.ggml_type().block_len(), 3], "{info}");
    }
}

#[test]
fn only_types_that_gguf_py_cannot_write_have_no_fixture() {
    let gguf = Gguf::open(fixture("tensor-types.gguf")).unwrap();
    let lacking: Vec<_> = GgmlType::ALL
        .iter()
        .filter(|&&ggml_type| gguf.tensors().iter().all(|info| info.ggml_type() != ggml_type))
        .map(|ggml_type| ggml_type.name())
        .collect();
    assert_eq!(
        lacking,
        ["Q8_1", "Q4_0_4_4", "Q4_0_4_8", "Q4_0_8_8", "IQ4_NL_4_4", "IQ4_NL_4_8", "IQ4_NL_8_8"]
    );
}

#[test]
fn a_big_endian_file_is_an_error_with_the_path() {
    let error = Gguf::open(fixture("big-endian.gguf")).unwrap_err();
    assert!(matches!(error.without_path(), GgufError::BigEndian { version: 3 }), "{error}");
    assert!(error.to_string().contains("big-endian.gguf: the file is big-endian"), "{error}");
}

#[test]
fn any_shard_opens_the_whole_checkpoint() {
    for number in 1..=3 {
        let gguf = Gguf::open(fixture(&format!("split-{number:05}-of-00003.gguf"))).unwrap();
        assert_as_expected(&gguf, "split-00001-of-00003.gguf");
        assert_eq!((gguf.num_shards(), gguf.file_bytes()), (3, 512 + 384 + 192));
        assert_eq!(gguf.tensor("blk.4.weight").unwrap().shard(), 2);
    }
}

#[test]
fn released_pages_can_be_read_again() {
    let gguf = Gguf::open(fixture("tensor-types.gguf")).unwrap();
    for info in gguf.tensors() {
        gguf.preload(info);
        let before = gguf.data(info).to_vec();
        gguf.release(info);
        assert_eq!(gguf.data(info), before);
    }
}

#[test]
fn released_parts_may_extend_beyond_the_payload() {
    let gguf = Gguf::open(fixture("tensor-types.gguf")).unwrap();
    let info = gguf.tensor("tensor.Q6_K").unwrap();
    let before = gguf.data(info).to_vec();
    for part in [0..1, 5..usize::MAX, usize::MAX..usize::MAX, 9..9] {
        gguf.release_part(info, part);
        assert_eq!(gguf.data(info), before);
    }
}

#[test]
fn a_payload_outlives_its_checkpoint() {
    let gguf = Gguf::open(fixture("metadata.gguf")).unwrap();
    let data = gguf.data(gguf.tensor("scalar").unwrap());
    drop(gguf);
    assert_eq!(&data[..], 0.5_f32.to_le_bytes());
}
