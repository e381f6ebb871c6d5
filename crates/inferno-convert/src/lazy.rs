//! Tensors of the result as views of tensors in the files: nothing is read before the result is.

use std::ops::Range;

use inferno_tensor::{TensorError, TensorView};

/// A tensor of the result: views, one after the other, with operations on their elements.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lazy {
    /// Slowest dimension first.
    pub(crate) shape: Vec<usize>,
    pub(crate) parts: Vec<Part>,
}

/// A strided view of a tensor in the files.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Part {
    /// Number of the tensor.
    pub(crate) source: usize,
    /// Number of elements of the tensor.
    source_len: usize,
    dims: Vec<usize>,
    strides: Vec<usize>,
    offset: usize,
    /// Applied to each element in this order, in single precision.
    pub(crate) operations: Vec<Operation>,
}

/// An operation on an element.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Operation {
    Add(f32),
    Multiply(f32),
    /// `-exp(x)`
    NegativeExp,
}

impl Operation {
    pub(crate) fn apply(self, value: f32) -> f32 {
        match self {
            Self::Add(summand) => value + summand,
            Self::Multiply(factor) => value * factor,
            // Rounded once: vector libraries differ in the last bit of `exp` in single precision.
            Self::NegativeExp => -(f64::from(value).exp() as f32),
        }
    }
}

/// Any number of elements of size zero: views of them have the layout of views of the tensor.
fn placeholders(len: usize) -> Vec<()> {
    vec![(); len]
}

impl Part {
    /// The part of `elements`, those of the source.
    pub(crate) fn view<'a, T>(&self, elements: &'a [T]) -> Result<TensorView<'a, T>, TensorError> {
        TensorView::strided(&self.dims, &self.strides, self.offset, elements)
    }

    /// Number of elements.
    pub(crate) fn len(&self) -> usize {
        self.dims.iter().product()
    }

    /// The first element of the source, if the part is a range of it in the same order.
    pub(crate) fn contiguous_start(&self) -> Option<usize> {
        let elements = placeholders(self.source_len);
        self.view(&elements).ok().filter(TensorView::is_contiguous).map(|_| self.offset)
    }

    /// Number of elements at the end of the dimensions that follow each other in the source, and the number of dimensions before
    /// them.
    fn inner_run(&self) -> (usize, usize) {
        let (mut len, mut outer) = (1, self.dims.len());
        while outer > 0 && (self.strides[outer - 1] == len || self.dims[outer - 1] == 1) {
            outer -= 1;
            len *= self.dims[outer];
        }
        (len, outer)
    }

    /// Whether the part consists of runs of `len` elements in their order, each at a multiple of `len` in the source.
    pub(crate) fn is_in_runs_of(&self, len: usize) -> bool {
        let (inner, outer) = self.inner_run();
        let multiples = self.strides[..outer].iter().chain([&inner, &self.offset]);
        multiples.into_iter().all(|position| position.is_multiple_of(len))
    }

    /// The elements with these numbers, in row-major order, as runs of neighbors: the position in the source of the first one,
    /// and their number.
    pub(crate) fn runs(&self, range: Range<usize>) -> impl Iterator<Item = (usize, usize)> {
        let (len, outer) = self.inner_run();
        let len = len.max(1);
        let mut run = range.start / len;
        self.positions(outer, run..range.end.div_ceil(len)).map(move |position| {
            let first = run * len;
            run += 1;
            let start = range.start.max(first) - first;
            (position + start, range.end.min(first + len) - first - start)
        })
    }

    /// The positions in the source of the elements with these numbers in the first `rank` dimensions, in row-major order.
    fn positions(&self, rank: usize, range: Range<usize>) -> impl Iterator<Item = usize> {
        let mut index = vec![0; rank];
        let mut rest = range.start;
        for (index, &size) in index.iter_mut().zip(&self.dims).rev() {
            (*index, rest) = (rest % size, rest / size);
        }
        let steps = index.iter().zip(&self.strides).map(|(index, stride)| index * stride);
        let mut position = self.offset + steps.sum::<usize>();
        range.map(move |_| {
            let current = position;
            for axis in (0..index.len()).rev() {
                index[axis] += 1;
                position += self.strides[axis];
                if index[axis] < self.dims[axis] {
                    break;
                }
                position -= index[axis] * self.strides[axis];
                index[axis] = 0;
            }
            current
        })
    }

    fn with_layout(self, view: TensorView<'_, ()>) -> Self {
        Self {
            dims: view.shape().dims().to_vec(),
            strides: view.strides().to_vec(),
            offset: view.offset(),
            ..self
        }
    }
}

impl Lazy {
    /// The tensor `source` as it is.
    pub(crate) fn new(source: usize, shape: &[usize]) -> Result<Self, TensorError> {
        let source_len = shape.iter().product();
        let elements = placeholders(source_len);
        let view = TensorView::new(shape, &elements)?;
        let part = Part {
            source,
            source_len,
            dims: Vec::new(),
            strides: Vec::new(),
            offset: 0,
            operations: Vec::new(),
        };
        Ok(Self { shape: shape.to_vec(), parts: vec![part.with_layout(view)] })
    }

    /// Number of elements.
    pub(crate) fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Another view of the same elements. The tensor must consist of one part.
    pub(crate) fn view(
        self,
        change: impl Fn(TensorView<'_, ()>) -> Result<TensorView<'_, ()>, TensorError>,
    ) -> Result<Self, TensorError> {
        let [part] =
            <[Part; 1]>::try_from(self.parts).expect("views are changed before they are joined");
        let elements = placeholders(part.source_len);
        let view = change(part.view(&elements)?)?;
        let part = part.with_layout(view);
        Ok(Self { shape: part.dims.clone(), parts: vec![part] })
    }

    /// The same elements in the same order with another shape.
    pub(crate) fn reshaped(self, shape: &[usize]) -> Result<Self, TensorError> {
        match shape.iter().product::<usize>() == self.len() {
            true => Ok(Self { shape: shape.to_vec(), ..self }),
            false => Err(TensorError::ReshapeMismatch { from: self.shape, to: shape.to_vec() }),
        }
    }

    /// Without dimensions of size 1, but with one dimension at least.
    pub(crate) fn squeezed(self) -> Self {
        let mut shape: Vec<usize> = self.shape.iter().copied().filter(|&size| size != 1).collect();
        if shape.is_empty() {
            shape.push(self.len());
        }
        Self { shape, ..self }
    }

    /// Applies an operation to each element.
    pub(crate) fn map(mut self, operation: Operation) -> Self {
        self.parts.iter_mut().for_each(|part| part.operations.push(operation));
        self
    }

    /// Copies of a single row, one after the other. The tensor must consist of one part.
    pub(crate) fn repeated(self, copies: usize) -> Result<Self, TensorError> {
        let [mut part] =
            <[Part; 1]>::try_from(self.parts).expect("views are changed before they are joined");
        let mut shape = self.shape;
        match (part.dims.first(), shape.first_mut()) {
            (Some(1), Some(rows)) => *rows = copies,
            _ => return Err(TensorError::ReshapeMismatch { to: vec![1], from: shape }),
        }
        (part.dims[0], part.strides[0]) = (copies, 0);
        Ok(Self { shape, parts: vec![part] })
    }

    /// Tensors one after the other along the first axis.
    pub(crate) fn concat(tensors: Vec<Self>) -> Result<Self, TensorError> {
        let mut shape = tensors.first().map(|tensor| tensor.shape.clone()).unwrap_or_default();
        let tail = shape.get(1..).unwrap_or_default().to_vec();
        let mut first = 0;
        for tensor in &tensors {
            if tensor.shape.get(1..) != Some(&tail[..]) {
                let to = tensor.shape.clone();
                return Err(TensorError::ReshapeMismatch { from: shape, to });
            }
            first += tensor.shape[0];
        }
        if let Some(size) = shape.first_mut() {
            *size = first;
        }
        Ok(Self { shape, parts: tensors.into_iter().flat_map(|tensor| tensor.parts).collect() })
    }

    /// Tensors of one shape along a new first axis.
    pub(crate) fn stack(tensors: Vec<Self>) -> Result<Self, TensorError> {
        let stacked = tensors.into_iter().map(|tensor| {
            let shape: Vec<usize> = [1].into_iter().chain(tensor.shape.iter().copied()).collect();
            tensor.reshaped(&shape)
        });
        Self::concat(stacked.collect::<Result<_, _>>()?)
    }
}
