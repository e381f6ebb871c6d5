//! Tensors decoded to `f32` on demand, within a memory budget.
//!
//! For inspecting checkpoints that are larger than memory: statistics, comparisons, conversions.
//! Inference does not use this cache; backends pack tensors in the format of the file.

use std::sync::Arc;

use inferno_gguf::{GgmlType, Gguf};
use inferno_tensor::quant::Int8Row;
use inferno_tensor::{Tensor, quant};
use lru::LruCache;

use crate::loader::{dtype_of, slowest_first};
use crate::{ModelError, TensorScales};

/// Decodes tensors lazily and caches the most recently used ones.
///
/// ```no_run
/// use inferno_gguf::Gguf;
/// use inferno_model::TensorCache;
///
/// let checkpoint = Gguf::open("model.gguf")?;
/// let mut cache = TensorCache::new(&checkpoint, 256 << 20);
/// cache.preload(["blk.0.attn_q.weight", "blk.0.attn_k.weight"])?;
/// let query = cache.get("blk.0.attn_q.weight")?;
/// println!("{:?}", query.shape());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TensorCache<'a> {
    checkpoint: &'a Gguf,
    budget_bytes: usize,
    used_bytes: usize,
    tensors: LruCache<String, Arc<Tensor<f32>>>,
}

impl<'a> TensorCache<'a> {
    /// Creates an empty cache over `checkpoint` for at most `budget_bytes` of decoded values.
    pub fn new(checkpoint: &'a Gguf, budget_bytes: usize) -> Self {
        Self { checkpoint, budget_bytes, used_bytes: 0, tensors: LruCache::unbounded() }
    }

    /// Returns the tensor `name`, decoded. Bytes are multiplied by the scales of their rows.
    ///
    /// A tensor that alone exceeds the budget is decoded but not cached.
    ///
    /// **Errors**: [`ModelError::NoSuchTensor`], [`ModelError::UnsupportedFormat`]; those of [`TensorScales`].
    pub fn get(&mut self, name: &str) -> Result<Arc<Tensor<f32>>, ModelError> {
        if let Some(tensor) = self.tensors.get(name) {
            return Ok(Arc::clone(tensor));
        }
        let tensor = Arc::new(self.decode(name)?);
        let bytes = num_bytes(&tensor);
        if bytes <= self.budget_bytes {
            while self.used_bytes + bytes > self.budget_bytes {
                let (_, evicted) = self.tensors.pop_lru().expect("used bytes come from entries");
                self.used_bytes -= num_bytes(&evicted);
            }
            self.used_bytes += bytes;
            self.tensors.put(name.to_owned(), Arc::clone(&tensor));
        }
        Ok(tensor)
    }

    /// Starts reading `names` from disk in the background.
    ///
    /// **Errors**: [`ModelError::NoSuchTensor`].
    pub fn preload<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Result<(), ModelError> {
        for name in names {
            self.checkpoint.preload(self.info(name)?);
        }
        Ok(())
    }

    /// Size of the cached values, in bytes.
    pub fn used_bytes(&self) -> usize {
        self.used_bytes
    }

    /// Whether `name` is in the cache.
    pub fn contains(&self, name: &str) -> bool {
        self.tensors.contains(name)
    }

    fn info(&self, name: &str) -> Result<&'a inferno_gguf::TensorInfo, ModelError> {
        self.checkpoint
            .tensor(name)
            .ok_or_else(|| ModelError::NoSuchTensor { name: name.to_owned() })
    }

    fn decode(&self, name: &str) -> Result<Tensor<f32>, ModelError> {
        let info = self.info(name)?;
        let (dims, bytes) = (slowest_first(info), self.checkpoint.data(info));
        self.checkpoint.check_payloads()?;
        let mut values = vec![0.0; dims.iter().product()];
        if info.ggml_type() == GgmlType::I8 {
            let scales = TensorScales::find(self.checkpoint, info)?;
            let scales =
                scales.map_or_else(|| Ok(Vec::new()), |scales| scales.read(self.checkpoint))?;
            let cols = dims.last().copied().unwrap_or(1).max(1);
            let rows = bytes.chunks_exact(cols).zip(values.chunks_exact_mut(cols));
            for ((quants, values), scale) in rows.zip(scales) {
                Int8Row { scale, quants }.decode(values);
            }
        } else {
            quant::decode_row(dtype_of(info)?, &bytes, &mut values)?;
        }
        self.checkpoint.release(info);
        Ok(Tensor::from_vec(&dims, values)?)
    }
}

fn num_bytes(tensor: &Tensor<f32>) -> usize {
    size_of_val(tensor.as_slice())
}
