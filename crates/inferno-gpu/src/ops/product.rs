//! Products with weights.

use bytemuck::{Pod, Zeroable};
use inferno_backend::{Gate, Norm, NormKind};

use super::LANES;
use super::function::FunctionArguments;
use crate::kernel::{Variant, kernel, snippets};
use crate::memory::allocation::Binding;
use crate::memory::buffer::GpuBuffer;
use crate::memory::routing::{GpuRouting, TILE_ROWS, max_tiles};
use crate::memory::weight::{Chunk, GpuWeight, Segment};
use crate::pack::{UNIT_COLS, WeightFormat, num_units};
use crate::pass::{GpuPass, MAX_WORKGROUPS};

kernel!(
    PRODUCT,
    "product",
    [snippets::FUNCTION, snippets::PRODUCT_ROWS, snippets::WORKGROUP_SUM, snippets::UNIT],
    [Read, Read, Read, Read, Read, Read, Read, ReadWrite, Read, Read, Read, Read]
);

/// The prefixes of both parts, and the bindings of their codes; their scales follow each.
const PARTS: [(&str, u32); 2] = [("w0", 9), ("w1", 11)];

/// Threads that sum the products of a row, as in the shader.
const TEAM: usize = 32;

/// Bytes of workgroup memory, rounded up, of kernels that copy their rows to it. Few devices have less.
const STAGED_BYTES: u32 = 30_000;

/// Columns of an aligned row, see [`is_aligned`].
const ALIGNED_COLS: usize = 2 * UNIT_COLS;

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
    /// The number of the shader's kind of tiles, the rows of a tile, and the number of tiles.
    fn shape(self) -> (u32, usize, usize) {
        match self {
            Self::Rows(rows) => {
                let tile_rows = match rows {
                    0..=1 => 1,
                    2..=4 => 4,
                    _ => TILE_ROWS,
                };
                (0, tile_rows, rows.div_ceil(tile_rows))
            }
            Self::Experts(routing, _) if routing.is_sorted => {
                (2, TILE_ROWS, max_tiles(routing.slots(), routing.num_experts))
            }
            Self::Experts(routing, _) => (1, 1, routing.slots()),
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
    gate: FunctionArguments,
    padding: u32,
    parts: [Part; 2],
}

/// What decides which pipeline computes a product.
#[derive(Clone, Copy)]
struct Kind {
    tiles: u32,
    tile_rows: usize,
    is_gated: bool,
    is_normed: bool,
    is_aligned: bool,
    /// Whether teams share copies of their rows.
    is_staged: bool,
    formats: [Option<&'static WeightFormat>; 2],
}

impl Kind {
    /// Rows of weights that a team multiplies at a time. For many rows, loads of those rows take longer than the products
    /// unless several weights share them.
    fn weights(self) -> usize {
        if self.is_staged { 4 } else { 2 }
    }

    /// Outputs of a workgroup per row.
    fn group_outputs(self) -> usize {
        LANES as usize / TEAM * self.weights() / if self.is_gated { 2 } else { 1 }
    }

    fn variant(self) -> Variant {
        let flag = u32::from;
        let parts = self.formats.iter().flatten().count() as u32;
        let outputs = self.weights() / if self.is_gated { 2 } else { 1 };
        let variant = Variant::from(&PRODUCT)
            .with("LANES", LANES)
            .with("TILES", self.tiles)
            .with("ROWS", self.tile_rows as u32)
            .with("WEIGHTS", self.weights() as u32)
            .with("OUTPUTS", outputs as u32)
            .with("FUNCTIONS", if self.is_gated { 1 } else { parts })
            .with("UP", parts - 1)
            .with("IS_GATED", flag(self.is_gated))
            .with("IS_NORMED", flag(self.is_normed))
            .with("IS_ALIGNED", flag(self.is_aligned))
            .with("IS_STAGED", flag(self.is_staged));
        let formats = self.formats.into_iter().zip(PARTS);
        formats.fold(variant, |variant, (format, (prefix, binding))| match format {
            Some(format) => variant.with_format(prefix, binding, format),
            None => variant,
        })
    }
}

#[cfg(test)]
pub(crate) fn variants() -> Vec<Variant> {
    use crate::pack::FORMATS;
    let plain = Kind {
        tiles: 0,
        tile_rows: 1,
        is_gated: false,
        is_normed: false,
        is_aligned: true,
        is_staged: false,
        formats: [Some(&FORMATS[0]), None],
    };
    let of_formats = FORMATS.iter().map(|format| Kind { formats: [Some(format), None], ..plain });
    let pair = [Some(&FORMATS[1]), Some(&FORMATS[2])];
    let others = (0..1 << 5).map(|bits: u32| {
        let is_set = |bit: u32| bits >> bit & 1 == 1;
        Kind {
            tile_rows: [1, TILE_ROWS][usize::from(is_set(0))],
            is_gated: is_set(1),
            is_staged: is_set(0),
            is_normed: is_set(2) && !is_set(0),
            is_aligned: is_set(3),
            formats: if is_set(4) { pair } else { plain.formats },
            ..plain
        }
    });
    let experts = [(1, 1), (2, TILE_ROWS)].map(|(tiles, tile_rows)| Kind {
        tiles,
        tile_rows,
        is_staged: tile_rows == TILE_ROWS,
        ..plain
    });
    of_formats.chain(others).chain(experts).map(Kind::variant).collect()
}

/// Rows of this width consist of whole vectors of four and pairs of units, so that no column has to be checked.
fn is_aligned(cols: usize) -> bool {
    cols.is_multiple_of(ALIGNED_COLS)
}

/// A segment and one of its chunks.
type Piece<'w> = (&'w Segment, &'w Chunk);

/// The pieces of weights that are multiplied in one dispatch each.
fn pieces(weight: &GpuWeight, is_gated: bool) -> Vec<[Option<Piece<'_>>; 2]> {
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
    pub(crate) fn dispatch(self, pass: &mut GpuPass<'_>, weight: &GpuWeight) {
        let (tiles, tile_rows, num_tiles) = self.tiles.shape();
        let memory = pass.backend.limits.max_compute_workgroup_storage_size;
        let mut kind = Kind {
            tiles,
            tile_rows,
            is_gated: self.gate.is_some(),
            is_normed: self.norm.is_some(),
            is_staged: tile_rows == TILE_ROWS && memory >= STAGED_BYTES,
            is_aligned: is_aligned(weight.cols),
            formats: [None; 2],
        };
        let mut params = self.params(weight);
        for pieces in pieces(weight, kind.is_gated) {
            kind.formats = pieces.map(|piece| piece.map(|(segment, _)| segment.format));
            params.parts = self.parts(weight, pieces, kind.group_outputs());
            let groups = match kind.is_gated {
                true => params.parts[0].num_groups,
                false => params.parts.iter().map(|part| part.num_groups).sum(),
            };
            let bindings = bindings(&self, pass.nothing(), weight, pieces);
            for first in (0..num_tiles).step_by(MAX_WORKGROUPS) {
                params.first_tile = first as u32;
                let [x, z, _] = crate::pass::fold(groups as usize);
                let y = (num_tiles - first).min(MAX_WORKGROUPS) as u32;
                pass.dispatch(kind.variant(), bindings, &params, [x, y, z]);
            }
        }
        pass.count_weight_bytes(match self.tiles {
            Tiles::Rows(0) => 0,
            Tiles::Rows(_) => weight.bytes as u64,
            Tiles::Experts(routing, _) => {
                let experts = routing.slots().min(weight.num_experts);
                (weight.bytes / weight.num_experts.max(1) * experts) as u64
            }
        });
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
            gate: gate.into(),
            padding: 0,
            parts: [Part::default(); 2],
        }
    }

    fn parts(
        &self,
        weight: &GpuWeight,
        pieces: [Option<Piece<'_>>; 2],
        group_outputs: usize,
    ) -> [Part; 2] {
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
    nothing: Binding<'b>,
    weight: &'b GpuWeight,
    pieces: [Option<Piece<'b>>; 2],
) -> [Binding<'b>; 12] {
    let buffer = |buffer: Option<&'b GpuBuffer>| buffer.map_or(nothing, Binding::from);
    let routing = match product.tiles {
        Tiles::Rows(_) => nothing,
        Tiles::Experts(routing, _) => (&routing.memory).into(),
    };
    let [a, b] = pieces.map(|piece| match piece {
        Some((_, chunk)) => [(&chunk.codes).into(), (&chunk.side).into()],
        None => [nothing; 2],
    });
    [
        product.x,
        buffer(product.norm.map(|norm| norm.weight)),
        buffer(product.norm.and_then(|norm| norm.bias)),
        buffer(product.bias),
        weight.scales.as_ref().map_or(nothing, Binding::from),
        routing,
        weight.codebooks.as_deref().map_or(nothing, Binding::from),
        product.out,
        a[0],
        a[1],
        b[0],
        b[1],
    ]
}
