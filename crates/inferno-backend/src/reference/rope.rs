//! Norms and rotary embedding of heads.

use super::Matrix;
use super::arithmetic::normalize;
use crate::{QkNorm, QkvLayout, RopePairing, Rotation};

/// Normalizes and rotates the heads of rows, in place.
pub(super) fn rope(
    rows: usize,
    layout: &QkvLayout,
    norm: Option<QkNorm<'_, Matrix>>,
    rotation: Option<Rotation<'_, Matrix>>,
    qkv: &mut Matrix,
) {
    let (head_dim, [q_len, k_len, _]) = (layout.head_dim, layout.part_lens());
    for row in 0..rows {
        let (queries, others) = qkv[[row]].split_at_mut(q_len);
        let (keys, values) = others.split_at_mut(k_len);
        if let Some((norm, v)) = norm.as_ref().and_then(|norm| Some((norm, norm.v?))) {
            let weight = &v[[0]];
            let heads = values.chunks_exact_mut(layout.value_dim());
            heads.for_each(|head| normalize(head, norm.kind, weight, None, norm.eps));
        }
        let normalize_both = |after_rotation: bool, queries: &mut [f32], keys: &mut [f32]| {
            if let Some(norm) = norm.as_ref().filter(|norm| norm.after_rotation == after_rotation) {
                normalize_heads(norm, norm.q, head_dim, queries);
                if let Some(k) = norm.k {
                    normalize_heads(norm, k, head_dim, keys);
                }
            }
        };
        normalize_both(false, queries, keys);
        if let Some(rotation) = &rotation {
            if let Some(angles) = rotation.angles {
                let heads =
                    queries.chunks_exact_mut(head_dim).chain(keys.chunks_exact_mut(head_dim));
                heads.for_each(|head| rotate(rotation.pairing, &angles[[row]], head));
            }
            if let Some(factors) = rotation.query_factors {
                queries.iter_mut().for_each(|query| *query *= factors[[row]][0]);
            }
        }
        normalize_both(true, queries, keys);
    }
}

/// Normalizes the query heads or the key heads of a row, whose norm has the weight `weight`.
fn normalize_heads(norm: &QkNorm<'_, Matrix>, weight: &Matrix, head_dim: usize, heads: &mut [f32]) {
    let weight = &weight[[0]];
    let extent = if norm.whole { heads.len() } else { head_dim };
    let weights = weight.chunks_exact(extent).cycle();
    for (head, weight) in heads.chunks_exact_mut(extent).zip(weights) {
        normalize(head, norm.kind, weight, None, norm.eps);
    }
}

/// Rotates one head by the angles of its row.
fn rotate(pairing: RopePairing, angles: &[f32], head: &mut [f32]) {
    let pairs = angles.len() / 2;
    let (cos, sin) = angles.split_at(pairs);
    for pair in 0..pairs {
        let (i, j) = match pairing {
            RopePairing::Interleaved => (2 * pair, 2 * pair + 1),
            RopePairing::Halves => (pair, pair + pairs),
        };
        let (a, b) = (head[i], head[j]);
        head[i] = a * cos[pair] - b * sin[pair];
        head[j] = a * sin[pair] + b * cos[pair];
    }
}
