//! Peak arithmetic of an instruction set.
//!
//! A matrix unit repeatedly multiplies the largest matrices that its registers hold. Vectors add the products of `V`
//! vectors of weights with one activation after another to `T * V` sums in registers, like the innermost loops of the
//! products. The best number of sums depends on the registers and latencies of the instruction set, so several shapes
//! are tried.

use std::hint::black_box;
use std::time::Instant;

use super::{TASKS_A_THREAD, fastest};
use crate::backend::CpuBackend;
use crate::isa::Level;
use crate::lanes::{Kernel, LANES, Lanes, MatrixUnit, VECTOR_BYTES};

/// Activations of one turn. Half of them is a multiple of the activations of every shape.
const TURN: usize = 96;

/// Minimum duration of a task, so that the overhead of starting it is negligible.
const TASK_SECONDS: f64 = 5e-4;

/// Operations per second with 8-bit integers.
pub(super) struct Int8Rates {
    pub(super) vectors: f64,
    /// 0 if there is no matrix unit.
    pub(super) matrices: f64,
}

impl CpuBackend {
    /// Operations per second with 8-bit integers, on all threads together.
    pub(super) fn int8_rates(&self) -> Int8Rates {
        let four = |a: i8| [a, -a, 2 * a, 3];
        let activations = turn([3, -7, 20, 11].map(four), |four| four.map(|a| -a));
        let level = self.executor().level;
        let rates = [
            self.rate(8 * LANES * 4 * TURN, |turns| int8::<4, 6>(level, &activations, turns)),
            self.rate(8 * LANES * 2 * TURN, |turns| int8::<2, 6>(level, &activations, turns)),
            self.rate(8 * LANES * TURN, |turns| int8::<1, 6>(level, &activations, turns)),
            self.rate(8 * LANES * TURN, |turns| int8::<1, 4>(level, &activations, turns)),
            match row_pairs(level, &activations, 0) {
                0 => 0.0,
                turn_ops => self.rate(turn_ops, |turns| {
                    row_pairs(level, &activations, turns);
                }),
            },
        ];
        let matrices = match tiles(level, 0) {
            0 => 0.0,
            turn_ops => self.rate(turn_ops, |turns| {
                tiles(level, turns);
            }),
        };
        Int8Rates { vectors: rates.into_iter().fold(0.0, f64::max), matrices }
    }

    /// Operations per second with 16-bit integers in vectors, on all threads together.
    pub(super) fn int16_rate(&self) -> f64 {
        let activations = turn([3, -7, 20, 11].map(|a: i16| [a, 2 - a]), |two| two.map(|a| -a));
        let level = self.executor().level;
        let rates = [
            self.rate(4 * LANES * 4 * TURN, |turns| int16::<4, 6>(level, &activations, turns)),
            self.rate(4 * LANES * 2 * TURN, |turns| int16::<2, 6>(level, &activations, turns)),
            self.rate(4 * LANES * TURN, |turns| int16::<1, 6>(level, &activations, turns)),
            self.rate(4 * LANES * TURN, |turns| int16::<1, 4>(level, &activations, turns)),
        ];
        rates.into_iter().fold(0.0, f64::max)
    }

    /// Operations per second in single precision, on all threads together.
    pub(super) fn f32_rate(&self) -> f64 {
        let activations = turn([0.5, -1.25, 2.0, 0.75], |a: f32| -a);
        let level = self.executor().level;
        let rates = [
            self.rate(2 * LANES * 4 * TURN, |turns| f32::<4, 6>(level, &activations, turns)),
            self.rate(2 * LANES * 2 * TURN, |turns| f32::<2, 6>(level, &activations, turns)),
            self.rate(2 * LANES * TURN, |turns| f32::<1, 6>(level, &activations, turns)),
            self.rate(2 * LANES * TURN, |turns| f32::<1, 4>(level, &activations, turns)),
        ];
        rates.into_iter().fold(0.0, f64::max)
    }

    /// Operations per second of `run(turns)`, which performs `turn_ops` in each turn.
    fn rate(&self, turn_ops: usize, run: impl Fn(usize) + Sync) -> f64 {
        let mut turns = 64;
        loop {
            let started = Instant::now();
            run(turns);
            if started.elapsed().as_secs_f64() >= TASK_SECONDS {
                break;
            }
            turns *= 2;
        }
        let num_tasks = TASKS_A_THREAD * self.num_threads();
        let seconds = fastest(|| self.executor().pool.run(num_tasks, &|_, _| run(turns)));
        (num_tasks * turns * turn_ops) as f64 / seconds
    }
}

/// A turn of activations whose second half cancels the first, so that no number of turns overflows.
fn turn<A: Copy, const N: usize>(some: [A; N], negated: impl Fn(A) -> A) -> [A; TURN] {
    std::array::from_fn(|index| {
        let a = some[index % (TURN / 2) % N];
        if index < TURN / 2 { a } else { negated(a) }
    })
}

/// One task with 8-bit integers. `black_box` keeps the optimizer from computing it in advance.
fn int8<const V: usize, const T: usize>(level: Level, activations: &[[i8; 4]; TURN], turns: usize) {
    let weights: [_; V] = std::array::from_fn(|v| [v as u8 + 1; VECTOR_BYTES]);
    let mut sums = [[[0.0; LANES]; T]; V];
    level.run(Int8Peak {
        weights: &black_box(weights),
        activations: black_box(activations),
        turns,
        sums: &mut sums,
    });
    black_box(sums);
}

/// One task with 16-bit integers.
fn int16<const V: usize, const T: usize>(
    level: Level,
    activations: &[[i16; 2]; TURN],
    turns: usize,
) {
    let weights: [_; V] = std::array::from_fn(|v| [v as u8 + 1; VECTOR_BYTES]);
    let mut sums = [[[0.0; LANES]; T]; V];
    level.run(Int16Peak {
        weights: &black_box(weights),
        activations: black_box(activations),
        turns,
        sums: &mut sums,
    });
    black_box(sums);
}

/// One task in single precision.
fn f32<const V: usize, const T: usize>(level: Level, activations: &[f32; TURN], turns: usize) {
    let weights: [_; V] = std::array::from_fn(|v| [v as f32 + 0.5; LANES]);
    let mut sums = [[[0.0; LANES]; T]; V];
    level.run(F32Peak {
        weights: &black_box(weights),
        activations: black_box(activations),
        turns,
        sums: &mut sums,
    });
    black_box(sums);
}

/// One task with pairs of rows; returns the operations of one turn, 0 if the level has no products for them.
fn row_pairs(level: Level, activations: &[[i8; 4]; TURN], turns: usize) -> usize {
    let (mut turn_ops, mut sums) = (0, [[[0.0; LANES]; 2]; 2]);
    level.run(RowPairsPeak {
        weights: &black_box([[1; VECTOR_BYTES], [2; VECTOR_BYTES]]),
        activations: black_box(activations),
        turns,
        sums: &mut sums,
        turn_ops: &mut turn_ops,
    });
    black_box(sums);
    turn_ops
}

/// One task on the matrix unit; returns the operations of one turn, 0 if there is no unit.
fn tiles(level: Level, turns: usize) -> usize {
    let mut turn_ops = 0;
    level.run(TilesPeak { turns, turn_ops: &mut turn_ops });
    turn_ops
}

/// Multiplies the largest matrices of the matrix unit, if there is one.
struct TilesPeak<'a> {
    turns: usize,
    turn_ops: &'a mut usize,
}

impl Kernel for TilesPeak<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        if let Some(tiles) = lanes.matrix_unit() {
            tiles.repeat(self.turns);
            *self.turn_ops = L::Unit::TURN_OPS;
        }
    }
}

/// Adds to `sums[pair][row]` the products of `weights` with eight activations, one pair of rows after the other, `turns`
/// times, if the level multiplies pairs of rows.
struct RowPairsPeak<'a> {
    weights: &'a [[u8; VECTOR_BYTES]; 2],
    activations: &'a [[i8; 4]; TURN],
    turns: usize,
    sums: &'a mut [[[f32; LANES]; 2]; 2],
    turn_ops: &'a mut usize,
}

impl Kernel for RowPairsPeak<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        if !L::ROW_PAIRS {
            return;
        }
        let [first, second] = self.weights;
        let operands = lanes.pair_operands([lanes.load_bytes(first), lanes.load_bytes(second)]);
        let mut sums = [[lanes.splat_i32(0); 2]; 2];
        for _ in 0..self.turns {
            for rows in self.activations.chunks_exact(8) {
                for (sums, rows) in sums.iter_mut().zip(rows.chunks_exact(4)) {
                    let rows: [[i8; 8]; 2] = bytemuck::cast([rows[0], rows[1], rows[2], rows[3]]);
                    *sums = lanes.dot_pair(*sums, operands, rows);
                }
            }
        }
        for (sums, out) in sums.into_iter().zip(self.sums) {
            for (sum, out) in lanes.pair_sums(sums).into_iter().zip(out) {
                lanes.store(lanes.to_f32(sum), out);
            }
        }
        // Each four activations are multiplied by four columns of 16 rows of weights.
        *self.turn_ops = 8 * LANES * TURN;
    }
}

/// Adds to `sums[v][t]` the products of `weights[v]` with every `T`-th group of four activations from the `t`-th on,
/// `turns` times.
struct Int8Peak<'a, const V: usize, const T: usize> {
    weights: &'a [[u8; VECTOR_BYTES]; V],
    activations: &'a [[i8; 4]],
    turns: usize,
    sums: &'a mut [[[f32; LANES]; T]; V],
}

// Tried: iterators over the same arrays. Their sums were kept in memory, at 600 instead of 1500 G op/s.
#[allow(clippy::needless_range_loop)]
impl<const V: usize, const T: usize> Kernel for Int8Peak<'_, V, T> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let mut weights = [lanes.load_bytes(&[0; VECTOR_BYTES]); V];
        for v in 0..V {
            weights[v] = lanes.load_bytes(&self.weights[v]);
        }
        let mut sums = [[lanes.splat_i32(0); T]; V];
        for _ in 0..self.turns {
            for some in self.activations.chunks_exact(T) {
                for t in 0..T {
                    for v in 0..V {
                        sums[v][t] = lanes.dot_u7(sums[v][t], weights[v], some[t]);
                    }
                }
            }
        }
        for v in 0..V {
            for t in 0..T {
                lanes.store(lanes.to_f32(sums[v][t]), &mut self.sums[v][t]);
            }
        }
    }
}

/// [`Int8Peak`] with two 16-bit activations at a time.
struct Int16Peak<'a, const V: usize, const T: usize> {
    weights: &'a [[u8; VECTOR_BYTES]; V],
    activations: &'a [[i16; 2]],
    turns: usize,
    sums: &'a mut [[[f32; LANES]; T]; V],
}

#[allow(clippy::needless_range_loop)] // As above.
impl<const V: usize, const T: usize> Kernel for Int16Peak<'_, V, T> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let mut weights = [lanes.load_bytes(&[0; VECTOR_BYTES]); V];
        for v in 0..V {
            weights[v] = lanes.load_bytes(&self.weights[v]);
        }
        let mut sums = [[lanes.splat_i32(0); T]; V];
        for _ in 0..self.turns {
            for some in self.activations.chunks_exact(T) {
                for t in 0..T {
                    for v in 0..V {
                        sums[v][t] = lanes.dot_i16(sums[v][t], weights[v], some[t]);
                    }
                }
            }
        }
        for v in 0..V {
            for t in 0..T {
                lanes.store(lanes.to_f32(sums[v][t]), &mut self.sums[v][t]);
            }
        }
    }
}

/// [`Int8Peak`] with one floating-point activation at a time.
struct F32Peak<'a, const V: usize, const T: usize> {
    weights: &'a [[f32; LANES]; V],
    activations: &'a [f32],
    turns: usize,
    sums: &'a mut [[[f32; LANES]; T]; V],
}

#[allow(clippy::needless_range_loop)] // As above.
impl<const V: usize, const T: usize> Kernel for F32Peak<'_, V, T> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let mut weights = [lanes.splat(0.0); V];
        for v in 0..V {
            weights[v] = lanes.load(&self.weights[v]);
        }
        let mut sums = [[lanes.splat(0.0); T]; V];
        for _ in 0..self.turns {
            for some in self.activations.chunks_exact(T) {
                for t in 0..T {
                    for v in 0..V {
                        let activation = lanes.splat(some[t]);
                        sums[v][t] = lanes.fma(weights[v], activation, sums[v][t]);
                    }
                }
            }
        }
        for v in 0..V {
            for t in 0..T {
                lanes.store(sums[v][t], &mut self.sums[v][t]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Isa;

    const SHAPE: (usize, usize) = (2, 3);

    /// The sums of `turns` turns over `activations`, by plain loops.
    fn expected(
        weights: [f64; SHAPE.0],
        activations: &[f64],
        turns: usize,
    ) -> [[f32; SHAPE.1]; SHAPE.0] {
        weights.map(|weight| {
            std::array::from_fn(|t| {
                let taken = activations.iter().skip(t).step_by(SHAPE.1);
                (turns as f64 * taken.map(|a| weight * a).sum::<f64>()) as f32
            })
        })
    }

    #[test]
    fn all_the_products_that_are_counted_are_computed() {
        let activations: [f32; 12] = std::array::from_fn(|i| i as f32 - 3.0);
        let in_f64 = activations.map(f64::from);
        let fours = activations.map(|a| [a as i8, 1, -2, 0]);
        let sums_of_four = in_f64.map(|a| a - 1.0);
        let twos = activations.map(|a| [a as i16, -1]);
        for isa in Isa::available() {
            let level = Level::choose(Some(isa)).expect("it is available");
            for turns in [0, 1, 5] {
                let mut sums = [[[f32::NAN; LANES]; SHAPE.1]; SHAPE.0];
                let weights = [[2.0; LANES], [0.5; LANES]];
                let (activations, sums_of) = (&activations, &mut sums);
                level.run(F32Peak { weights: &weights, activations, turns, sums: sums_of });
                let of_lanes = expected([2.0, 0.5], &in_f64, turns);
                assert_eq!(sums, of_lanes.map(|row| row.map(|sum| [sum; LANES])), "{isa}");

                let weights = [[3; VECTOR_BYTES], [127; VECTOR_BYTES]];
                let sums_of = &mut sums;
                level.run(Int8Peak {
                    weights: &weights,
                    activations: &fours,
                    turns,
                    sums: sums_of,
                });
                let of_lanes = expected([3.0, 127.0], &sums_of_four, turns);
                assert_eq!(sums, of_lanes.map(|row| row.map(|sum| [sum; LANES])), "{isa}");

                // Both bytes of an integer are equal: 257 times the byte.
                let sums_of = &mut sums;
                let activations = &twos;
                level.run(Int16Peak { weights: &weights, activations, turns, sums: sums_of });
                let of_lanes = expected([771.0, 32639.0], &sums_of_four, turns);
                assert_eq!(sums, of_lanes.map(|row| row.map(|sum| [sum; LANES])), "{isa}");
            }
        }
    }

    #[test]
    fn products_of_row_pairs_are_computed_on_levels_that_have_them() {
        let activations: [[i8; 4]; TURN] = std::array::from_fn(|i| [i as i8, 1, -2, 0]);
        for isa in Isa::available() {
            let (mut sums, mut turn_ops) = ([[[f32::NAN; LANES]; 2]; 2], 0);
            Level::choose(Some(isa)).expect("it is available").run(RowPairsPeak {
                weights: &[[3; VECTOR_BYTES], [127; VECTOR_BYTES]],
                activations: &activations,
                turns: 5,
                sums: &mut sums,
                turn_ops: &mut turn_ops,
            });
            if turn_ops == 0 {
                continue;
            }
            for (row, found) in sums.as_flattened().iter().enumerate() {
                let eights = (0..TURN).skip(2 * row).step_by(8);
                let sum_of = |four: usize| four as f32 - 1.0;
                let sum: f32 = eights.map(|i| 3.0 * sum_of(i) + 127.0 * sum_of(i + 1)).sum();
                assert_eq!(found, &[5.0 * sum; LANES], "{isa}, row {row}");
            }
        }
    }

    #[test]
    fn a_turn_ends_where_it_began() {
        let activations = turn([0.5, -1.25, 2.0, 0.75], |a: f32| -a);
        for every in [4, 6] {
            assert_eq!(TURN / 2 % every, 0);
            for t in 0..every {
                let sum: f32 = activations.iter().skip(t).step_by(every).sum();
                assert_eq!(sum, 0.0);
            }
        }
    }
}
