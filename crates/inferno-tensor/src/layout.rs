//! The positions of a view's elements: arithmetic on shape, strides and offset.
//!
//! Invariants of every operation:
//! - element `[i, j, ...]` is at position `offset + i * strides[0] + j * strides[1] + ...`;
//! - the positions of a derived layout are a subset of those of the layout it was derived from;
//! - an empty layout has offset zero and no positions.

use std::ops::Range;

use crate::shape::Axes;
use crate::{Shape, TensorError};

#[derive(Clone, Copy, Debug)]
pub(crate) struct StridedLayout {
    pub(crate) shape: Shape,
    pub(crate) strides: Axes,
    pub(crate) offset: usize,
}

impl StridedLayout {
    pub(crate) fn row_major(shape: Shape) -> StridedLayout {
        StridedLayout { shape, strides: shape.row_major_strides(), offset: 0 }
    }

    /// Checks that all positions are below `len`.
    pub(crate) fn strided(
        shape: Shape,
        strides: &[usize],
        offset: usize,
        len: usize,
    ) -> Result<StridedLayout, TensorError> {
        if strides.len() != shape.rank() {
            return Err(TensorError::RankMismatch { expected: shape.rank(), found: strides.len() });
        }
        if shape.num_elements() == 0 {
            return Ok(StridedLayout::row_major(shape));
        }
        let last = shape.dims().iter().zip(strides).try_fold(offset, |last, (&size, &stride)| {
            last.checked_add((size - 1).checked_mul(stride)?)
        });
        match last {
            Some(last) if last < len => {
                Ok(StridedLayout { shape, strides: Axes::new(strides)?, offset })
            }
            _ => Err(TensorError::ViewOutOfBounds { shape, offset, len }),
        }
    }

    pub(crate) fn dims(&self) -> &[usize] {
        self.shape.dims()
    }

    /// The position of an element.
    pub(crate) fn position(&self, index: &[usize]) -> Result<usize, TensorError> {
        let (expected, found) = (self.shape.rank(), index.len());
        match expected == found {
            true => self.block_start(index),
            false => Err(TensorError::RankMismatch { expected, found }),
        }
    }

    /// The position of the first element under an index of the leading axes.
    fn block_start(&self, index: &[usize]) -> Result<usize, TensorError> {
        let mut position = self.offset;
        for (axis, &index) in index.iter().enumerate() {
            let size = self.size(axis)?;
            if index >= size {
                return Err(TensorError::IndexOutOfRange { axis, index, size });
            }
            position += index * self.strides.as_slice()[axis];
        }
        Ok(position)
    }

    /// The positions of all elements under an index of the leading axes; `None` unless they are
    /// contiguous and in row-major order.
    pub(crate) fn block(&self, index: &[usize]) -> Result<Option<Range<usize>>, TensorError> {
        let start = self.block_start(index)?;
        let len: usize = self.dims()[index.len()..].iter().product();
        if len == 0 {
            return Ok(Some(0..0));
        }
        let mut contiguous = 1;
        for axis in (index.len()..self.shape.rank()).rev() {
            let size = self.dims()[axis];
            if size != 1 && self.strides.as_slice()[axis] != contiguous {
                return Ok(None);
            }
            contiguous *= size;
        }
        Ok(Some(start..start + len))
    }

    pub(crate) fn slice(
        &self,
        axis: usize,
        range: Range<usize>,
    ) -> Result<StridedLayout, TensorError> {
        let size = self.size(axis)?;
        let Range { start, end } = range;
        if start > end || end > size {
            return Err(TensorError::RangeOutOfBounds { axis, start, end, size });
        }
        let shape = self.with_size(axis, end - start)?;
        if shape.num_elements() == 0 {
            return Ok(StridedLayout::row_major(shape));
        }
        Ok(StridedLayout {
            shape,
            offset: self.offset + start * self.strides.as_slice()[axis],
            ..*self
        })
    }

    pub(crate) fn select(&self, axis: usize, index: usize) -> Result<StridedLayout, TensorError> {
        let size = self.size(axis)?;
        if index >= size {
            return Err(TensorError::IndexOutOfRange { axis, index, size });
        }
        let single = self.slice(axis, index..index + 1)?;
        let shape = Shape::new(Axes::new(self.dims())?.removed(axis).as_slice())?;
        Ok(StridedLayout { shape, strides: single.strides.removed(axis), ..single })
    }

    pub(crate) fn transpose(&self, a: usize, b: usize) -> Result<StridedLayout, TensorError> {
        self.size(a)?;
        self.size(b)?;
        let (mut dims, mut strides) = (Axes::new(self.dims())?, self.strides);
        dims.as_mut_slice().swap(a, b);
        strides.as_mut_slice().swap(a, b);
        Ok(StridedLayout { shape: Shape::new(dims.as_slice())?, strides, ..*self })
    }

    /// Preserves the row-major order of the elements; fails if that needs a copy.
    pub(crate) fn reshape(&self, shape: Shape) -> Result<StridedLayout, TensorError> {
        if shape.num_elements() != self.shape.num_elements() {
            return Err(TensorError::ReshapeMismatch {
                from: self.dims().to_vec(),
                to: shape.dims().to_vec(),
            });
        }
        if shape.num_elements() == 0 {
            return Ok(StridedLayout::row_major(shape));
        }
        let mut runs = self.runs();
        let mut run = AxisRun { size: 1, stride: 1 };
        let mut strides = Axes::new(shape.dims())?;
        for stride in strides.as_mut_slice().iter_mut().rev() {
            let size = *stride;
            if run.size == 1 {
                run = runs.next().unwrap_or(run);
            }
            if run.size % size != 0 {
                return Err(TensorError::ReshapeNeedsCopy {
                    from: self.dims().to_vec(),
                    to: shape.dims().to_vec(),
                });
            }
            *stride = run.stride;
            run = AxisRun { size: run.size / size, stride: run.stride * size };
        }
        Ok(StridedLayout { shape, strides, offset: self.offset })
    }

    /// The axes, fastest first, with adjacent axes merged if one stride covers both.
    fn runs(&self) -> impl Iterator<Item = AxisRun> {
        let axes = self.dims().iter().zip(self.strides.as_slice()).rev();
        let mut axes = axes
            .map(|(&size, &stride)| AxisRun { size, stride })
            .filter(|run| run.size != 1)
            .peekable();
        std::iter::from_fn(move || {
            let mut run = axes.next()?;
            while let Some(next) = axes.next_if(|next| next.stride == run.stride * run.size) {
                run.size *= next.size;
            }
            Some(run)
        })
    }

    fn size(&self, axis: usize) -> Result<usize, TensorError> {
        let rank = self.shape.rank();
        self.dims().get(axis).copied().ok_or(TensorError::AxisOutOfRange { axis, rank })
    }

    fn with_size(&self, axis: usize, size: usize) -> Result<Shape, TensorError> {
        let mut dims = Axes::new(self.dims())?;
        dims.as_mut_slice()[axis] = size;
        Shape::new(dims.as_slice())
    }
}

/// `size` elements, `stride` positions apart.
#[derive(Clone, Copy)]
struct AxisRun {
    size: usize,
    stride: usize,
}
