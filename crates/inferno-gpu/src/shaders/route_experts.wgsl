// One workgroup per row. Probabilities of experts are compared by keys.

struct Params {
    rows: u32,
    num_experts: u32,
    num_used: u32,
    num_slots: u32,
    // 0 is a softmax, 1 a sigmoid, 2 the sparse mixer.
    gating: u32,
    is_normalized: u32,
    scale: f32,
    has_bias: u32,
    // Zero without groups.
    num_groups: u32,
    num_groups_used: u32,
    num_scored: u32,
    // `MIN_PROBABILITY_SUM`: all probabilities can be zero.
    min_sum: f32,
    tolerance: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> logits: array<f32>;
@group(0) @binding(2) var<storage, read> selection_bias: array<f32>;
@group(0) @binding(3) var<storage, read_write> routing: array<u32>;

// Logits with the sparse mixer.
var<workgroup> probabilities: array<f32, EXPERTS>;
var<workgroup> scores: array<f32, EXPERTS>;
// Zero once an expert is selected.
var<workgroup> keys: array<u32, EXPERTS>;
var<workgroup> group_keys: array<u32, EXPERTS>;
var<workgroup> best_keys: array<u32, LANES>;
var<workgroup> best_experts: array<u32, LANES>;

// Never zero.
fn score_key(value: f32) -> u32 {
    return max(key_of(value), 1u);
}

fn maximum(lane: u32, value: f32) -> f32 {
    partial_sums[lane] = value;
    workgroupBarrier();
    for (var width = LANES / 2u; width > 0u; width /= 2u) {
        if lane < width {
            partial_sums[lane] = max(partial_sums[lane], partial_sums[lane + width]);
        }
        workgroupBarrier();
    }
    let result = partial_sums[0];
    workgroupBarrier();
    return result;
}

fn compute_probabilities(row: u32, lane: u32) {
    let first = row * params.num_experts;
    if params.gating != 0u {
        for (var i = lane; i < params.num_experts; i += LANES) {
            let logit = logits[first + i];
            probabilities[i] = select(sigmoid(logit), logit, params.gating == 2u);
        }
        return;
    }
    var largest = -3.4028235e38;
    for (var i = lane; i < params.num_experts; i += LANES) {
        largest = max(largest, logits[first + i]);
    }
    largest = maximum(lane, largest);
    var sum = 0.0;
    for (var i = lane; i < params.num_experts; i += LANES) {
        let power = exp(logits[first + i] - largest);
        probabilities[i] = power;
        sum += power;
    }
    sum = workgroup_sum(lane, sum);
    for (var i = lane; i < params.num_experts; i += LANES) {
        probabilities[i] /= sum;
    }
}

// The key of the sum of a group's largest scores, from the largest on.
fn group_key(group: u32, group_len: u32) -> u32 {
    let first = group * group_len;
    var sum = 0.0;
    var last_key = 0xffffffffu;
    var last = 0u;
    for (var n = 0u; n < min(params.num_scored, group_len); n++) {
        // The best of those after the last one.
        var best_key = 0u;
        var best = 0u;
        for (var i = 0u; i < group_len; i++) {
            let key = keys[first + i];
            let is_left = n == 0u || is_better(last_key, last, key, i);
            if is_left && is_better(key, i, best_key, best) {
                best_key = key;
                best = i;
            }
        }
        sum += scores[first + best];
        last_key = best_key;
        last = best;
    }
    return score_key(sum);
}

// Lowers the keys of all experts outside the best groups below those of the others.
fn exclude_groups(lane: u32) {
    let group_len = params.num_experts / params.num_groups;
    for (var group = lane; group < params.num_groups; group += LANES) {
        group_keys[group] = group_key(group, group_len);
    }
    workgroupBarrier();
    for (var group = lane; group < params.num_groups; group += LANES) {
        var rank = 0u;
        for (var other = 0u; other < params.num_groups; other++) {
            rank += u32(is_better(group_keys[other], other, group_keys[group], group));
        }
        if rank >= params.num_groups_used {
            for (var i = 0u; i < group_len; i++) {
                keys[group * group_len + i] = 1u;
            }
        }
    }
    workgroupBarrier();
}

// The expert with the largest key. It is not selected again.
fn select_expert(lane: u32) -> u32 {
    var best_key = 0u;
    var best = 0u;
    for (var i = lane; i < params.num_experts; i += LANES) {
        if is_better(keys[i], i, best_key, best) {
            best_key = keys[i];
            best = i;
        }
    }
    best_keys[lane] = best_key;
    best_experts[lane] = best;
    workgroupBarrier();
    for (var width = LANES / 2u; width > 0u; width /= 2u) {
        if lane < width {
            let other = lane + width;
            if is_better(best_keys[other], best_experts[other], best_keys[lane], best_experts[lane]) {
                best_keys[lane] = best_keys[other];
                best_experts[lane] = best_experts[other];
            }
        }
        workgroupBarrier();
    }
    let expert = best_experts[0];
    workgroupBarrier();
    if lane == 0u {
        keys[expert] = 0u;
    }
    workgroupBarrier();
    return expert;
}

// The softmax of choice `number` of those from `first` on: over the experts that were not chosen before it and whose logits
// are near the largest one.
fn sparse_weight(first: u32, number: u32) -> f32 {
    let largest = probabilities[routing[first + number]];
    var sum = 0.0;
    for (var i = 0u; i < params.num_experts; i++) {
        let logit = probabilities[i];
        var is_excluded = (largest - logit) / max(abs(logit), largest) > params.tolerance;
        for (var j = 0u; j < number; j++) {
            is_excluded = is_excluded || routing[first + j] == i;
        }
        sum += select(exp(logit - largest), 0.0, is_excluded);
    }
    return 1.0 / sum;
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) num_workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = flat_index(workgroup, num_workgroups);
    if row >= params.rows {
        return;
    }
    compute_probabilities(row, lane);
    for (var i = lane; i < params.num_experts; i += LANES) {
        var score = probabilities[i];
        if params.has_bias != 0u {
            score += selection_bias[i];
        }
        scores[i] = score;
        keys[i] = score_key(score);
    }
    workgroupBarrier();
    if params.num_groups != 0u {
        exclude_groups(lane);
    }
    let first = row * params.num_used;
    var sum = 0.0;
    for (var j = 0u; j < params.num_used; j++) {
        let expert = select_expert(lane);
        sum += probabilities[expert];
        if lane == 0u {
            routing[first + j] = expert;
        }
    }
    let divisor = select(1.0, sum + params.min_sum, params.is_normalized != 0u);
    // The first thread reads back what it wrote.
    if lane == 0u {
        for (var j = 0u; j < params.num_used; j++) {
            var weight = probabilities[routing[first + j]] / divisor;
            if params.gating == 2u {
                weight = sparse_weight(first, j);
            }
            routing[params.num_slots + first + j] = bitcast<u32>(weight * params.scale);
        }
    }
}
