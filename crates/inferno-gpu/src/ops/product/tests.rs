//! All divisions of a product among teams have the same result.

use inferno_backend::{Backend, DeviceMemory, Gate, Norm, Pass};
use inferno_conformance::cases::{Random, SILU, bits, matrix, read};
use inferno_conformance::products::widths;
use inferno_tensor::DType;

use super::algorithm::{Algorithm, Kind};
use super::{MAX_FUSED_NORM_ROWS, Product, Tiles, formats, is_aligned, pieces};
use crate::adapter;
use crate::backend::GpuBackend;

const HEIGHT: usize = 50;

/// What is multiplied.
#[derive(Debug, Clone, Copy)]
struct Case {
    dtype: DType,
    rows: usize,
    gate: Option<Gate>,
    is_normed: bool,
    cols: usize,
}

/// The results of a product with the candidates that `is_chosen` chooses by number and count.
fn results(
    backend: &GpuBackend,
    case: Case,
    is_chosen: impl Fn(usize, usize) -> bool,
) -> Vec<(Algorithm, Vec<u32>)> {
    let Case { dtype, rows, gate, is_normed, cols } = case;
    let mut random = Random::new(1);
    let parts = [0, 1].map(|_| random.weight(dtype, 1, HEIGHT, cols));
    let weight = backend.load_weight(&parts).expect("memory");
    let x = matrix(backend, rows, cols, &random.values(rows * cols));
    let norm_weight = matrix(backend, 1, cols, &random.values(cols));
    let out_cols = if gate.is_some() { HEIGHT } else { 2 * HEIGHT };
    let pieces = pieces(&weight, gate.is_some());
    let kind = Kind {
        tiles: Tiles::Rows(rows).kind(),
        is_gated: gate.is_some(),
        is_normed: is_normed && rows <= MAX_FUSED_NORM_ROWS,
        is_aligned: is_aligned(cols),
        formats: formats(&pieces[0]),
    };
    let mut candidates = Algorithm::candidates(backend, &kind);
    candidates.retain(|candidate| matches!(candidate, Algorithm::Teams(_)));
    let count = candidates.len();
    let chosen = candidates.into_iter().enumerate().filter(|(number, _)| is_chosen(*number, count));
    let run = |(_, algorithm)| {
        let out = backend.alloc(rows, out_cols).expect("memory");
        let product = Product {
            x: (&x).into(),
            norm: is_normed.then(|| Norm::rms(&norm_weight, 1e-6)),
            bias: None,
            gate,
            is_sum: false,
            tiles: Tiles::Rows(rows),
            out: (&out).into(),
        };
        let mut pass = backend.begin();
        product.dispatch_as(&mut pass, &weight, &pieces, kind, algorithm).expect("memory");
        pass.submit().expect("a device that works");
        (algorithm, bits(&read(backend, &out, rows * out_cols)))
    };
    chosen.map(run).collect()
}

/// Columns of 624 units: no multiple of the units that a team loads ahead.
const LONG_ROW: usize = 39 * 256;

#[test]
fn all_divisions_have_the_same_bits() {
    let Some(adapter) = adapter::for_tests() else { return };
    let backend = GpuBackend::new(adapter).expect("a device that can be opened");
    for dtype in DType::ALL {
        let is_common = matches!(dtype, DType::F16 | DType::Q8_0 | DType::Q4K | DType::Q6K);
        // Few rows of every format are in other tests.
        let rows: &[usize] = if is_common { &[1, 3, 12, 40] } else { &[12] };
        for &rows in rows {
            let cols = 2 * widths(dtype).last().expect("some width");
            let plain = Case { dtype, rows, gate: None, is_normed: false, cols };
            let mut cases = vec![plain];
            if dtype == DType::Q4K {
                cases.push(Case { gate: Some(SILU), is_normed: true, ..plain });
            }
            if is_common && rows < 4 {
                // More units than all threads of a team load ahead, and than are staged at a time.
                cases.push(Case { cols: LONG_ROW, ..plain });
            }
            for case in cases {
                let results = results(&backend, case, |number, count| {
                    is_common || number == 0 || number == count - 1
                });
                for (algorithm, found) in &results {
                    assert_eq!(*found, results[0].1, "{case:?}: {algorithm:?}");
                }
            }
        }
    }
}
