//! The interface between models and devices.
//!
//! Models are written against [`Backend`]: a [`Pass`] of fused operations over opaque buffers. Their input
//! is a [`Batch`]: a ragged set of sequence chunks over a paged KV cache. Prefill, chunked prefill,
//! decode and speculative verification are all batches.
//!
//! [`ReferenceBackend`] is the naive implementation that every other backend is tested against:
//! plain loops, weights expanded to `f32`, no threads. It is slow and easy to read.
//!
//! ```
//! use inferno_backend::{Backend, DeviceMemory, Pass, ReferenceBackend, WeightPart};
//! use inferno_tensor::DType;
//!
//! # fn main() -> Result<(), inferno_backend::BackendError> {
//! let backend = ReferenceBackend::new();
//! // A 2 x 3 matrix of f32 in the layout of a file.
//! let bytes: Vec<u8> = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0].iter().flat_map(|x| x.to_le_bytes()).collect();
//! let weight = backend.load_weight(&[WeightPart::matrix("w", DType::F32, 2, 3, bytes.into())?])?;
//!
//! let mut x = backend.alloc(1, 3)?;
//! let mut y = backend.alloc(1, 2)?;
//! backend.upload(&[1.0, 1.0, 1.0], &mut x);
//! let mut pass = backend.begin();
//! pass.linear(1, &x, &weight, None, &mut y)?;
//! pass.submit()?;
//!
//! let mut staging = Vec::new();
//! assert_eq!(backend.download(&y, 0..2, &mut staging)?, [6.0, 15.0]);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod backend;
mod batch;
mod candidates;
mod error;
mod kv;
mod kv_row;
mod kv_window;
mod memory;
mod observed;
mod params;
mod pass;
mod recurrent;
mod reference;
mod requirement;
mod weight;

pub use backend::Backend;
pub use batch::{Batch, BatchBuilder, LogitRows, SequenceChunk};
pub use candidates::{CandidateRow, CandidateRows, CandidateShape, EXP_SUM_ERROR, MAX_CANDIDATES};
pub use error::BackendError;
pub use kv::{BlockId, KvBlockPart, KvDType, KvLayer, KvLayout, KvValues};
pub use kv_row::{LARGEST_I16, MAX_I16_ROW_LEN, largest_i16};
pub use kv_window::{KvWindow, KvWindowMap};
pub use memory::{DeviceMemory, PassShape, ProductShape};
pub use observed::{
    AttentionOperation, ObservedBackend, ObservedBatch, ObservedMatrices, ObservedPass,
    ObservedProduct, ObservedRouting, ObservedWeight, Operation, PassObserver, ProductOperation,
    WeightTensor,
};
pub use params::{
    AttentionMask, AttentionParams, AttentionWindow, ColumnBlocks, CopySize, DistanceBias,
    EmbeddingIndex, ExpertGroups, ExpertInput, ExpertParams, Function, Gate, Gating, LinearInput,
    MIN_PROBABILITY_SUM, Norm, NormKind, QkNorm, QkvLayout, Rope, RopePairing, Rotation,
    SPARSE_MIXER_TOLERANCE, distance_column,
};
pub use pass::Pass;
pub use recurrent::{
    ConvParams, ConvWeights, DecaySteps, GatedNorm, LinearAttentionParams, LinearAttentionRows,
    LinearAttentionWeights, SelectiveScanParams, SelectiveScanRows, SelectiveScanWeights,
    SequenceState, StateCheckpoint, StateLayout, StateMatrices, StateSlot, WriteRule,
};
pub use reference::ReferenceBackend;
pub use requirement::Requirement;
pub use weight::WeightPart;
