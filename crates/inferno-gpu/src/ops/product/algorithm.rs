//! How products are divided among workgroups: at a speed that depends on the device, and with the same result, except that
//! sums by matrices are rounded differently.

use crate::backend::GpuBackend;
use crate::kernel::{Variant, kernel, snippets};
use crate::memory::routing::TILE_ROWS;
use crate::pack::WeightFormat;

kernel!(
    PRODUCT,
    "product",
    [
        snippets::FUNCTION,
        snippets::PRODUCT_OUTPUTS,
        snippets::PRODUCT_ROWS,
        snippets::WORKGROUP_SUM,
        snippets::UNIT
    ],
    [Read, Read, Read, Read, Read, Read, Read, ReadWrite, Read, Read, Read, Read]
);

kernel!(
    MATRIX_PRODUCT,
    "matrix_product",
    [snippets::FUNCTION, snippets::PRODUCT_OUTPUTS, snippets::UNIT],
    [Read, Read, Read, Read, Read, Read, Read, ReadWrite, Read, Read, Read, Read],
    ["f16", "wgpu_cooperative_matrix"]
);

/// The prefixes of both parts, and the bindings of their codes; their scales follow each.
const PARTS: [(&str, u32); 2] = [("w0", 9), ("w1", 11)];

/// Rows up to which teams compute products on devices with cooperative matrices, too: one of the bounds of `tuning.rs`.
pub(crate) const MAX_TEAM_ROWS: usize = 16;

/// Threads that sum the products of a row, as in `product.wgsl`.
const TEAM: u32 = 32;

/// Bytes of a vector of four halves.
const HALF_QUAD_BYTES: u32 = 8;

/// The rows of `x` that are multiplied with the same weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum TileKind {
    /// Neighboring ones, of this many.
    Rows(usize),
    /// One slot.
    Slot,
    /// Slots of the same expert, [`TILE_ROWS`] at most.
    Experts,
}

/// What is multiplied: decides, with the [`Algorithm`], which pipeline computes a product.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) tiles: TileKind,
    pub(crate) is_gated: bool,
    pub(crate) is_normed: bool,
    pub(crate) is_aligned: bool,
    pub(crate) formats: [Option<&'static WeightFormat>; 2],
}

/// Division of a product among workgroups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Algorithm {
    Teams(Teams),
    Matrices(MatrixTile),
}

/// Teams of threads that sum products of integers or in f32, see `product.wgsl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Teams {
    pub(crate) lanes: u32,
    /// Rows of x.
    pub(crate) rows: u32,
    /// Rows of weights that a team multiplies at a time.
    pub(crate) weights: u32,
    /// Units of each row that a thread loads before it multiplies them.
    pub(crate) depth: u32,
}

/// Cooperative matrices, see `matrix_product.wgsl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct MatrixTile {
    /// Rows and columns of a matrix.
    pub(crate) size: u32,
    pub(crate) lanes: u32,
    /// Shares of the columns that are multiplied at the same time.
    pub(crate) split: u32,
    /// Subgroups per share: along the weights, and along the rows of x.
    pub(crate) subgroups: [u32; 2],
    /// Matrices of a subgroup: pairs of weights, and of rows of x.
    pub(crate) pairs: u32,
    pub(crate) columns: u32,
}

/// The cooperative matrices that a device offers for products: of f16 with sums in f32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Matrices {
    /// Rows and columns.
    pub(crate) size: u32,
    /// Threads of the largest subgroup.
    pub(crate) subgroup: u32,
}

impl Teams {
    /// Divisions that were good on some device, the default first.
    pub(crate) fn candidates(kind: &Kind) -> Vec<Algorithm> {
        let rows = match kind.tiles {
            TileKind::Rows(0..=1) | TileKind::Slot => 1,
            TileKind::Rows(2..=4) => 4,
            _ => TILE_ROWS as u32,
        };
        // Few weights per team: more workgroups, for weights with few rows. Many: each value of x is loaded once for all of
        // them. Many weights or a large depth: more loads are in flight.
        let divisions: &[(u32, u32, u32)] = match rows {
            1 => &[(256, 2, 1), (256, 2, 4), (256, 2, 8), (256, 4, 2), (256, 4, 4), (256, 8, 1)],
            4 => &[(256, 2, 1), (256, 4, 1), (256, 2, 2), (256, 1, 2)],
            _ => &[(128, 4, 1), (256, 4, 1), (256, 8, 1), (256, 2, 1)],
        };
        // The statistics of a norm are sums of 256 threads.
        let small: &[(u32, u32, u32)] = match (rows, kind.is_normed) {
            (1, false) => &[(64, 2, 4), (128, 2, 4), (64, 1, 4)],
            (4, false) => &[(64, 2, 1)],
            _ => &[],
        };
        // Units in floating point take up to 16 registers.
        let are_floats = kind.formats.iter().flatten().any(|format| format.is_float());
        let divisions = divisions.iter().chain(small).filter(|&&(_, weights, depth)| {
            // A gate and its up projection have the same team.
            let is_whole = !kind.is_gated || weights % 2 == 0;
            is_whole && (!are_floats || weights * depth <= 8)
        });
        let teams = |&(lanes, weights, depth)| Teams { lanes, rows, weights, depth };
        divisions.map(teams).map(Algorithm::Teams).collect()
    }

    /// Units of rows that the teams of a workgroup share at a time.
    fn chunk(self) -> u32 {
        const UNITS: u32 = 256;
        UNITS / self.rows
    }

    fn workgroup_bytes(self) -> u32 {
        // Two bytes per value, a scale and a sum.
        const UNIT_BYTES: u32 = 16 * 2 + 8;
        let rows = if self.rows == 1 { self.weights } else { self.rows };
        let sums = 4 * (self.lanes / TEAM) * rows * (TEAM + 2);
        let staged = self.rows * (self.chunk() * UNIT_BYTES + 12);
        // And the partial sums of statistics.
        sums + staged + 4 * self.lanes + 64
    }
}

impl Matrices {
    /// Whether a device with `limits` can run a division for every product.
    pub(crate) fn fit(self, limits: &wgpu::Limits) -> bool {
        let sizes = [MAX_TEAM_ROWS + 1, 64, 65];
        (4..=64).contains(&self.subgroup)
            && self.subgroup.is_power_of_two()
            && sizes.iter().all(|&rows| self.candidates(rows).iter().any(|it| it.fits(limits)))
    }

    /// Divisions of a product of `rows` rows, the default first.
    pub(crate) fn candidates(self, rows: usize) -> Vec<Algorithm> {
        // Few rows: subgroups that share the columns, instead of more tiles.
        let tiles = match rows.div_ceil(self.size as usize) {
            0..=2 => [(4, [1, 2], 1, 1), (4, [1, 1], 1, 2), (2, [2, 2], 1, 1), (1, [2, 2], 1, 1)],
            3..=4 => [(4, [1, 2], 1, 2), (4, [1, 1], 1, 4), (2, [2, 2], 1, 2), (1, [2, 2], 2, 2)],
            _ => [(1, [2, 2], 2, 4), (1, [2, 4], 2, 2), (1, [2, 2], 2, 2), (1, [2, 2], 1, 2)],
        };
        let smallest = [(1, [2, 2], 1, 1), (1, [2, 2], 2, 1)];
        let tiles = tiles.into_iter().chain(smallest).map(|tile| self.tile(tile));
        tiles.filter(|tile| tile.has_whole_loads()).map(Algorithm::Matrices).collect()
    }

    /// A tile with shares of the columns, subgroups, and matrices of each.
    fn tile(self, (split, subgroups, pairs, columns): (u32, [u32; 2], u32, u32)) -> MatrixTile {
        let lanes = split * subgroups[0] * subgroups[1] * self.subgroup;
        MatrixTile { size: self.size, lanes, split, subgroups, pairs, columns }
    }
}

impl MatrixTile {
    /// Rows of weights.
    fn weights(self) -> u32 {
        self.subgroups[0] * self.pairs * 2 * self.size
    }

    fn rows(self) -> u32 {
        self.subgroups[1] * self.columns * self.size
    }

    /// Vectors of rows of x, and units of weights, that the threads load per step.
    fn loads(self) -> [u32; 2] {
        const STEP_QUADS: u32 = 8;
        const STEP_UNITS: u32 = 2;
        [self.rows() * STEP_QUADS, self.weights() * STEP_UNITS].map(|loads| self.split * loads)
    }

    /// Whether each thread has the same number of loads.
    fn has_whole_loads(self) -> bool {
        self.loads().into_iter().all(|loads| loads.is_multiple_of(self.lanes))
    }

    fn workgroup_bytes(self) -> u32 {
        const STRIDE: u32 = 10;
        let inputs = self.split * (self.weights() + self.rows()) * STRIDE;
        let matrices = 2 * self.split * self.subgroups[0] * self.subgroups[1];
        inputs * HALF_QUAD_BYTES + 4 * matrices * self.size * self.size
    }
}

impl Algorithm {
    /// The divisions of products of `kind` that a device can run, the default first.
    pub(crate) fn candidates(backend: &GpuBackend, kind: &Kind) -> Vec<Self> {
        let candidates = match (backend.matrices, kind.tiles) {
            (Some(matrices), TileKind::Rows(rows)) if rows > MAX_TEAM_ROWS => {
                matrices.candidates(rows)
            }
            _ => Teams::candidates(kind),
        };
        candidates.into_iter().filter(|it| it.fits(&backend.limits)).collect()
    }

    /// Whether a device with `limits` can run it.
    pub(crate) fn fits(self, limits: &wgpu::Limits) -> bool {
        let (bytes, lanes) = match self {
            Self::Teams(teams) => (teams.workgroup_bytes(), teams.lanes),
            Self::Matrices(tile) => (tile.workgroup_bytes(), tile.lanes),
        };
        let max_lanes =
            limits.max_compute_invocations_per_workgroup.min(limits.max_compute_workgroup_size_x);
        bytes <= limits.max_compute_workgroup_storage_size && lanes <= max_lanes
    }

    /// Rows of x that are multiplied by a workgroup.
    pub(crate) fn rows(self, tiles: TileKind) -> usize {
        match (tiles, self) {
            (TileKind::Slot, _) => 1,
            (TileKind::Experts, _) => TILE_ROWS,
            (TileKind::Rows(_), Self::Teams(teams)) => teams.rows as usize,
            (TileKind::Rows(_), Self::Matrices(tile)) => tile.rows() as usize,
        }
    }

    /// Outputs of a workgroup per row.
    pub(crate) fn group_outputs(self, is_gated: bool) -> usize {
        let rows = match self {
            Self::Teams(teams) => teams.lanes / TEAM * teams.weights,
            Self::Matrices(tile) => tile.weights(),
        };
        rows as usize / if is_gated { 2 } else { 1 }
    }

    /// Whether rows of x are converted to f16 before the product.
    pub(crate) fn reads_halves(self) -> bool {
        matches!(self, Self::Matrices(_))
    }

    /// The pipeline for products of `kind`.
    pub(crate) fn variant(self, kind: &Kind) -> Variant {
        let flag = u32::from;
        let parts = kind.formats.iter().flatten().count() as u32;
        let is_gated = kind.is_gated;
        let tiles = match kind.tiles {
            TileKind::Rows(_) => 0,
            TileKind::Slot => 1,
            TileKind::Experts => 2,
        };
        let variant = match self {
            Self::Teams(teams) => teams.variant(kind),
            Self::Matrices(tile) => tile.variant(),
        };
        let variant = variant
            .with("TILES", tiles)
            .with("FUNCTIONS", if is_gated { 1 } else { parts })
            .with("UP", parts - 1)
            .with("IS_GATED", flag(is_gated));
        let formats = kind.formats.into_iter().zip(PARTS);
        formats.fold(variant, |variant, (format, (prefix, binding))| match format {
            Some(format) => variant.with_format(prefix, binding, format),
            None => variant,
        })
    }
}

impl Teams {
    fn variant(self, kind: &Kind) -> Variant {
        debug_assert!(self.chunk().is_multiple_of(self.depth * TEAM), "chunks of whole turns");
        let outputs = self.weights / if kind.is_gated { 2 } else { 1 };
        let are_floats = kind.formats.map(|format| format.map(WeightFormat::is_float));
        let [first, second] = are_floats.map(|is_float| is_float == Some(true));
        Variant::from(&PRODUCT)
            .with("LANES", self.lanes)
            .with("ROWS", self.rows)
            .with("WEIGHTS", self.weights)
            .with("OUTPUTS", outputs)
            .with("DEPTH", self.depth)
            .with("IS_NORMED", kind.is_normed.into())
            .with("IS_ALIGNED", kind.is_aligned.into())
            .with("CHUNK", self.chunk())
            .with("IS_FLOAT_0", first.into())
            .with("IS_FLOAT_1", second.into())
            .with("HAS_FLOATS", (first || second).into())
            .with("HAS_INTEGERS", are_floats.contains(&Some(false)).into())
    }
}

impl MatrixTile {
    fn variant(self) -> Variant {
        const STEP_COLS: u32 = 32;
        let [input_loads, weight_loads] = self.loads().map(|loads| loads / self.lanes);
        Variant::from(&MATRIX_PRODUCT)
            .with("LANES", self.lanes)
            .with("M", self.size)
            .with("SPLIT", self.split)
            .with("SG_OUT", self.subgroups[0])
            .with("SG_ROWS", self.subgroups[1])
            .with("PAIRS", self.pairs)
            .with("NT", self.columns)
            .with("INPUT_LOADS", input_loads)
            .with("WEIGHT_LOADS", weight_loads)
            .with("K_STEPS", STEP_COLS / self.size)
    }
}

#[cfg(test)]
pub(crate) fn variants() -> Vec<Variant> {
    use inferno_tensor::DType;

    use crate::pack::FORMATS;

    let plain = Kind {
        tiles: TileKind::Rows(1),
        is_gated: false,
        is_normed: false,
        is_aligned: true,
        formats: [Some(&FORMATS[0]), None],
    };
    let pair = [DType::Q8_0, DType::Q4K].map(|dtype| Some(WeightFormat::of(dtype)));
    let matrices = [(16, 32), (16, 64), (8, 8)].map(|(size, subgroup)| Matrices { size, subgroup });
    let mut variants = Vec::new();
    let mut add = |kind: Kind, count: usize| {
        let teams = Teams::candidates(&kind);
        variants.extend(teams.into_iter().take(count).map(|it| it.variant(&kind)));
        if let TileKind::Rows(rows) = kind.tiles {
            for matrices in matrices.iter().filter(|_| rows > MAX_TEAM_ROWS) {
                let tiles = matrices.candidates(rows).into_iter().take(count);
                variants.extend(tiles.map(|it| it.variant(&kind)));
            }
        }
    };
    let rows = [1, 4, 9, 20, 40, 100].map(TileKind::Rows);
    for tiles in rows.into_iter().chain([TileKind::Slot, TileKind::Experts]) {
        for bits in 0..16_u32 {
            let is_set = |bit: u32| bits >> bit & 1 == 1;
            let kind = Kind {
                tiles,
                is_gated: is_set(0),
                is_normed: is_set(1) && matches!(tiles, TileKind::Rows(0..=4)),
                is_aligned: is_set(2),
                formats: if is_set(3) { pair } else { plain.formats },
            };
            // All divisions of some kinds, the default for others.
            add(kind, if is_set(1) || is_set(2) { 1 } else { usize::MAX });
        }
    }
    FORMATS.iter().for_each(|format| add(Kind { formats: [Some(format), None], ..plain }, 1));
    let mut seen = std::collections::HashSet::new();
    variants.retain(|variant| seen.insert(*variant));
    variants
}

#[cfg(test)]
mod tests {
    use inferno_tensor::DType;

    use super::*;
    use crate::limits::tests::least;

    #[test]
    fn every_device_that_can_be_opened_has_a_division_of_each_product() {
        let rows = [1, 2, 4, 5, 8, 64, 4096].map(TileKind::Rows);
        for tiles in rows.into_iter().chain([TileKind::Slot, TileKind::Experts]) {
            for bits in 0..4 {
                let kind = Kind {
                    tiles,
                    is_normed: bits & 1 == 1,
                    is_gated: bits & 2 == 2,
                    is_aligned: true,
                    formats: [Some(WeightFormat::of(DType::Q8_0)), None],
                };
                let teams = Teams::candidates(&kind);
                assert!(teams.iter().any(|it| it.fits(&least())), "{tiles:?} {bits}");
            }
        }
    }
}
