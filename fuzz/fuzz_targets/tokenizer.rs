//! Builds a tokenizer from any GGUF file; what builds must encode any text and decode its own ids.

#![no_main]

use inferno_gguf::Gguf;
use inferno_tokenizer::{EncodeOptions, Tokenizer};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(gguf) = Gguf::from_bytes(data.to_vec()) else {
        return;
    };
    let Ok(tokenizer) = Tokenizer::from_metadata(gguf.metadata()) else {
        return;
    };
    // The file's end is a text that its tokens are likely to occur in.
    let text = String::from_utf8_lossy(&data[data.len().saturating_sub(2048)..]);
    for parse_special in [false, true] {
        let options = EncodeOptions { add_special: true, parse_special };
        let ids = tokenizer.encode(&text, options);
        let decoded = tokenizer.decode(&ids, false).expect("encoding gives known ids");
        let mut detokenizer = tokenizer.detokenizer(false);
        let mut streamed = String::new();
        for id in ids {
            streamed.push_str(detokenizer.push(id).expect("encoding gives known ids"));
        }
        streamed.push_str(&detokenizer.finish());
        assert_eq!(streamed, decoded);
    }
});
