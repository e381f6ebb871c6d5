//! Activations as the sums of two bfloat16 numbers, for products with floating-point weights by the matrix unit.
//!
//! The high number is the nearest one to the activation, the low number the nearest one to the difference. So the sum differs
//! from the activation by at most 2^-17 of it, unless it is tiny. An activation that is not finite, or so close to the largest
//! number that its high number is infinite, has a low number that is not finite, and results that are not numbers.

use crate::isa::Level;
use crate::lanes::{BF16_TILE_COLS, Kernel, LANES, Lanes};
use crate::ops::activation_rows::{BlockRow, InputForm};
use crate::scratch::CacheLine;

/// Activations as pairs of bfloat16 numbers. For 32 columns at a time, a block has the high numbers of all rows, a cache line
/// each, then the low ones. Missing columns are zeros.
pub(crate) struct Bf16Pairs;

impl InputForm for Bf16Pairs {
    fn row_lines(cols: usize) -> usize {
        2 * cols.div_ceil(BF16_TILE_COLS)
    }

    fn convert(level: Level, row: BlockRow<'_>, out: &mut [CacheLine]) {
        level.run_with_matrix_unit(SplitRow { row, out });
    }
}

/// Splits some columns of one row.
struct SplitRow<'a> {
    row: BlockRow<'a>,
    out: &'a mut [CacheLine],
}

impl Kernel for SplitRow<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Self { row: BlockRow { values, row, width }, out } = self;
        let groups = out.chunks_exact_mut(2 * width);
        for (x, group) in values.chunks(BF16_TILE_COLS).zip(groups) {
            let (high, low) = group.split_at_mut(width);
            let (high, low) = (&mut high[row], &mut low[row]);
            match x.first_chunk() {
                Some(x) => split(lanes, x, high, low),
                None => {
                    let mut padded = [0.0; BF16_TILE_COLS];
                    padded[..x.len()].copy_from_slice(x);
                    split(lanes, &padded, high, low);
                }
            }
        }
    }
}

/// Splits 32 numbers into high and low ones.
#[inline(always)]
fn split<L: Lanes>(
    lanes: L,
    x: &[f32; BF16_TILE_COLS],
    CacheLine(high): &mut CacheLine,
    CacheLine(low): &mut CacheLine,
) {
    let halves = |line| bytemuck::cast_slice_mut::<f32, u8>(line).chunks_exact_mut(2 * LANES);
    let lines = halves(high).zip(halves(low));
    for (x, (high, low)) in x.chunks_exact(LANES).zip(lines) {
        let x = lanes.load(x.first_chunk().expect("16 numbers"));
        let high = high.first_chunk_mut().expect("16 numbers");
        lanes.store_bf16(x, high);
        let rest = lanes.sub(x, lanes.load_bf16(high));
        lanes.store_bf16(rest, low.first_chunk_mut().expect("16 numbers"));
    }
}
