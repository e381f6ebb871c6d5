//! Borrowed tensors: a shape and strides over somebody's elements.

use std::iter::FusedIterator;
use std::ops::Range;

use crate::layout::Layout;
use crate::{MAX_RANK, Shape, Tensor, TensorError};

/// A borrowed tensor of any rank up to [`MAX_RANK`](crate::MAX_RANK), row-major unless it was
/// transposed or broadcast.
///
/// Every operation but [`TensorView::to_tensor`] makes another view of the same elements; none of
/// them allocates or copies an element.
///
/// ```
/// use inferno_tensor::TensorView;
///
/// let elements = [1, 2, 3, 4, 5, 6];
/// let view = TensorView::new(&[2, 3], &elements)?;
/// let columns = view.transpose(0, 1)?;
/// assert_eq!(columns.shape().dims(), [3, 2]);
/// assert!(columns.iter().eq(&[1, 4, 2, 5, 3, 6]));
/// assert_eq!(view.select(0, 1)?.as_slice(), Some(&[4, 5, 6][..]));
/// # Ok::<(), inferno_tensor::TensorError>(())
/// ```
#[derive(Debug)]
pub struct TensorView<'a, T> {
    elements: &'a [T],
    layout: Layout,
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
    /// **Errors**: [`TensorError::ElementsMismatch`] if their number is not that of the shape, and
    /// those of [`Shape::new`].
    pub fn new(dims: &[usize], elements: &'a [T]) -> Result<Self, TensorError> {
        let shape = Shape::new(dims)?;
        check_num_elements(shape, elements.len())?;
        Ok(TensorView::of(elements, Layout::row_major(shape)))
    }

    /// Views elements at the given strides, from `offset` on.
    ///
    /// **Units**: strides and offset count elements.
    ///
    /// **Errors**: [`TensorError::RankMismatch`] unless there is a stride for each axis,
    /// [`TensorError::ViewOutOfBounds`] if the view would reach past the elements, and those of
    /// [`Shape::new`].
    pub fn strided(
        dims: &[usize],
        strides: &[usize],
        offset: usize,
        elements: &'a [T],
    ) -> Result<Self, TensorError> {
        let layout = Layout::strided(Shape::new(dims)?, strides, offset, elements.len())?;
        Ok(TensorView::of(elements, layout))
    }

    pub(crate) fn of(elements: &'a [T], layout: Layout) -> Self {
        TensorView { elements, layout }
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

    /// Where the first element lies among the elements that the outermost view was made of.
    pub fn offset(&self) -> usize {
        self.layout.offset
    }

    /// The element at an index.
    ///
    /// **Errors**: [`TensorError::RankMismatch`], [`TensorError::IndexOutOfRange`].
    pub fn get(&self, index: &[usize]) -> Result<&'a T, TensorError> {
        Ok(&self.elements[self.layout.position(index)?])
    }

    /// The part of an axis in `range`.
    ///
    /// **Errors**: [`TensorError::AxisOutOfRange`], [`TensorError::RangeOutOfBounds`].
    pub fn slice(&self, axis: usize, range: Range<usize>) -> Result<Self, TensorError> {
        Ok(TensorView::of(self.elements, self.layout.slice(axis, range)?))
    }

    /// The view at one index of an axis, which falls away.
    ///
    /// **Errors**: [`TensorError::AxisOutOfRange`], [`TensorError::IndexOutOfRange`].
    pub fn select(&self, axis: usize, index: usize) -> Result<Self, TensorError> {
        Ok(TensorView::of(self.elements, self.layout.select(axis, index)?))
    }

    /// The same elements in the same row-major order under another shape.
    ///
    /// **Errors**: [`TensorError::ReshapeMismatch`] if the numbers of elements differ;
    /// [`TensorError::ReshapeNeedsCopy`] if no strides give that order, as after most
    /// transpositions.
    pub fn reshape(&self, dims: &[usize]) -> Result<Self, TensorError> {
        Ok(TensorView::of(self.elements, self.layout.reshape(Shape::new(dims)?)?))
    }

    /// The axes in another order: axis `i` of the result is axis `axes[i]` of this view.
    ///
    /// **Errors**: [`TensorError::NotAPermutation`] unless every axis is named once.
    pub fn permute(&self, axes: &[usize]) -> Result<Self, TensorError> {
        Ok(TensorView::of(self.elements, self.layout.permute(axes)?))
    }

    /// Two axes exchanged.
    ///
    /// **Errors**: [`TensorError::AxisOutOfRange`].
    pub fn transpose(&self, a: usize, b: usize) -> Result<Self, TensorError> {
        Ok(TensorView::of(self.elements, self.layout.transpose(a, b)?))
    }

    /// Repeats axes of size 1, and puts new ones in front, to reach a shape.
    ///
    /// **Errors**: [`TensorError::BroadcastMismatch`] if another axis would have to change.
    pub fn broadcast_to(&self, dims: &[usize]) -> Result<Self, TensorError> {
        Ok(TensorView::of(self.elements, self.layout.broadcast_to(Shape::new(dims)?)?))
    }

    /// Drops an axis of size 1.
    ///
    /// **Errors**: [`TensorError::AxisOutOfRange`], [`TensorError::NotSingle`].
    pub fn squeeze(&self, axis: usize) -> Result<Self, TensorError> {
        Ok(TensorView::of(self.elements, self.layout.squeeze(axis)?))
    }

    /// Puts in an axis of size 1, which becomes number `axis`.
    ///
    /// **Errors**: [`TensorError::AxisOutOfRange`], [`TensorError::RankTooLarge`].
    pub fn unsqueeze(&self, axis: usize) -> Result<Self, TensorError> {
        Ok(TensorView::of(self.elements, self.layout.unsqueeze(axis)?))
    }

    /// Whether the elements lie one behind another in row-major order.
    pub fn is_contiguous(&self) -> bool {
        self.layout.is_contiguous()
    }

    /// The elements as a slice, if they are contiguous.
    pub fn as_slice(&self) -> Option<&'a [T]> {
        let range = self.layout.offset..self.layout.offset + self.shape().num_elements();
        self.is_contiguous().then(|| &self.elements[range])
    }

    /// The elements in row-major order of this view.
    pub fn iter(&self) -> Elements<'a, T> {
        Elements {
            view: *self,
            index: [0; MAX_RANK],
            position: self.offset(),
            left: self.shape().num_elements(),
        }
    }

    /// Copies the elements, in row-major order.
    ///
    /// **Errors**: [`TensorError::OutOfMemory`] if there is no room for them; a broadcast view may
    /// stand for more elements than any memory holds.
    pub fn to_tensor(&self) -> Result<Tensor<T>, TensorError>
    where
        T: Clone,
    {
        let mut elements = Vec::new();
        elements
            .try_reserve_exact(self.shape().num_elements())
            .map_err(|_| TensorError::OutOfMemory { shape: self.shape() })?;
        match self.as_slice() {
            Some(slice) => elements.extend_from_slice(slice),
            None => elements.extend(self.iter().cloned()),
        }
        Tensor::from_vec(self.shape().dims(), elements)
    }
}

impl<'a, T> IntoIterator for TensorView<'a, T> {
    type Item = &'a T;
    type IntoIter = Elements<'a, T>;

    fn into_iter(self) -> Elements<'a, T> {
        self.iter()
    }
}

/// The elements of a view in row-major order.
#[derive(Debug, Clone)]
pub struct Elements<'a, T> {
    view: TensorView<'a, T>,
    index: [usize; MAX_RANK],
    position: usize,
    left: usize,
}

impl<T> Elements<'_, T> {
    /// Steps to the next index: the last axis that is not at its end moves, and those behind it
    /// start over.
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

pub(crate) fn check_num_elements(shape: Shape, found: usize) -> Result<(), TensorError> {
    if shape.num_elements() != found {
        return Err(TensorError::ElementsMismatch { shape, found });
    }
    Ok(())
}
