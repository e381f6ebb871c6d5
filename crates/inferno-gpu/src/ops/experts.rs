//! Mixture of experts.

use bytemuck::{Pod, Zeroable};
use inferno_backend::{
    BackendError, ExpertInput, ExpertParams, Gate, Gating, MIN_PROBABILITY_SUM,
    SPARSE_MIXER_TOLERANCE,
};

use super::LANES;
use super::linear::check_output;
use super::product::{Product, Tiles};
use crate::kernel::{Variant, kernel, snippets};
use crate::memory::buffer::GpuBuffer;
use crate::memory::routing::{GpuRouting, TILE_ROWS, max_tiles};
use crate::memory::weight::GpuWeight;
use crate::pass::{GpuPass, fold};

kernel!(
    ROUTE_EXPERTS,
    "route_experts",
    [snippets::FLAT_INDEX, snippets::FUNCTION, snippets::WORKGROUP_SUM, snippets::ORDER],
    [Read, Read, ReadWrite]
);
kernel!(ROUTE_TO_ALL, "route_to_all", [snippets::FLAT_INDEX], [ReadWrite]);
kernel!(SORT_SLOTS, "sort_slots", [], [ReadWrite]);
kernel!(
    WEIGH_EXPERT_INPUTS,
    "weigh_expert_inputs",
    [snippets::FLAT_INDEX],
    [Read, ReadWrite, ReadWrite]
);
kernel!(COMBINE_EXPERTS, "combine_experts", [snippets::FLAT_INDEX], [Read, Read, ReadWrite]);

/// Threads of a workgroup that selects experts.
const ROUTING_LANES: u32 = 64;

#[cfg(test)]
pub(crate) fn variants() -> Vec<Variant> {
    use crate::memory::routing::MAX_EXPERTS;
    vec![
        with_experts(&ROUTE_EXPERTS, 8, ROUTING_LANES),
        with_experts(&ROUTE_EXPERTS, MAX_EXPERTS, ROUTING_LANES),
        Variant::with_lanes(&ROUTE_TO_ALL),
        sort_variant(MAX_EXPERTS),
        Variant::with_lanes(&WEIGH_EXPERT_INPUTS),
        Variant::with_lanes(&COMBINE_EXPERTS),
    ]
}

/// A kernel with workgroup memory for `num_experts` experts.
fn with_experts(kernel: &'static crate::kernel::Kernel, num_experts: usize, lanes: u32) -> Variant {
    Variant::from(kernel).with("LANES", lanes).with("EXPERTS", num_experts.max(1) as u32)
}

fn sort_variant(num_experts: usize) -> Variant {
    with_experts(&SORT_SLOTS, num_experts, LANES).with("TILE_ROWS", TILE_ROWS as u32)
}

/// See [`Pass::route_experts`](inferno_backend::Pass::route_experts).
pub(crate) fn route_experts(
    pass: &mut GpuPass<'_>,
    rows: usize,
    router_logits: &GpuBuffer,
    selection_bias: Option<&GpuBuffer>,
    params: &ExpertParams,
    routing: &mut GpuRouting,
) {
    #[repr(C)]
    #[derive(Clone, Copy, Pod, Zeroable)]
    struct Params {
        rows: u32,
        num_experts: u32,
        num_used: u32,
        num_slots: u32,
        gating: u32,
        is_normalized: u32,
        scale: f32,
        has_bias: u32,
        num_groups: u32,
        num_groups_used: u32,
        num_scored: u32,
        min_sum: f32,
        tolerance: f32,
    }
    let &ExpertParams { num_experts, num_experts_used, normalize, gating, scale, groups } = params;
    assert_eq!(router_logits.cols(), num_experts, "a logit for each expert");
    assert_eq!(routing.num_used, num_experts_used, "a routing for as many used experts");
    assert_eq!(routing.num_experts, num_experts, "a routing for as many experts");
    assert!(num_experts_used <= num_experts, "no expert is used twice");
    routing.set_rows(rows);
    let group = groups.map_or([0; 3], |groups| {
        [groups.num_groups, groups.num_groups_used, groups.num_scored].map(|count| count as u32)
    });
    let params = Params {
        rows: rows as u32,
        num_experts: num_experts as u32,
        num_used: num_experts_used as u32,
        num_slots: routing.num_slots as u32,
        gating: match gating {
            Gating::Softmax => 0,
            Gating::Sigmoid => 1,
            Gating::SparseMixer => 2,
        },
        is_normalized: u32::from(normalize),
        scale,
        has_bias: u32::from(selection_bias.is_some()),
        num_groups: group[0],
        num_groups_used: group[1],
        num_scored: group[2],
        min_sum: MIN_PROBABILITY_SUM,
        tolerance: SPARSE_MIXER_TOLERANCE,
    };
    let bindings = [router_logits.into(), pass.optional(selection_bias), (&routing.memory).into()];
    let variant = with_experts(&ROUTE_EXPERTS, num_experts, ROUTING_LANES);
    pass.dispatch(variant, bindings, &params, fold(rows));
    sort_slots(pass, routing);
}

/// Sorts the slots by expert if tiles of them have several slots on average.
fn sort_slots(pass: &mut GpuPass<'_>, routing: &mut GpuRouting) {
    #[repr(C)]
    #[derive(Clone, Copy, Pod, Zeroable)]
    struct Params {
        slots: u32,
        num_experts: u32,
        num_slots: u32,
        num_tiles: u32,
    }
    let slots = routing.slots();
    if slots < 2 * routing.num_experts {
        return;
    }
    let params = Params {
        slots: slots as u32,
        num_experts: routing.num_experts as u32,
        num_slots: routing.num_slots as u32,
        num_tiles: max_tiles(slots, routing.num_experts) as u32,
    };
    let bindings = [(&routing.memory).into()];
    pass.dispatch(sort_variant(routing.num_experts), bindings, &params, [1, 1, 1]);
    routing.is_sorted = true;
}

/// See [`Pass::route_to_all`](inferno_backend::Pass::route_to_all).
pub(crate) fn route_to_all(pass: &mut GpuPass<'_>, rows: usize, routing: &mut GpuRouting) {
    #[repr(C)]
    #[derive(Clone, Copy, Pod, Zeroable)]
    struct Params {
        slots: u32,
        num_used: u32,
        num_slots: u32,
    }
    assert_eq!(routing.num_used, routing.num_experts, "a routing for as many used experts");
    routing.set_rows(rows);
    let slots = routing.slots();
    let params = Params {
        slots: slots as u32,
        num_used: routing.num_used as u32,
        num_slots: routing.num_slots as u32,
    };
    let workgroups = fold(slots.div_ceil(LANES as usize));
    pass.dispatch(
        Variant::with_lanes(&ROUTE_TO_ALL),
        [(&routing.memory).into()],
        &params,
        workgroups,
    );
    sort_slots(pass, routing);
}

/// See [`Pass::weigh_expert_inputs`](inferno_backend::Pass::weigh_expert_inputs).
pub(crate) fn weigh_expert_inputs(
    pass: &mut GpuPass<'_>,
    rows: usize,
    x: &GpuBuffer,
    routing: &mut GpuRouting,
    out: &mut GpuBuffer,
) {
    #[repr(C)]
    #[derive(Clone, Copy, Pod, Zeroable)]
    struct Params {
        slots: u32,
        num_used: u32,
        num_slots: u32,
        cols: u32,
    }
    assert_eq!(x.cols(), out.cols(), "rows of the same width");
    let slots = rows * routing.num_used;
    let params = Params {
        slots: slots as u32,
        num_used: routing.num_used as u32,
        num_slots: routing.num_slots as u32,
        cols: x.cols() as u32,
    };
    let bindings = [x.into(), (&routing.memory).into(), out.into()];
    pass.dispatch(Variant::with_lanes(&WEIGH_EXPERT_INPUTS), bindings, &params, fold(slots));
}

/// See [`Pass::expert_linear`](inferno_backend::Pass::expert_linear) and
/// [`Pass::expert_linear_gated`](inferno_backend::Pass::expert_linear_gated).
pub(crate) fn expert_linear(
    pass: &mut GpuPass<'_>,
    routing: &GpuRouting,
    (x, input): (&GpuBuffer, ExpertInput),
    weight: &GpuWeight,
    (bias, gate): (Option<&GpuBuffer>, Option<Gate>),
    out: &mut GpuBuffer,
) -> Result<(), BackendError> {
    assert_eq!(weight.num_experts, routing.num_experts, "a weight for each expert");
    assert_eq!(x.cols(), weight.cols, "rows as wide as those of the weight");
    check_output(weight, gate, bias, out);
    let slots_per_row = match input {
        ExpertInput::PerToken => routing.num_used,
        ExpertInput::PerSlot => 1,
    };
    let slots = routing.slots();
    let is_large_enough = slots <= out.rows() && slots <= x.rows() * slots_per_row;
    assert!(is_large_enough, "more slots than the buffers have rows");
    let tiles = Tiles::Experts(routing, slots_per_row);
    let (x, out) = (x.into(), out.into());
    Product { x, norm: None, bias, gate, is_sum: false, tiles, out }.dispatch(pass, weight)
}

/// See [`Pass::combine_experts`](inferno_backend::Pass::combine_experts).
pub(crate) fn combine_experts(
    pass: &mut GpuPass<'_>,
    rows: usize,
    routing: &GpuRouting,
    y: &GpuBuffer,
    accumulate: bool,
    out: &mut GpuBuffer,
) {
    #[repr(C)]
    #[derive(Clone, Copy, Pod, Zeroable)]
    struct Params {
        values: u32,
        cols: u32,
        num_used: u32,
        num_slots: u32,
        accumulate: u32,
    }
    assert_eq!(y.cols(), out.cols(), "rows of the same width");
    let values = rows * out.cols();
    let params = Params {
        values: values as u32,
        cols: out.cols() as u32,
        num_used: routing.num_used as u32,
        num_slots: routing.num_slots as u32,
        accumulate: u32::from(accumulate),
    };
    let bindings = [(&routing.memory).into(), y.into(), out.into()];
    let workgroups = fold(values.div_ceil(LANES as usize));
    pass.dispatch(Variant::with_lanes(&COMBINE_EXPERTS), bindings, &params, workgroups);
}
