//! Opens any bytes as a GGUF file; what opens must survive being written and read again.

#![no_main]

use inferno_gguf::{Gguf, GgufWriter};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(gguf) = Gguf::from_bytes(data.to_vec()) else {
        return;
    };
    let mut writer = GgufWriter::new(gguf.metadata()).expect("the reader took this metadata");
    for info in gguf.tensors() {
        // The writer allows shorter names than the reader.
        if writer.add_tensor(info.name(), info.dims(), info.ggml_type()).is_err() {
            assert!(info.name().len() > 63, "{info}");
            return;
        }
    }
    // Padding to a large alignment is slow and tells nothing.
    if writer.file_bytes() > 1 << 20 {
        return;
    }
    let mut payloads = writer.in_memory();
    for info in gguf.tensors() {
        payloads.write_tensor(info.name(), &gguf.data(info)).expect("the payload has its size");
    }
    let bytes = payloads.finish().expect("every payload is written");
    let copy = Gguf::from_bytes(bytes).expect("what was written reads");
    assert_eq!(copy.tensors().len(), gguf.tensors().len());
    assert_eq!(format!("{:?}", copy.metadata()), format!("{:?}", gguf.metadata()));
});
