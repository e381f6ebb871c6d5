//! Owned tensors.

use crate::layout::Layout;
use crate::view::check_num_elements;
use crate::{Shape, TensorError, TensorView};

/// An owned tensor: contiguous, row-major.
///
/// ```
/// use inferno_tensor::Tensor;
///
/// let matrix = Tensor::from_vec(&[2, 3], vec![1, 2, 3, 4, 5, 6])?;
/// assert_eq!(matrix.view().get(&[1, 0])?, &4);
/// let doubled_column = matrix.view().slice(1, 2..3)?.broadcast_to(&[2, 2])?.to_tensor()?;
/// assert_eq!(doubled_column.as_slice(), [3, 3, 6, 6]);
/// # Ok::<(), inferno_tensor::TensorError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor<T> {
    shape: Shape,
    elements: Vec<T>,
}

impl<T> Tensor<T> {
    /// Takes elements in row-major order.
    ///
    /// **Errors**: [`TensorError::ElementsMismatch`] if their number is not that of the shape, and
    /// those of [`Shape::new`].
    pub fn from_vec(dims: &[usize], elements: Vec<T>) -> Result<Tensor<T>, TensorError> {
        let shape = Shape::new(dims)?;
        check_num_elements(shape, elements.len())?;
        Ok(Tensor { shape, elements })
    }

    /// A tensor of equal elements.
    ///
    /// **Errors**: [`TensorError::OutOfMemory`] if there is no room for them, and those of
    /// [`Shape::new`].
    pub fn full(dims: &[usize], element: T) -> Result<Tensor<T>, TensorError>
    where
        T: Clone,
    {
        TensorView::new(&[], &[element])?.broadcast_to(dims)?.to_tensor()
    }

    /// The shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The whole tensor, borrowed: where slicing, reshaping and the rest begin.
    pub fn view(&self) -> TensorView<'_, T> {
        TensorView::of(&self.elements, Layout::row_major(self.shape))
    }

    /// The elements in row-major order.
    pub fn as_slice(&self) -> &[T] {
        &self.elements
    }

    /// The elements in row-major order, to be changed.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.elements
    }

    /// Gives the elements back, in row-major order.
    pub fn into_vec(self) -> Vec<T> {
        self.elements
    }
}
