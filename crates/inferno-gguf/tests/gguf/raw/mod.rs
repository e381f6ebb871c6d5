//! Files assembled byte by byte, including invalid ones that a writer would not produce.

/// A file under construction. Every method appends; the numbers are little-endian.
#[derive(Clone, Default)]
pub struct Raw(pub Vec<u8>);

impl Raw {
    /// Magic, version 3 and the two counts: 24 bytes.
    pub fn header(num_tensors: u64, num_entries: u64) -> Self {
        Self(b"GGUF".to_vec()).u32(3).u64(num_tensors).u64(num_entries)
    }

    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub fn u32(self, value: u32) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    pub fn u64(self, value: u64) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    pub fn string(self, text: impl AsRef<[u8]>) -> Self {
        let text = text.as_ref();
        self.u64(text.len() as u64).bytes(text)
    }

    /// A key and the type number of its value.
    pub fn key(self, key: &str, type_id: u32) -> Self {
        self.string(key).u32(type_id)
    }

    /// An entry of the tensor index. F32 is type 0.
    pub fn tensor(self, name: &str, dims: &[u64], type_id: u32, data_offset: u64) -> Self {
        let raw = self.string(name).u32(dims.len() as u32);
        dims.iter().fold(raw, |raw, &dim| raw.u64(dim)).u32(type_id).u64(data_offset)
    }

    /// Zeros up to a multiple of `alignment`.
    pub fn align(mut self, alignment: usize) -> Self {
        self.0.resize(self.0.len().next_multiple_of(alignment), 0);
        self
    }

    pub fn zeros(mut self, count: usize) -> Self {
        self.0.resize(self.0.len() + count, 0);
        self
    }
}
