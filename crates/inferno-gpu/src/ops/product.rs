//! Products with weights.

pub(crate) mod algorithm;
pub(crate) mod halves;
#[cfg(test)]
mod tests;

use bytemuck::{Pod, Zeroable};
use inferno_backend::{BackendError, Gate, Norm, NormKind};

use super::function::FunctionArguments;
use super::norm;
use crate::memory::allocation::Binding;
use crate::memory::buffer::GpuBuffer;
use crate::memory::routing::{GpuRouting, max_tiles};
use crate::memory::weight::{Chunk, GpuWeight, Segment};
use crate::pack::{UNIT_COLS, WeightFormat, num_units};
use crate::pass::{GpuPass, MAX_WORKGROUPS};
use crate::timing::StepWork;
use crate::tuning::{self, ProductClass};
use algorithm::{Algorithm, Kind, TileKind};

/// Columns of an aligned row, see [`is_aligned`].
const ALIGNED_COLS: usize = 2 * UNIT_COLS;

/// Rows up to which each workgroup of a product computes the statistics of a norm itself. For more, a dispatch of its own
/// that stores the normalized rows is faster.
const MAX_FUSED_NORM_ROWS: usize = 4;

/// A product, except for its weight.
#[derive(Clone, Copy)]
pub(crate) struct Product<'a> {
    pub(crate) x: Binding<'a>,
    pub(crate) norm: Option<Norm<'a, GpuBuffer>>,
    pub(crate) bias: Option<&'a GpuBuffer>,
    pub(crate) gate: Option<Gate>,
    /// Whether the product is added to `out`.
    pub(crate) is_sum: bool,
    pub(crate) tiles: Tiles<'a>,
    pub(crate) out: Binding<'a>,
}

/// The rows that are multiplied with the same weights.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tiles<'a> {
    /// Neighboring ones of this many.
    Rows(usize),
    /// Those with the same expert; the number of slots per row of the input.
    Experts(&'a GpuRouting, usize),
}

impl Tiles<'_> {
    fn kind(self) -> TileKind {
        match self {
            Self::Rows(rows) => TileKind::Rows(rows),
            Self::Experts(routing, _) if routing.is_sorted => TileKind::Experts,
            Self::Experts(..) => TileKind::Slot,
        }
    }

    /// The number of tiles of `tile_rows` rows.
    fn count(self, tile_rows: usize) -> usize {
        match self {
            Self::Rows(rows) => rows.div_ceil(tile_rows),
            Self::Experts(routing, _) if routing.is_sorted => {
                max_tiles(routing.slots(), routing.num_experts)
            }
            Self::Experts(routing, _) => routing.slots(),
        }
    }

    /// The number of rows of `x`.
    fn input_rows(self) -> usize {
        match self {
            Self::Rows(rows) => rows,
            Self::Experts(routing, slots_per_row) => routing.slots().div_ceil(slots_per_row),
        }
    }
}

#[repr(C)]
#[derive(Clone, Copy, Default, Pod, Zeroable)]
struct Part {
    num_groups: u32,
    num_rows: u32,
    offset: u32,
    limit: u32,
    first_row: u32,
    last_row: u32,
    column: u32,
    up: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Params {
    rows: u32,
    cols: u32,
    units: u32,
    out_len: u32,
    weight_rows: u32,
    first_tile: u32,
    slots_per_row: u32,
    num_slots: u32,
    is_layer_norm: u32,
    has_norm_bias: u32,
    has_scales: u32,
    has_bias: u32,
    is_sum: u32,
    eps: f32,
    inverse_cols: f32,
    gate: FunctionArguments,
    are_tiles_neighbors: u32,
    /// The parts begin at a multiple of 16 bytes.
    padding: [u32; 3],
    parts: [Part; 2],
}

/// Rows of this width consist of whole vectors of four and pairs of units, so that no column has to be checked.
pub(crate) fn is_aligned(cols: usize) -> bool {
    cols.is_multiple_of(ALIGNED_COLS)
}

/// A segment and one of its chunks.
type Piece<'w> = (&'w Segment, &'w Chunk);

/// One piece or two, which a dispatch multiplies.
type Pieces<'w> = [Option<Piece<'w>>; 2];

/// The formats of pieces.
fn formats(pieces: &Pieces<'_>) -> [Option<&'static WeightFormat>; 2] {
    pieces.map(|piece| piece.map(|(segment, _)| segment.format))
}

/// The pieces of weights that are multiplied in one dispatch each.
fn pieces(weight: &GpuWeight, is_gated: bool) -> Vec<Pieces<'_>> {
    if let ([gate, up], true) = (&weight.segments[..], is_gated) {
        assert_eq!(gate.rows, up.rows, "a gate and an up projection");
        let chunks = gate.chunks.iter().zip(&up.chunks);
        return chunks.map(|(a, b)| [Some((gate, a)), Some((up, b))]).collect();
    }
    assert!(!is_gated || weight.segments.len() == 1, "a gate and an up projection");
    let segments = weight.segments.iter();
    let all: Vec<_> = segments
        .flat_map(|segment| segment.chunks.iter().map(move |chunk| (segment, chunk)))
        .collect();
    all.chunks(2).map(|pair| [pair.first().copied(), pair.get(1).copied()]).collect()
}

impl Product<'_> {
    /// Records the product with `weight`.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    pub(crate) fn dispatch(
        self,
        pass: &mut GpuPass<'_>,
        weight: &GpuWeight,
    ) -> Result<(), BackendError> {
        let pieces = pieces(weight, self.gate.is_some());
        let Some(first) = pieces.first().filter(|_| self.tiles.input_rows() > 0) else {
            return Ok(());
        };
        let kind = Kind {
            tiles: self.tiles.kind(),
            is_gated: self.gate.is_some(),
            is_normed: self.norm.is_some() && self.tiles.input_rows() <= MAX_FUSED_NORM_ROWS,
            is_aligned: is_aligned(weight.cols),
            formats: formats(first),
        };
        pass.reserve(self.multiplications(weight))?;
        let algorithm = self.algorithm(pass, weight, &pieces, kind)?;
        self.dispatch_as(pass, weight, &pieces, kind, algorithm)
    }

    /// The division of the product among workgroups. It is measured when it is first needed, if divisions are.
    fn algorithm(
        &self,
        pass: &mut GpuPass<'_>,
        weight: &GpuWeight,
        pieces: &[Pieces<'_>],
        kind: Kind,
    ) -> Result<Algorithm, BackendError> {
        let class = ProductClass::new(&kind, weight.rows, weight.cols);
        if let Some(algorithm) = pass.tuning().get(&class) {
            return Ok(algorithm);
        }
        let candidates = Algorithm::candidates(pass.backend, &kind);
        let default = *candidates.first().expect("a division that every device can run");
        let stored = pass.tuning().stored(&class, &candidates);
        // The experts of a routing are not known before it is computed.
        let is_measured = pass.tuning().is_enabled && matches!(self.tiles, Tiles::Rows(_));
        let out_cols = if self.gate.is_some() { weight.rows / 2 } else { weight.rows };
        let out_bytes = self.tiles.input_rows() * out_cols * size_of::<f32>();
        let allocate = || pass.backend.allocate(out_bytes, "measurement").ok();
        let Some(out) = (is_measured && stored.is_none()).then(allocate).flatten() else {
            let algorithm = stored.unwrap_or(default);
            pass.tuning().set(class, algorithm);
            return Ok(algorithm);
        };
        let trial = Product { out: (&out).into(), ..*self };
        let mut fastest = (f64::INFINITY, default);
        for candidate in candidates {
            let record =
                |pass: &mut GpuPass<'_>| trial.dispatch_as(pass, weight, pieces, kind, candidate);
            let seconds = match tuning::seconds(pass, record) {
                // A kernel that the default may not need.
                Err(BackendError::Kernel { .. }) => continue,
                seconds => seconds?,
            };
            if seconds < fastest.0 {
                fastest = (seconds, candidate);
            }
        }
        pass.tuning().set_measured(class, fastest.1);
        Ok(fastest.1)
    }

    /// Records the product with a division of the caller's choice.
    fn dispatch_as(
        &self,
        pass: &mut GpuPass<'_>,
        weight: &GpuWeight,
        pieces: &[Pieces<'_>],
        mut kind: Kind,
        algorithm: Algorithm,
    ) -> Result<(), BackendError> {
        let (rows, cols, placeholder) = (self.tiles.input_rows(), weight.cols, pass.placeholder());
        if algorithm.reads_halves() {
            let [halves, factors] = halves::convert(pass, rows, cols, self.x, self.norm)?;
            kind = Kind { is_normed: false, is_aligned: true, ..kind };
            let inputs = [(&*halves).into(), (&*factors).into(), placeholder];
            self.run(pass, (weight, pieces), kind, algorithm, inputs);
            return Ok(());
        }
        match self.norm {
            Some(norm) if !kind.is_normed => {
                let normed = pass.scratch("normalized rows", 0, rows * cols * size_of::<f32>())?;
                norm::dispatch(pass, (rows, cols), self.x, norm, (&*normed).into());
                let inputs = [(&*normed).into(), placeholder, placeholder];
                self.run(pass, (weight, pieces), kind, algorithm, inputs);
            }
            norm => {
                let weights = [norm.map(|norm| norm.weight), norm.and_then(|norm| norm.bias)];
                let [norm_weight, norm_bias] = weights.map(|buffer| pass.optional(buffer));
                let inputs = [self.x, norm_weight, norm_bias];
                self.run(pass, (weight, pieces), kind, algorithm, inputs);
            }
        }
        Ok(())
    }

    /// Records the dispatches of all pieces. `inputs` are bindings 1 to 3: the rows of `x`, in the form that the algorithm
    /// reads.
    fn run(
        &self,
        pass: &mut GpuPass<'_>,
        (weight, pieces): (&GpuWeight, &[Pieces<'_>]),
        mut kind: Kind,
        algorithm: Algorithm,
        inputs: [Binding<'_>; 3],
    ) {
        let num_tiles = self.tiles.count(algorithm.rows(kind.tiles));
        let mut params = self.params(weight);
        for pieces in pieces {
            kind.formats = formats(pieces);
            params.parts = self.parts(weight, *pieces, algorithm.group_outputs(kind.is_gated));
            let groups = match kind.is_gated {
                true => params.parts[0].num_groups,
                false => params.parts.iter().map(|part| part.num_groups).sum(),
            };
            let bindings = bindings(self, inputs, pass.placeholder(), weight, *pieces);
            for first in (0..num_tiles).step_by(MAX_WORKGROUPS) {
                params.first_tile = first as u32;
                let [x, z, _] = crate::pass::fold(groups as usize);
                let y = (num_tiles - first).min(MAX_WORKGROUPS) as u32;
                let workgroups = match params.are_tiles_neighbors {
                    0 => [x, y, z],
                    _ => [y, x, z],
                };
                pass.dispatch(algorithm.variant(&kind), bindings, &params, workgroups);
                pass.name_last(|| self.name(weight, kind));
            }
        }
        pass.count_work(StepWork {
            weight_bytes: self.weight_bytes(weight),
            multiplications: self.multiplications(weight),
        });
    }

    /// Whether workgroups with the same weights and different rows of `x` are neighbors, which devices run at about the
    /// same time: then the weights are read from memory once, and `x` once per group of weights. The smaller operand is the
    /// one to read again, from a cache.
    fn are_tiles_neighbors(&self, weight: &GpuWeight) -> bool {
        match self.tiles {
            Tiles::Rows(rows) => weight.bytes > rows * weight.cols * size_of::<f32>(),
            Tiles::Experts(..) => false,
        }
    }

    /// The name in profiles.
    fn name(&self, weight: &GpuWeight, kind: Kind) -> String {
        let formats = kind.formats.iter().flatten().map(|format| format.dtype.to_string());
        let formats = formats.collect::<Vec<_>>().join(" and ");
        let rows = self.tiles.input_rows();
        let norm = if kind.is_normed { " after the norm" } else { "" };
        format!("{}{norm} ({}x{} {formats}, rows: {rows})", weight.name, weight.rows, weight.cols)
    }

    fn multiplications(&self, weight: &GpuWeight) -> f64 {
        let rows = match self.tiles {
            Tiles::Rows(rows) => rows,
            Tiles::Experts(routing, _) => routing.slots(),
        };
        rows as f64 * weight.rows as f64 * weight.cols as f64
    }

    /// Bytes of weights that the product reads.
    fn weight_bytes(&self, weight: &GpuWeight) -> u64 {
        match self.tiles {
            Tiles::Rows(0) => 0,
            Tiles::Rows(_) => weight.bytes as u64,
            Tiles::Experts(routing, _) => {
                let experts = routing.slots().min(weight.num_experts);
                (weight.bytes / weight.num_experts.max(1) * experts) as u64
            }
        }
    }

    fn params(&self, weight: &GpuWeight) -> Params {
        let (rows, slots_per_row, num_slots) = match self.tiles {
            Tiles::Rows(rows) => (rows, 1, 0),
            Tiles::Experts(routing, slots_per_row) => {
                (routing.slots(), slots_per_row, routing.num_slots)
            }
        };
        let outputs = if self.gate.is_some() { weight.rows / 2 } else { weight.rows };
        let gate = self.gate.unwrap_or(Gate::Product(inferno_backend::Function::Silu));
        let norm = self.norm;
        Params {
            rows: rows as u32,
            cols: weight.cols as u32,
            units: num_units(weight.cols) as u32,
            out_len: outputs as u32,
            weight_rows: weight.rows as u32,
            first_tile: 0,
            slots_per_row: slots_per_row as u32,
            num_slots: num_slots as u32,
            is_layer_norm: norm.is_some_and(|norm| norm.kind == NormKind::Layer).into(),
            has_norm_bias: norm.is_some_and(|norm| norm.bias.is_some()).into(),
            has_scales: weight.scales.is_some().into(),
            has_bias: self.bias.is_some().into(),
            is_sum: self.is_sum.into(),
            eps: norm.map_or(0.0, |norm| norm.eps),
            inverse_cols: 1.0 / weight.cols as f32,
            gate: gate.into(),
            are_tiles_neighbors: self.are_tiles_neighbors(weight).into(),
            padding: [0; 3],
            parts: [Part::default(); 2],
        }
    }

    fn parts(&self, weight: &GpuWeight, pieces: Pieces<'_>, group_outputs: usize) -> [Part; 2] {
        let is_gated = self.gate.is_some();
        // Both halves of a gated product are in the first part, or one in each.
        let up = if pieces[1].is_none() { weight.rows / 2 } else { 0 };
        pieces.map(|piece| {
            let Some((segment, chunk)) = piece else { return Part::default() };
            let limit = if is_gated { weight.rows / 2 } else { segment.rows };
            // The rows of several experts are not neighbors; those of others are skipped.
            let is_single = weight.num_experts == 1;
            let offset = if is_single { chunk.rows.start.min(limit) } else { 0 };
            let limit = if is_single { chunk.rows.end.min(limit) } else { limit };
            Part {
                num_groups: (limit - offset).div_ceil(group_outputs) as u32,
                num_rows: segment.rows as u32,
                offset: offset as u32,
                limit: limit as u32,
                first_row: chunk.rows.start as u32,
                last_row: chunk.rows.end as u32,
                column: if is_gated { 0 } else { segment.first as u32 },
                up: up as u32,
            }
        })
    }
}

/// The buffers of a dispatch, in the order of the shader.
fn bindings<'b>(
    product: &Product<'b>,
    [x, norm_weight, norm_bias]: [Binding<'b>; 3],
    placeholder: Binding<'b>,
    weight: &'b GpuWeight,
    pieces: Pieces<'b>,
) -> [Binding<'b>; 12] {
    let buffer = |buffer: Option<&'b GpuBuffer>| buffer.map_or(placeholder, Binding::from);
    let routing = match product.tiles {
        Tiles::Rows(_) => placeholder,
        Tiles::Experts(routing, _) => (&routing.memory).into(),
    };
    let [a, b] = pieces.map(|piece| match piece {
        Some((_, chunk)) => [(&chunk.codes).into(), (&chunk.side).into()],
        None => [placeholder; 2],
    });
    [
        x,
        norm_weight,
        norm_bias,
        buffer(product.bias),
        weight.scales.as_ref().map_or(placeholder, Binding::from),
        routing,
        weight.codebooks.as_deref().map_or(placeholder, Binding::from),
        product.out,
        a[0],
        a[1],
        b[0],
        b[1],
    ]
}
