//! Tensor shapes: the size along each axis.

use std::fmt;

use crate::TensorError;

/// Maximum number of axes of a tensor.
pub const MAX_RANK: usize = 8;

/// The sizes of a tensor's axes, slowest first, stored inline.
///
/// Invariant: the product of the sizes, counting zeros as ones, fits a `usize`, so strides cannot
/// overflow.
///
/// ```
/// use inferno_tensor::Shape;
///
/// let shape = Shape::new(&[2, 3])?;
/// assert_eq!((shape.rank(), shape.num_elements()), (2, 6));
/// assert_eq!(shape.to_string(), "[2, 3]");
/// # Ok::<(), inferno_tensor::TensorError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape(Axes);

impl Shape {
    /// Creates a shape. Without any sizes, it is the shape of a single element (a scalar).
    ///
    /// **Errors**: [`TensorError::RankTooLarge`], [`TensorError::ShapeTooLarge`].
    pub fn new(dims: &[usize]) -> Result<Shape, TensorError> {
        let axes = Axes::new(dims)?;
        dims.iter()
            .try_fold(1usize, |product, &size| product.checked_mul(size.max(1)))
            .ok_or(TensorError::ShapeTooLarge)?;
        Ok(Shape(axes))
    }

    /// The sizes, slowest axis first.
    pub fn dims(&self) -> &[usize] {
        self.0.as_slice()
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.0.rank
    }

    /// The product of the sizes.
    pub fn num_elements(&self) -> usize {
        self.dims().iter().product()
    }

    /// Checks that `found` elements fill the shape.
    ///
    /// **Errors**: [`TensorError::ElementsMismatch`].
    pub(crate) fn check_num_elements(self, found: usize) -> Result<Shape, TensorError> {
        match found == self.num_elements() {
            true => Ok(self),
            false => Err(TensorError::ElementsMismatch { shape: self, found }),
        }
    }

    /// The strides of a row-major tensor of this shape.
    pub(crate) fn row_major_strides(&self) -> Axes {
        let mut strides = self.0;
        let mut stride = 1;
        for size in strides.as_mut_slice().iter_mut().rev() {
            let next = stride * (*size).max(1);
            *size = stride;
            stride = next;
        }
        strides
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.dims(), f)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.dims(), f)
    }
}

/// One number per axis, stored inline. Numbers past the rank are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Axes {
    numbers: [usize; MAX_RANK],
    rank: usize,
}

impl Axes {
    pub(crate) fn new(slice: &[usize]) -> Result<Axes, TensorError> {
        let mut axes = Axes { numbers: [0; MAX_RANK], rank: slice.len() };
        axes.numbers
            .get_mut(..slice.len())
            .ok_or(TensorError::RankTooLarge { max: MAX_RANK })?
            .copy_from_slice(slice);
        Ok(axes)
    }

    pub(crate) fn as_slice(&self) -> &[usize] {
        &self.numbers[..self.rank]
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [usize] {
        &mut self.numbers[..self.rank]
    }

    /// Removes axis `at < rank`.
    pub(crate) fn removed(mut self, at: usize) -> Axes {
        self.as_mut_slice()[at..].rotate_left(1);
        self.rank -= 1;
        self.numbers[self.rank] = 0;
        self
    }
}
