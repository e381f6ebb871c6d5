//! Typed access to metadata values, and their display.

use inferno_gguf::{GgufError, Metadata, MetadataArray, MetadataType, MetadataValue, StringArray};

fn sample() -> Metadata {
    let mut metadata = Metadata::new();
    metadata.insert("general.architecture", "qwen3");
    metadata.insert("qwen3.block_count", 28_u32);
    metadata.insert("qwen3.rope.freq_base", 1_000_000.0_f32);
    metadata.insert("tokenizer.ggml.add_bos_token", false);
    metadata.insert("tokenizer.ggml.token_type", vec![1_i32, 3, 6]);
    metadata
}

#[test]
fn values_convert_to_the_requested_type() {
    let metadata = sample();
    assert_eq!(metadata.required::<&str>("general.architecture").unwrap(), "qwen3");
    assert_eq!(metadata.required::<usize>("qwen3.block_count").unwrap(), 28);
    assert_eq!(metadata.required::<f64>("qwen3.rope.freq_base").unwrap(), 1e6);
    assert!(!metadata.required::<bool>("tokenizer.ggml.add_bos_token").unwrap());
    assert_eq!(metadata.required::<Vec<u8>>("tokenizer.ggml.token_type").unwrap(), [1, 3, 6]);
    assert_eq!(metadata.optional::<u32>("qwen3.expert_count").unwrap(), None);
}

#[test]
fn a_missing_key_error_has_the_key_and_expected_type() {
    let error = sample().required::<u32>("qwen3.head_count").unwrap_err();
    assert_eq!(
        error.to_string(),
        "metadata key \"qwen3.head_count\" is missing; expected an unsigned 32-bit integer"
    );
}

#[test]
fn a_value_of_another_type_is_an_error_even_for_optional_keys() {
    let metadata = sample();
    let error = metadata.optional::<u32>("general.architecture").unwrap_err();
    assert_eq!(
        error.to_string(),
        "metadata key \"general.architecture\": expected an unsigned 32-bit integer, found string \"qwen3\""
    );
    let error = metadata.required::<&StringArray>("tokenizer.ggml.token_type").unwrap_err();
    let GgufError::WrongType { expected: "an array of strings", found, .. } = error else {
        panic!("{error:?}")
    };
    assert_eq!(found, "array of 3 i32");
}

#[test]
fn inserting_an_existing_key_keeps_its_position_and_returns_the_old_value() {
    let mut metadata = sample();
    let old = metadata.insert("qwen3.block_count", 36_u64);
    assert_eq!(old, Some(MetadataValue::U32(28)));
    let removed = metadata.remove("qwen3.rope.freq_base");
    assert_eq!(removed, Some(MetadataValue::F32(1e6)));
    let keys: Vec<_> = metadata.iter().map(|(key, _)| key).collect();
    assert_eq!(
        keys,
        [
            "general.architecture",
            "qwen3.block_count",
            "tokenizer.ggml.add_bos_token",
            "tokenizer.ggml.token_type"
        ]
    );
    assert_eq!(metadata.required::<u32>("qwen3.block_count").unwrap(), 36);
}

#[test]
fn display_truncates_long_values() {
    let strings: StringArray = (0..1000).map(|i| i.to_string()).collect();
    for (value, printed) in [
        (MetadataValue::from(7_u8), "7"),
        (MetadataValue::from(1e-5_f32), "1e-5"),
        (MetadataValue::from(10_000.0_f64), "10000.0"),
        (MetadataValue::from("a\nb"), r#""a\nb""#),
        (MetadataValue::from(strings), r#"["0", "1", "2", "3", … (1000 in all)]"#),
        (MetadataValue::from(vec![MetadataArray::from(vec![true])]), "[[true]]"),
        (MetadataValue::from(Vec::<i8>::new()), "[]"),
    ] {
        assert_eq!(value.to_string(), printed);
    }
    let long = MetadataValue::from("é".repeat(100)).to_string();
    assert_eq!(long, format!("\"{}\"… (200 bytes)", "é".repeat(60)));
}

#[test]
fn type_numbers_match_the_specification() {
    // The table of the specification, in order.
    let names = [
        "u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64",
        "f64",
    ];
    for (id, name) in (0..).zip(names) {
        let value_type = MetadataType::from_id(id).unwrap();
        assert_eq!((value_type.id(), value_type.name()), (id, name));
    }
    assert_eq!(MetadataType::from_id(13), None);
}
