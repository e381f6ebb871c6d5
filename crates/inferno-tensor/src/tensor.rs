//! Owned tensors.

use std::ops::{Index, IndexMut};

use crate::layout::StridedLayout;
use crate::{Shape, TensorError, TensorView};

/// An owned tensor: contiguous, row-major.
///
/// `tensor[[i, j, ...]]` is the slice of all elements under an index of the leading axes: a row of
/// a matrix, say, or a matrix of a stack. It **panics** if the index is out of range.
///
/// ```
/// use inferno_tensor::Tensor;
///
/// let mut matrix = Tensor::from_vec(&[2, 3], vec![1, 2, 3, 4, 5, 6])?;
/// matrix[[1]].fill(7);
/// assert_eq!(matrix.view().get(&[1, 0])?, &7);
/// assert!(matrix.view().slice(1, 1..3)?.iter().eq(&[2, 3, 7, 7]));
/// # Ok::<(), inferno_tensor::TensorError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor<T> {
    shape: Shape,
    elements: Vec<T>,
}

impl<T> Tensor<T> {
    /// Creates a tensor from elements in row-major order.
    ///
    /// **Errors**: [`TensorError::ElementsMismatch`] if their number does not match the shape, and
    /// those of [`Shape::new`].
    pub fn from_vec(dims: &[usize], elements: Vec<T>) -> Result<Self, TensorError> {
        let shape = Shape::new(dims)?.check_num_elements(elements.len())?;
        Ok(Self { shape, elements })
    }

    /// Creates a tensor of equal elements.
    ///
    /// **Errors**: [`TensorError::OutOfMemory`], and those of [`Shape::new`].
    pub fn full(dims: &[usize], element: T) -> Result<Self, TensorError>
    where
        T: Clone,
    {
        let shape = Shape::new(dims)?;
        let mut elements = reserve(shape)?;
        elements.resize(shape.num_elements(), element);
        Ok(Self { shape, elements })
    }

    /// The shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Borrows the whole tensor, for slicing, reshaping and other view operations.
    pub fn view(&self) -> TensorView<'_, T> {
        TensorView::new(self.shape.dims(), &self.elements).expect("the elements fill the shape")
    }

    /// The elements in row-major order.
    pub fn as_slice(&self) -> &[T] {
        &self.elements
    }

    /// The elements in row-major order, mutable.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.elements
    }

    /// Returns the elements in row-major order.
    pub fn into_vec(self) -> Vec<T> {
        self.elements
    }

    fn block(&self, index: &[usize]) -> std::ops::Range<usize> {
        let range = StridedLayout::row_major(self.shape).block(index);
        range.unwrap_or_else(|error| panic!("{error}")).expect("tensors are contiguous")
    }
}

impl<T, const N: usize> Index<[usize; N]> for Tensor<T> {
    type Output = [T];

    fn index(&self, index: [usize; N]) -> &[T] {
        &self.elements[self.block(&index)]
    }
}

impl<T, const N: usize> IndexMut<[usize; N]> for Tensor<T> {
    fn index_mut(&mut self, index: [usize; N]) -> &mut [T] {
        let range = self.block(&index);
        &mut self.elements[range]
    }
}

fn reserve<T>(shape: Shape) -> Result<Vec<T>, TensorError> {
    let mut elements = Vec::new();
    elements
        .try_reserve_exact(shape.num_elements())
        .map_err(|_| TensorError::OutOfMemory { shape })?;
    Ok(elements)
}
