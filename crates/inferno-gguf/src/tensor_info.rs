//! Entries of the tensor index: name, dimensions, type and position.

use std::fmt;
use std::sync::Arc;

use crate::cursor::Cursor;
use crate::metadata::MAX_NAME_BYTES;
use crate::{GgmlType, GgufError, Result};

/// Maximum number of dimensions.
pub(crate) const MAX_DIMS: usize = 4;

/// A tensor's entry in the index of a checkpoint.
///
/// Invariants: at most four dimensions, each at least 1 (no dimensions mean a single value); rows are
/// whole blocks; the payload is inside its file.
///
/// `Display` prints one line, such as `output_norm.weight: F32 [2048]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    name: Arc<str>,
    dims: [usize; MAX_DIMS],
    num_dims: usize,
    ggml_type: GgmlType,
    num_bytes: usize,
    /// Offset of the payload in the data section.
    pub(crate) data_offset: u64,
    /// Offset of the payload in the file.
    pub(crate) file_offset: u64,
    /// Index of the file that contains the payload.
    pub(crate) shard: usize,
    /// Offset of the entry in the file, for errors.
    pub(crate) entry_offset: u64,
}

impl TensorInfo {
    /// The name, unique in the checkpoint.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The dimensions in the order of the file, fastest first.
    ///
    /// **Shapes**: a matrix of `rows` by `columns` in row-major order has the dimensions
    /// `[columns, rows]`.
    pub fn dims(&self) -> &[usize] {
        &self.dims[..self.num_dims]
    }

    /// The element type.
    pub fn ggml_type(&self) -> GgmlType {
        self.ggml_type
    }

    /// Offset of the payload, as stored in the index.
    ///
    /// **Units**: bytes from the start of the data section of the tensor's file.
    pub fn offset(&self) -> u64 {
        self.data_offset
    }

    /// Offset of the payload.
    ///
    /// **Units**: bytes from the start of the tensor's file.
    pub fn file_offset(&self) -> u64 {
        self.file_offset
    }

    /// Size of the payload, in bytes.
    pub fn num_bytes(&self) -> usize {
        self.num_bytes
    }

    /// Number of values: the product of the dimensions.
    pub fn num_elements(&self) -> usize {
        self.dims().iter().product()
    }

    /// Index of the file that contains the payload: 0 unless the checkpoint is split.
    pub fn shard(&self) -> usize {
        self.shard
    }

    pub(crate) fn shared_name(&self) -> Arc<str> {
        self.name.clone()
    }

    /// Creates an entry without a position, after checking its shape and type.
    ///
    /// **Errors**: [`GgufError::ZeroDim`], [`GgufError::SizeOverflow`],
    /// [`GgufError::PartialBlock`], each at `entry_offset`; [`GgufError::TooManyDims`].
    pub(crate) fn new(
        name: String,
        dims: &[u64],
        ggml_type: GgmlType,
        entry_offset: u64,
    ) -> Result<Self> {
        let offset = entry_offset;
        if dims.len() > MAX_DIMS {
            let num_dims = u32::try_from(dims.len()).unwrap_or(u32::MAX);
            return Err(GgufError::TooManyDims { tensor: name, num_dims, max: MAX_DIMS, offset });
        }
        if dims.contains(&0) {
            return Err(GgufError::ZeroDim { tensor: name, dims: dims.to_vec(), offset });
        }
        let sized = || {
            let mut sizes = [1; MAX_DIMS];
            let mut num_elements = 1_usize;
            for (size, &dim) in sizes.iter_mut().zip(dims) {
                *size = usize::try_from(dim).ok()?;
                num_elements = num_elements.checked_mul(*size)?;
            }
            Some((sizes, num_elements))
        };
        let overflow = |tensor| GgufError::SizeOverflow { tensor, dims: dims.to_vec(), offset };
        let Some((sizes, num_elements)) = sized() else {
            return Err(overflow(name));
        };
        let row_len = sizes[0];
        if !row_len.is_multiple_of(ggml_type.block_len()) {
            return Err(GgufError::PartialBlock { tensor: name, row_len, ggml_type, offset });
        }
        let Some(num_bytes) = ggml_type.bytes_for(num_elements) else {
            return Err(overflow(name));
        };
        Ok(Self {
            name: name.into(),
            dims: sizes,
            num_dims: dims.len(),
            ggml_type,
            num_bytes,
            data_offset: 0,
            file_offset: 0,
            shard: 0,
            entry_offset,
        })
    }

    /// Reads an entry of the index; its position in the file is not known yet.
    pub(crate) fn read(cursor: &mut Cursor<'_>) -> Result<Self> {
        let entry_offset = cursor.offset();
        let name = cursor.name("tensor name", MAX_NAME_BYTES)?;

        let offset = cursor.offset();
        let num_dims = cursor.u32("number of dimensions")?;
        let mut dims = [0; MAX_DIMS];
        let dims = match usize::try_from(num_dims) {
            Ok(num_dims) if num_dims <= MAX_DIMS => &mut dims[..num_dims],
            _ => {
                return Err(GgufError::TooManyDims {
                    tensor: name,
                    num_dims,
                    max: MAX_DIMS,
                    offset,
                });
            }
        };
        for dim in dims.iter_mut() {
            *dim = cursor.u64("dimension")?;
        }

        let offset = cursor.offset();
        let type_id = cursor.u32("tensor type")?;
        let Some(ggml_type) = GgmlType::from_id(type_id) else {
            return Err(GgufError::UnknownTensorType { tensor: name, type_id, offset });
        };
        let data_offset = cursor.u64("tensor offset")?;
        Ok(Self { data_offset, ..Self::new(name, dims, ggml_type, entry_offset)? })
    }
}

impl fmt::Display for TensorInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} {:?}", self.name, self.ggml_type, self.dims())
    }
}
