// Attention is computed in parts of PART positions, which begin at multiples of PART, and merged in order: the same sums
// whether one workgroup computes all parts of a row or each part has one.
//
// The sums of a part are those of its spans, in order. In a span, positions are added in order, and so are the products of
// the components of a query and a key.

const PART: u32 = 128u;
const SPAN: u32 = 32u;
// Less than all scores of finite queries and keys.
const LOWEST: f32 = -3.0e38;

// The first position that `position` attends to.
fn first_position(position: u32) -> u32 {
    if (params.mask_kind == 1u) {
        return position + 1u - min(position + 1u, params.mask_len);
    }
    if (params.mask_kind == 2u) {
        return position - position % params.mask_len;
    }
    if (params.mask_kind == 3u) {
        return position - min(position, params.mask_len);
    }
    return 0u;
}

// The position after the last one that `position` attends to in a sequence of `context` positions.
fn end_position(position: u32, context: u32) -> u32 {
    if (params.mask_kind == 3u) {
        return position + 1u + min(context - position - 1u, params.mask_len);
    }
    return position + 1u;
}

// A maximum of scores and the sum of the weights relative to it.
struct Softmax {
    maximum: f32,
    sum: f32,
}

// The softmax of two parts, and the factors on their sums.
struct Merged {
    softmax: Softmax,
    factors: vec2<f32>,
}

fn merge(a: Softmax, b: Softmax) -> Merged {
    let maximum = max(a.maximum, b.maximum);
    let factors = vec2<f32>(exp(a.maximum - maximum), exp(b.maximum - maximum));
    let sum = fma(a.sum, factors.x, b.sum * factors.y);
    return Merged(Softmax(maximum, sum), factors);
}

// The factor on the sum of weighted values after all parts. The sink is a score without a value.
fn final_factor(softmax: Softmax, head: u32) -> f32 {
    if (HAS_SINKS == 1u) {
        let merged = merge(softmax, Softmax(sinks[head], 1.0));
        return merged.factors.x / merged.softmax.sum;
    }
    return 1.0 / softmax.sum;
}
