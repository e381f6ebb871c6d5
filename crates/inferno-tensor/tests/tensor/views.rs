//! Views: results compared with numpy (`fixtures/make_views.py`), invariants, and errors.

use inferno_tensor::{MAX_RANK, Shape, Tensor, TensorError, TensorView};
use proptest::prelude::*;

const NUMPY: &str = include_str!("../fixtures/views.txt");

fn list(text: &str) -> Vec<usize> {
    text.split([',', ' '])
        .filter(|number| !matches!(*number, "" | "-"))
        .map(|number| number.parse().unwrap())
        .collect()
}

fn counting(dims: &[usize]) -> Tensor<usize> {
    Tensor::from_vec(dims, (0..dims.iter().product()).collect()).unwrap()
}

fn apply<'a>(
    view: TensorView<'a, usize>,
    operation: &str,
) -> Result<TensorView<'a, usize>, TensorError> {
    let (name, numbers) = operation.trim().split_once(' ').unwrap();
    let numbers = list(numbers);
    match name {
        "slice" => view.slice(numbers[0], numbers[1]..numbers[2]),
        "select" => view.select(numbers[0], numbers[1]),
        "transpose" => view.transpose(numbers[0], numbers[1]),
        "reshape" => view.reshape(&numbers),
        _ => panic!("unknown operation {name}"),
    }
}

#[test]
fn chains_of_operations_match_numpy_in_results_and_errors() {
    for line in NUMPY.lines() {
        let (chain, expected) = line.split_once(" => ").unwrap();
        let (dims, operations) = chain.split_once("; ").unwrap_or((chain, ""));
        let tensor = counting(&list(dims));
        let result = operations
            .split("; ")
            .filter(|operation| !operation.is_empty())
            .try_fold(tensor.view(), apply);
        match (expected.split_once(": "), result) {
            (Some((dims, elements)), Ok(view)) => {
                assert_eq!(view.shape().dims(), list(dims), "{line}");
                assert_eq!(view.iter().copied().collect::<Vec<_>>(), list(elements), "{line}");
                if let Some(slice) = view.as_slice() {
                    assert_eq!(slice, list(elements), "{line}");
                }
            }
            (None, Err(TensorError::ReshapeNeedsCopy { .. })) => {
                assert_eq!(expected, "copy", "{line}")
            }
            (None, Err(TensorError::ReshapeMismatch { .. })) => {
                assert_eq!(expected, "mismatch", "{line}")
            }
            (_, result) => panic!("{line}: found {result:?}"),
        }
    }
}

#[test]
fn a_transposed_matrix_is_strided() {
    let matrix = counting(&[2, 3]);
    let transposed = matrix.view().transpose(0, 1).unwrap();
    assert!(!transposed.is_contiguous());
    assert_eq!(transposed.as_slice(), None);
    assert_eq!(transposed.strides(), [1, 3]);
    assert!(transposed.iter().eq(&[0, 3, 1, 4, 2, 5]));
}

#[test]
fn rows_in_the_middle_are_contiguous_with_an_offset() {
    let matrix = counting(&[4, 3]);
    let rows = matrix.view().slice(0, 1..3).unwrap();
    assert_eq!(rows.as_slice(), Some(&[3, 4, 5, 6, 7, 8][..]));
    assert_eq!(rows.offset(), 3);
    assert_eq!(matrix.view().slice(1, 1..3).unwrap().as_slice(), None);
}

#[test]
fn overlapping_windows_are_a_view_with_equal_strides() {
    let elements = [0, 1, 2, 3, 4, 5];
    let windows = TensorView::strided(&[4, 3], &[1, 1], 0, &elements).unwrap();
    assert!(windows.iter().eq(&[0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5]));
    assert_eq!(
        TensorView::strided(&[4, 3], &[1, 1], 1, &elements).unwrap_err(),
        TensorError::ViewOutOfBounds { shape: Shape::new(&[4, 3]).unwrap(), offset: 1, len: 6 }
    );
    for strides in [&[usize::MAX, 1][..], &[1, usize::MAX]] {
        let error = TensorView::strided(&[4, 3], strides, 0, &elements).unwrap_err();
        assert!(matches!(error, TensorError::ViewOutOfBounds { .. }));
    }
    let single = TensorView::strided(&[1, 2], &[usize::MAX, 1], 4, &elements).unwrap();
    assert!(single.iter().eq(&[4, 5]));
}

#[test]
fn a_scalar_has_no_axes_and_one_element() {
    let scalar = Tensor::from_vec(&[], vec![7]).unwrap();
    assert_eq!(scalar.view().get(&[]), Ok(&7));
    assert_eq!(scalar.shape().to_string(), "[]");
    assert_eq!(Tensor::full(&[2, 2], 7).unwrap().into_vec(), [7; 4]);
}

#[test]
fn an_empty_view_is_contiguous_and_has_no_elements() {
    let matrix = counting(&[2, 3]);
    let empty = matrix.view().slice(0, 2..2).unwrap().slice(1, 3..3).unwrap();
    assert_eq!(empty.shape().dims(), [0, 0]);
    assert_eq!(empty.as_slice(), Some(&[][..]));
    assert_eq!(empty.iter().len(), 0);
    assert_eq!(empty.transpose(0, 1).unwrap().iter().next(), None);
}

#[test]
fn every_invalid_argument_is_an_error() {
    use TensorError::*;
    let tensor = counting(&[2, 3]);
    let view = tensor.view();
    let errors = [
        (view.get(&[2, 0]).map(drop), IndexOutOfRange { axis: 0, index: 2, size: 2 }),
        (view.get(&[0]).map(drop), RankMismatch { expected: 2, found: 1 }),
        (view.select(1, 3).map(drop), IndexOutOfRange { axis: 1, index: 3, size: 3 }),
        (view.select(2, 0).map(drop), AxisOutOfRange { axis: 2, rank: 2 }),
        (view.slice(1, 2..4).map(drop), RangeOutOfBounds { axis: 1, start: 2, end: 4, size: 3 }),
        (view.transpose(0, 2).map(drop), AxisOutOfRange { axis: 2, rank: 2 }),
        (view.reshape(&[5]).map(drop), ReshapeMismatch { from: vec![2, 3], to: vec![5] }),
        (
            Tensor::from_vec(&[2, 2], vec![0; 3]).map(drop),
            ElementsMismatch { shape: Shape::new(&[2, 2]).unwrap(), found: 3 },
        ),
        (Shape::new(&[1; MAX_RANK + 1]).map(drop), RankTooLarge { max: MAX_RANK }),
        (Shape::new(&[0, usize::MAX, 2]).map(drop), ShapeTooLarge),
    ];
    for (found, expected) in errors {
        assert_eq!(found, Err(expected));
    }
    #[expect(clippy::reversed_empty_ranges)]
    let reversed = view.slice(0, 2..1);
    assert!(matches!(reversed, Err(RangeOutOfBounds { start: 2, end: 1, .. })));
}

#[test]
fn an_index_of_leading_axes_is_the_slice_below_it() {
    let mut tensor = counting(&[2, 3, 2]);
    assert_eq!(tensor[[1]], [6, 7, 8, 9, 10, 11]);
    assert_eq!(tensor[[1, 2]], [10, 11]);
    assert_eq!(tensor[[0, 1, 1]], [3]);
    let tail = tensor.view().slice(1, 1..3).unwrap();
    assert_eq!((&tail[[0]], &tail[[1, 1]]), (&[2, 3, 4, 5][..], &[10, 11][..]));
    assert!(tail.as_slice().is_none());
    tensor[[0, 2]].fill(9);
    assert_eq!(tensor[[0]], [0, 1, 2, 3, 9, 9]);
    assert_eq!(counting(&[2, 0])[[1]], []);
}

#[test]
#[should_panic(expected = "index 2 is out of range for axis 0 of size 2")]
fn an_index_out_of_range_panics() {
    let _ = &counting(&[2, 3])[[2]];
}

#[test]
#[should_panic(expected = "contiguous")]
fn a_slice_of_strided_elements_panics() {
    let _ = &counting(&[2, 3]).view().transpose(0, 1).unwrap()[[0]];
}

#[test]
fn a_tensor_larger_than_memory_is_an_error() {
    let shape = Shape::new(&[usize::MAX]).unwrap();
    assert_eq!(Tensor::full(&[usize::MAX], 1u64), Err(TensorError::OutOfMemory { shape }));
}

fn dims() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0usize..5, 0..5)
}

fn dims_and_shuffled() -> impl Strategy<Value = (Vec<usize>, Vec<usize>)> {
    dims().prop_flat_map(|dims| (Just(dims.clone()), Just(dims).prop_shuffle()))
}

/// A shape and a valid index.
fn dims_and_index() -> impl Strategy<Value = (Vec<usize>, Vec<usize>)> {
    prop::collection::vec((1usize..5).prop_flat_map(|size| (Just(size), 0..size)), 1..5)
        .prop_map(|axes| axes.into_iter().unzip())
}

proptest! {
    #[test]
    fn transposing_twice_is_the_identity(dims in dims(), a in 0usize..5, b in 0usize..5) {
        let tensor = counting(&dims);
        match tensor.view().transpose(a, b) {
            Ok(once) => {
                let twice = once.transpose(a, b).unwrap();
                prop_assert_eq!(twice.shape(), tensor.shape());
                prop_assert_eq!(twice.as_slice(), Some(tensor.as_slice()));
            }
            Err(_) => prop_assert!(a.max(b) >= dims.len()),
        }
    }

    #[test]
    fn reshaping_preserves_the_order((dims, shuffled) in dims_and_shuffled()) {
        let tensor = counting(&dims);
        let view = tensor.view().reshape(&shuffled).unwrap();
        prop_assert_eq!(view.shape(), Shape::new(&shuffled).unwrap());
        prop_assert!(view.iter().eq(tensor.as_slice()));
        let back = view.reshape(&[tensor.as_slice().len()]).unwrap();
        prop_assert_eq!(back.as_slice(), Some(tensor.as_slice()));
    }

    #[test]
    fn a_transposed_element_is_at_the_swapped_index(
        (dims, index) in dims_and_index(),
        a in 0usize..4,
        b in 0usize..4,
    ) {
        let (a, b) = (a % dims.len(), b % dims.len());
        let tensor = counting(&dims);
        let mut swapped = index.clone();
        swapped.swap(a, b);
        let transposed = tensor.view().transpose(a, b).unwrap();
        prop_assert_eq!(transposed.get(&swapped), tensor.view().get(&index));
    }

    #[test]
    fn selecting_each_index_covers_the_whole_slice(
        (dims, index) in dims_and_index(),
        axis in 0usize..4,
    ) {
        let axis = axis % dims.len();
        let tensor = counting(&dims);
        let sliced = tensor.view().slice(axis, 0..index[axis] + 1).unwrap();
        let moved = sliced.transpose(0, axis).unwrap();
        let selected = (0..=index[axis]).flat_map(|i| moved.select(0, i).unwrap());
        prop_assert!(selected.eq(moved.iter()));
    }
}
