//! Borrowed tensors: a shape and strides over a slice of elements.

use std::iter::FusedIterator;
use std::ops::{Index, Range};

use crate::layout::StridedLayout;
use crate::{MAX_RANK, Shape, TensorError};

/// A borrowed tensor of up to [`MAX_RANK`](crate::MAX_RANK) axes, row-major unless transposed.
///
/// Every operation returns another view of the same elements, without allocating or copying.
///
/// `view[[i, j, ...]]` is the slice of all elements under an index of the leading axes. It
/// **panics** if the index is out of range or the elements are not contiguous.
///
/// ```
/// use inferno_tensor::TensorView;
///
/// let elements = [1, 2, 3, 4, 5, 6];
/// let view = TensorView::new(&[2, 3], &elements)?;
/// let columns = view.transpose(0, 1)?;
/// assert_eq!(columns.shape().dims(), [3, 2]);
/// assert!(columns.iter().eq(&[1, 4, 2, 5, 3, 6]));
/// assert_eq!(view[[1]], [4, 5, 6]);
/// # Ok::<(), inferno_tensor::TensorError>(())
/// ```
#[derive(Debug)]
pub struct TensorView<'a, T> {
    elements: &'a [T],
    layout: StridedLayout,
}

impl<T> Clone for TensorView<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for TensorView<'_, T> {}

impl<'a, T> TensorView<'a, T> {
    /// Views elements in row-major order.
    ///
    /// **Errors**: [`TensorError::ElementsMismatch`] if their number does not match the shape, and
    /// those of [`Shape::new`].
    pub fn new(dims: &[usize], elements: &'a [T]) -> Result<Self, TensorError> {
        let shape = Shape::new(dims)?.check_num_elements(elements.len())?;
        Ok(Self { elements, layout: StridedLayout::row_major(shape) })
    }

    /// Views elements at the given strides, starting at `offset`.
    ///
    /// **Units**: strides and offset count elements.
    ///
    /// **Errors**: [`TensorError::RankMismatch`] unless there is one stride per axis,
    /// [`TensorError::ViewOutOfBounds`] if the view extends past the elements, and those of
    /// [`Shape::new`].
    pub fn strided(
        dims: &[usize],
        strides: &[usize],
        offset: usize,
        elements: &'a [T],
    ) -> Result<Self, TensorError> {
        let layout = StridedLayout::strided(Shape::new(dims)?, strides, offset, elements.len())?;
        Ok(Self { elements, layout })
    }

    fn with(&self, layout: StridedLayout) -> Self {
        Self { elements: self.elements, layout }
    }

    /// The shape.
    pub fn shape(&self) -> Shape {
        self.layout.shape
    }

    /// The distance between neighbours along each axis.
    ///
    /// **Units**: elements.
    pub fn strides(&self) -> &[usize] {
        self.layout.strides.as_slice()
    }

    /// The position of the first element in the slice that the outermost view was created from.
    pub fn offset(&self) -> usize {
        self.layout.offset
    }

    /// The element at an index.
    ///
    /// **Errors**: [`TensorError::RankMismatch`], [`TensorError::IndexOutOfRange`].
    pub fn get(&self, index: &[usize]) -> Result<&'a T, TensorError> {
        Ok(&self.elements[self.layout.position(index)?])
    }

    /// Restricts an axis to `range`.
    ///
    /// **Errors**: [`TensorError::AxisOutOfRange`], [`TensorError::RangeOutOfBounds`].
    pub fn slice(&self, axis: usize, range: Range<usize>) -> Result<Self, TensorError> {
        Ok(self.with(self.layout.slice(axis, range)?))
    }

    /// Fixes the index of an axis and removes the axis.
    ///
    /// **Errors**: [`TensorError::AxisOutOfRange`], [`TensorError::IndexOutOfRange`].
    pub fn select(&self, axis: usize, index: usize) -> Result<Self, TensorError> {
        Ok(self.with(self.layout.select(axis, index)?))
    }

    /// Changes the shape; the elements keep their row-major order.
    ///
    /// **Errors**: [`TensorError::ReshapeMismatch`] if the numbers of elements differ;
    /// [`TensorError::ReshapeNeedsCopy`] if no strides give that order, as after most
    /// transpositions.
    pub fn reshape(&self, dims: &[usize]) -> Result<Self, TensorError> {
        Ok(self.with(self.layout.reshape(Shape::new(dims)?)?))
    }

    /// Swaps two axes.
    ///
    /// **Errors**: [`TensorError::AxisOutOfRange`].
    pub fn transpose(&self, a: usize, b: usize) -> Result<Self, TensorError> {
        Ok(self.with(self.layout.transpose(a, b)?))
    }

    /// Whether the elements are adjacent and in row-major order.
    pub fn is_contiguous(&self) -> bool {
        self.as_slice().is_some()
    }

    /// The elements as a slice, if they are contiguous.
    pub fn as_slice(&self) -> Option<&'a [T]> {
        self.block(&[])
    }

    /// The elements under an index of the leading axes, if they are contiguous.
    ///
    /// **Panics** if the index is out of range.
    pub fn block(&self, index: &[usize]) -> Option<&'a [T]> {
        let range = self.layout.block(index).unwrap_or_else(|error| panic!("{error}"))?;
        Some(&self.elements[range])
    }

    /// Iterates over the elements in row-major order of this view.
    pub fn iter(&self) -> Elements<'a, T> {
        Elements {
            view: *self,
            index: [0; MAX_RANK],
            position: self.offset(),
            left: self.shape().num_elements(),
        }
    }
}

impl<T, const N: usize> Index<[usize; N]> for TensorView<'_, T> {
    type Output = [T];

    fn index(&self, index: [usize; N]) -> &[T] {
        self.block(&index).expect("only contiguous elements can be indexed as a slice")
    }
}

impl<'a, T> IntoIterator for TensorView<'a, T> {
    type Item = &'a T;
    type IntoIter = Elements<'a, T>;

    fn into_iter(self) -> Elements<'a, T> {
        self.iter()
    }
}

/// Iterator over the elements of a view in row-major order.
#[derive(Debug, Clone)]
pub struct Elements<'a, T> {
    view: TensorView<'a, T>,
    index: [usize; MAX_RANK],
    position: usize,
    left: usize,
}

impl<T> Elements<'_, T> {
    /// Moves to the next index: increments the last axis that is not at its end and resets those
    /// after it.
    fn advance(&mut self) {
        let layout = &self.view.layout;
        let axes = layout.dims().iter().zip(layout.strides.as_slice());
        let rank = layout.shape.rank();
        for (index, (&size, &stride)) in self.index[..rank].iter_mut().zip(axes).rev() {
            if *index + 1 < size {
                *index += 1;
                self.position += stride;
                return;
            }
            self.position -= *index * stride;
            *index = 0;
        }
    }
}

impl<'a, T> Iterator for Elements<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        self.left = self.left.checked_sub(1)?;
        let element = &self.view.elements[self.position];
        self.advance();
        Some(element)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> ExactSizeIterator for Elements<'_, T> {}

impl<T> FusedIterator for Elements<'_, T> {}
