//! Files that can be edited.

use inferno_gguf::{GgmlType, Gguf, GgufWriter, Metadata};
use inferno_tensor::{DType, quant};

use super::fixtures;

#[derive(Clone)]
pub struct Tensor {
    pub name: String,
    /// The fastest dimension first.
    pub dims: Vec<usize>,
    pub ggml_type: GgmlType,
    pub bytes: Vec<u8>,
}

impl Tensor {
    pub fn floats(name: impl Into<String>, dims: &[usize], values: &[f32]) -> Self {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self { name: name.into(), dims: dims.to_vec(), ggml_type: GgmlType::F32, bytes }
    }

    pub fn values(&self) -> Vec<f32> {
        let dtype = DType::from_ggml_id(self.ggml_type.id()).expect("a known format");
        let mut values = vec![0.0; self.dims.iter().product()];
        quant::decode_row(dtype, &self.bytes, &mut values).expect("whole rows");
        values
    }
}

pub struct File {
    pub metadata: Metadata,
    pub tensors: Vec<Tensor>,
}

impl File {
    pub fn of(gguf: &Gguf) -> Self {
        let tensors = gguf.tensors().iter().map(|info| Tensor {
            name: info.name().to_owned(),
            dims: info.dims().to_vec(),
            ggml_type: info.ggml_type(),
            bytes: gguf.data(info).to_vec(),
        });
        Self { metadata: gguf.metadata().clone(), tensors: tensors.collect() }
    }

    pub fn of_bytes(bytes: Vec<u8>) -> Self {
        Self::of(&Gguf::from_bytes(bytes).expect("a valid file"))
    }

    pub fn fixture(name: &str) -> Self {
        Self::of(&Gguf::open(fixtures().join(name)).expect("the fixture"))
    }

    pub fn tensor(&mut self, name: &str) -> &mut Tensor {
        self.tensors.iter_mut().find(|tensor| tensor.name == name).expect("a tensor of the file")
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut writer = GgufWriter::new(&self.metadata).expect("valid metadata");
        for Tensor { name, dims, ggml_type, .. } in &self.tensors {
            writer.add_tensor(name, dims, *ggml_type).expect("a valid tensor");
        }
        let mut payloads = writer.in_memory();
        for tensor in &self.tensors {
            payloads.write_tensor(&tensor.name, &tensor.bytes).expect("the size of the tensor");
        }
        payloads.finish().expect("all payloads")
    }

    pub fn write(&self) -> Gguf {
        Gguf::from_bytes(self.bytes()).expect("a valid file")
    }
}
