//! Prefetches of weights that are read from memory once.

use crate::isa::Level;
use crate::lanes::Lanes;

/// How packed weights are prefetched.
///
/// The best distance differs between processors. On a Xeon with AMX, with a whole page ahead, all of the 16 buffers for
/// misses of the first-level cache are full, in which a line waits for as long as a read of memory takes, and the
/// processor's own prefetches into the second-level cache, which need no buffer, do not take place. One row by 1024 by
/// 3072 columns, weights in memory, GB/s of two cores:
///
/// | | Q8_0 | Q4_0 | Q4_K | Q6_K |
/// |---|---:|---:|---:|---:|
/// | 4 KiB ahead, all levels | 28 | 19 | 20 | 18 |
/// | 2 KiB ahead, all levels | 31 | 22 | 26 | 26 |
/// | 3 KiB ahead, second level | 32 | 26 | 27 | 26 |
/// | none | 29 | 19 | 19 | 20 |
///
/// There, 8 rows take 10% less time with 2 KiB ahead than with any distance into the second level. On two cores of Zen 5,
/// 4 KiB ahead were better than 1 and 2, and without prefetches, some formats reached a third of the bandwidth.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prefetch {
    /// How many bytes ahead.
    distance: usize,
    /// Whether only into the second-level cache.
    far: bool,
}

impl Prefetch {
    /// The best one for products of `num_rows` rows.
    pub(crate) fn of(level: Level, num_rows: usize) -> Self {
        match (level.has_matrix_unit(), num_rows) {
            (true, 1) => Self { distance: 3072, far: true },
            (true, _) => Self { distance: 2048, far: false },
            (false, _) => Self { distance: 4096, far: false },
        }
    }

    /// Prefetches what follows a line.
    #[inline(always)]
    pub(crate) fn ahead_of<L: Lanes>(self, lanes: L, line: &[u8]) {
        if self.far {
            lanes.prefetch_far(line, self.distance);
        } else {
            lanes.prefetch(line, self.distance);
        }
    }
}
