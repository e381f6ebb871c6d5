//! Which weights of a matrix share a scale.

use std::sync::Arc;

/// Rows and columns that share a scale; `None` in its place for a scale per row, matrix or tensor.
pub(crate) type Block = [usize; 2];

/// Which elements of matrices share a scale.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Groups {
    /// Rows and columns of one matrix.
    size: [usize; 2],
    block: Block,
    /// The group of each column, if they are not neighbors.
    columns: Option<Arc<[u32]>>,
    /// Number of scales of a column, if they are stored column by column.
    column_len: Option<usize>,
}

impl Groups {
    /// The groups of scales of shape `scales` for matrices of shape `shape`, whose leading dimensions number them; `None` if the
    /// shapes do not fit. Without a `block`, each scale belongs to an equal part of the rows.
    pub(crate) fn new(shape: &[usize], scales: &[usize], block: Option<Block>) -> Option<Self> {
        let [matrices @ .., rows, cols] = shape else { return None };
        let whole = [matrices.iter().product::<usize>() * rows, *cols];
        if scales.len() <= 1 && scales.iter().product::<usize>() == 1 {
            return Some(Self::of_blocks(whole, whole));
        }
        // Dimensions of size 1 may be left out at the end.
        let mut scales = scales.to_vec();
        scales.extend(std::iter::repeat_n(1, shape.len().saturating_sub(scales.len())));
        let block = match (block, &scales[matrices.len()..]) {
            (Some(block), _) => block,
            (None, &[parts, 1]) if parts > 0 && rows.is_multiple_of(parts) => [rows / parts, *cols],
            _ => return None,
        };
        let expected = expected_scales(shape, Some(block));
        (scales == expected).then_some(Self::of_blocks([*rows, *cols], block))
    }

    fn of_blocks(size: [usize; 2], block: Block) -> Self {
        // The block of a matrix without elements has a size, too.
        let block = block.map(|size| size.max(1));
        Self { size, block, columns: None, column_len: None }
    }

    /// Runs of `len` elements in a row, without regard to the rows of the matrix.
    pub(crate) fn of_runs(num_elements: usize, len: usize) -> Self {
        Self::of_blocks([1, num_elements], [1, len])
    }

    /// Groups of columns of each row, with scales stored column by column.
    pub(crate) fn of_columns(size: [usize; 2], group_size: usize) -> Self {
        let [rows, _] = size;
        Self { column_len: Some(rows), ..Self::of_blocks(size, [1, group_size]) }
    }

    /// The same groups of rows, but each column is in the group with this number.
    pub(crate) fn with_columns(self, columns: Vec<u32>) -> Self {
        let [_, size] = self.block;
        let is_usual = columns.iter().enumerate().all(|(col, group)| col / size == *group as usize);
        Self { columns: (!is_usual).then(|| columns.into()), ..self }
    }

    /// Number of columns of a matrix.
    pub(crate) fn cols(&self) -> usize {
        self.size[1]
    }

    /// Whether each run of `len` elements of a row, at a multiple of `len`, is in one group.
    pub(crate) fn are_runs_of(&self, len: usize) -> bool {
        let [cols, block_cols] = [self.size[1], self.block[1]];
        match &self.columns {
            None => block_cols.is_multiple_of(len) || block_cols >= cols,
            Some(columns) => columns.chunks(len).all(|run| run.iter().all(|it| *it == run[0])),
        }
    }

    /// The group of each column, if they are not neighbors.
    pub(crate) fn columns(&self) -> Option<&[u32]> {
        self.columns.as_deref()
    }

    /// Number of neighboring columns in the group of column `col`, from that one, if groups are neighbors.
    pub(crate) fn run(&self, col: usize) -> usize {
        (self.block[1] - col % self.block[1]).min(self.size[1] - col)
    }

    /// The numbers of the group of an element, along rows and columns. The rows of all matrices are numbered.
    pub(crate) fn group(&self, row: usize, col: usize) -> [usize; 2] {
        let ([rows, _], [block_rows, block_cols]) = (self.size, self.block);
        let (matrix, row) = (row / rows, row % rows);
        let row = matrix * rows.div_ceil(block_rows) + row / block_rows;
        match &self.columns {
            None => [row, col / block_cols],
            Some(columns) => [row, columns[col] as usize],
        }
    }

    /// The number of the scale of a group.
    pub(crate) fn index(&self, [row, col]: [usize; 2]) -> usize {
        match self.column_len {
            None => row * self.row_len() + col,
            Some(len) => col * len + row,
        }
    }

    /// Number of scales of a row.
    pub(crate) fn row_len(&self) -> usize {
        self.size[1].div_ceil(self.block[1])
    }
}

/// The shape of the scales of matrices of shape `shape`. Without a `block`, that of a scale for each row, which is the usual one.
pub(crate) fn expected_scales(shape: &[usize], block: Option<Block>) -> Vec<usize> {
    let [matrices @ .., rows, cols] = shape else { return vec![1] };
    let [block_rows, block_cols] = block.unwrap_or([1, *cols]);
    let own = [rows.div_ceil(block_rows.max(1)), cols.div_ceil(block_cols.max(1))];
    [matrices, &own].concat()
}
