//! Where the elements of a view lie: pure arithmetic on shape, strides and offset.
//!
//! Invariants, which every operation keeps:
//! - element `[i, j, ...]` lies at `offset + i * strides[0] + j * strides[1] + ...`;
//! - a layout with elements reaches no position that the layout it came from did not reach;
//! - an empty layout has offset zero and reaches nothing.

use std::ops::Range;

use crate::shape::Axes;
use crate::{Shape, TensorError};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) shape: Shape,
    pub(crate) strides: Axes,
    pub(crate) offset: usize,
}

impl Layout {
    pub(crate) fn row_major(shape: Shape) -> Layout {
        Layout { shape, strides: shape.row_major_strides(), offset: 0 }
    }

    /// Checks that all elements lie before `len`.
    pub(crate) fn strided(
        shape: Shape,
        strides: &[usize],
        offset: usize,
        len: usize,
    ) -> Result<Layout, TensorError> {
        if strides.len() != shape.rank() {
            return Err(TensorError::RankMismatch { expected: shape.rank(), found: strides.len() });
        }
        if shape.num_elements() == 0 {
            return Ok(Layout::row_major(shape));
        }
        let last = shape.dims().iter().zip(strides).try_fold(offset, |last, (&size, &stride)| {
            last.checked_add((size - 1).checked_mul(stride)?)
        });
        match last {
            Some(last) if last < len => Ok(Layout { shape, strides: Axes::new(strides)?, offset }),
            _ => Err(TensorError::ViewOutOfBounds { shape, offset, len }),
        }
    }

    pub(crate) fn dims(&self) -> &[usize] {
        self.shape.dims()
    }

    /// The position of an element.
    pub(crate) fn position(&self, index: &[usize]) -> Result<usize, TensorError> {
        if index.len() != self.shape.rank() {
            return Err(TensorError::RankMismatch {
                expected: self.shape.rank(),
                found: index.len(),
            });
        }
        let mut position = self.offset;
        let axes = self.dims().iter().zip(self.strides.as_slice());
        for (axis, (&index, (&size, &stride))) in index.iter().zip(axes).enumerate() {
            if index >= size {
                return Err(TensorError::IndexOutOfRange { axis, index, size });
            }
            position += index * stride;
        }
        Ok(position)
    }

    /// Whether the elements lie one behind another in row-major order.
    pub(crate) fn is_contiguous(&self) -> bool {
        let row_major = self.shape.row_major_strides();
        let strides = self.strides.as_slice().iter().zip(row_major.as_slice());
        self.shape.num_elements() == 0
            || self.dims().iter().zip(strides).all(|(&size, (a, b))| size == 1 || a == b)
    }

    pub(crate) fn slice(&self, axis: usize, range: Range<usize>) -> Result<Layout, TensorError> {
        let size = self.size(axis)?;
        let Range { start, end } = range;
        if start > end || end > size {
            return Err(TensorError::RangeOutOfBounds { axis, start, end, size });
        }
        let shape = self.with_size(axis, end - start)?;
        if shape.num_elements() == 0 {
            return Ok(Layout::row_major(shape));
        }
        Ok(Layout { shape, offset: self.offset + start * self.strides.as_slice()[axis], ..*self })
    }

    pub(crate) fn select(&self, axis: usize, index: usize) -> Result<Layout, TensorError> {
        let size = self.size(axis)?;
        if index >= size {
            return Err(TensorError::IndexOutOfRange { axis, index, size });
        }
        self.slice(axis, index..index + 1)?.squeeze(axis)
    }

    pub(crate) fn squeeze(&self, axis: usize) -> Result<Layout, TensorError> {
        let size = self.size(axis)?;
        if size != 1 {
            return Err(TensorError::NotSingle { axis, size });
        }
        let shape = Shape::new(Axes::new(self.dims())?.removed(axis).as_slice())?;
        Ok(Layout { shape, strides: self.strides.removed(axis), ..*self })
    }

    pub(crate) fn unsqueeze(&self, axis: usize) -> Result<Layout, TensorError> {
        if axis > self.shape.rank() {
            return Err(TensorError::AxisOutOfRange { axis, rank: self.shape.rank() + 1 });
        }
        let shape = Shape::new(Axes::new(self.dims())?.inserted(axis, 1)?.as_slice())?;
        Ok(Layout { shape, strides: self.strides.inserted(axis, 0)?, ..*self })
    }

    pub(crate) fn permute(&self, axes: &[usize]) -> Result<Layout, TensorError> {
        let rank = self.shape.rank();
        let names_each_axis = axes.len() == rank && (0..rank).all(|axis| axes.contains(&axis));
        if !names_each_axis {
            return Err(TensorError::NotAPermutation { axes: axes.to_vec(), rank });
        }
        let mut dims = Axes::new(self.dims())?;
        let mut strides = self.strides;
        for (to, &from) in axes.iter().enumerate() {
            dims.as_mut_slice()[to] = self.dims()[from];
            strides.as_mut_slice()[to] = self.strides.as_slice()[from];
        }
        Ok(Layout { shape: Shape::new(dims.as_slice())?, strides, ..*self })
    }

    pub(crate) fn transpose(&self, a: usize, b: usize) -> Result<Layout, TensorError> {
        self.size(a)?;
        self.size(b)?;
        let mut axes = self.strides;
        for (axis, number) in axes.as_mut_slice().iter_mut().enumerate() {
            *number = axis;
        }
        axes.as_mut_slice().swap(a, b);
        self.permute(axes.as_slice())
    }

    /// Aligns the shapes at their last axes; axes of size 1 and missing ones repeat.
    pub(crate) fn broadcast_to(&self, shape: Shape) -> Result<Layout, TensorError> {
        let mismatch = || TensorError::BroadcastMismatch {
            from: self.dims().to_vec(),
            to: shape.dims().to_vec(),
        };
        let Some(num_new) = shape.rank().checked_sub(self.shape.rank()) else {
            return Err(mismatch());
        };
        let mut strides = Axes::new(shape.dims())?;
        for (axis, stride) in strides.as_mut_slice().iter_mut().enumerate() {
            let wanted = *stride;
            *stride = match axis.checked_sub(num_new) {
                None => 0,
                Some(old) if self.dims()[old] == wanted => self.strides.as_slice()[old],
                Some(old) if self.dims()[old] == 1 => 0,
                Some(_) => return Err(mismatch()),
            };
        }
        if shape.num_elements() == 0 {
            return Ok(Layout::row_major(shape));
        }
        Ok(Layout { shape, strides, offset: self.offset })
    }

    /// Keeps the row-major order of the elements, or refuses where that would need a copy.
    pub(crate) fn reshape(&self, shape: Shape) -> Result<Layout, TensorError> {
        if shape.num_elements() != self.shape.num_elements() {
            return Err(TensorError::ReshapeMismatch {
                from: self.dims().to_vec(),
                to: shape.dims().to_vec(),
            });
        }
        if shape.num_elements() == 0 {
            return Ok(Layout::row_major(shape));
        }
        let mut runs = self.runs();
        let mut run = Run { size: 1, stride: 1 };
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
            run = Run { size: run.size / size, stride: run.stride * size };
        }
        Ok(Layout { shape, strides, offset: self.offset })
    }

    /// The axes from the fastest on, where axes that continue each other count as one.
    fn runs(&self) -> impl Iterator<Item = Run> {
        let axes = self.dims().iter().zip(self.strides.as_slice()).rev();
        let mut axes = axes
            .map(|(&size, &stride)| Run { size, stride })
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

/// `size` elements at a distance of `stride`.
#[derive(Clone, Copy)]
struct Run {
    size: usize,
    stride: usize,
}
