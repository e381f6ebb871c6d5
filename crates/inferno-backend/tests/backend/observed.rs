//! What an observer of products receives.

use std::sync::{Arc, Mutex};

use inferno_backend::{
    Backend, DeviceMemory, ExpertInput, ExpertParams, Function, Gate, LinearInput, Norm,
    ObservedBackend, ObservedMatrices, ObservedProduct, Pass, ProductObserver, ReferenceBackend,
    WeightPart,
};
use inferno_tensor::DType;

/// Tensors, input rows, number of matrices and the matrix of each row.
type Seen = (Vec<String>, Vec<f32>, usize, Vec<usize>);

#[derive(Default)]
struct Recorder(Mutex<Vec<Seen>>);

impl ProductObserver for Recorder {
    fn wants(&self, tensor: &str) -> bool {
        tensor != "ignored"
    }

    fn observe(&self, product: &ObservedProduct<'_>) {
        let ObservedProduct { tensors, cols, values, matrices } = *product;
        let rows = values.len() / cols;
        let (count, used) = match matrices {
            ObservedMatrices::One => (1, vec![0; rows]),
            ObservedMatrices::Each { count } => (count, (0..rows).map(|row| row % count).collect()),
            ObservedMatrices::Experts { count, chosen, choices_per_row } => {
                assert_eq!(chosen.len(), rows * choices_per_row);
                (count, chosen.iter().map(|&expert| expert as usize).collect())
            }
        };
        self.0.lock().expect("no test panicked").push((
            tensors.to_vec(),
            values.to_vec(),
            count,
            used,
        ));
    }
}

type Observed = ObservedBackend<ReferenceBackend, Recorder>;

fn observed() -> (Observed, Arc<Recorder>) {
    let recorder = Arc::new(Recorder::default());
    (ObservedBackend::new(Arc::new(ReferenceBackend), Arc::clone(&recorder)), recorder)
}

fn weight(
    backend: &Observed,
    names: &[&str],
    experts: usize,
) -> <Observed as DeviceMemory>::Weight {
    let bytes: Vec<u8> = (0..experts * 4).flat_map(|x| (x as f32).to_le_bytes()).collect();
    let part = |name: &&str| {
        WeightPart::experts(*name, DType::F32, experts, 2, 2, bytes.clone().into()).expect("a part")
    };
    backend.load_weight(&names.iter().map(part).collect::<Vec<_>>()).expect("a weight")
}

fn matrix(backend: &Observed, rows: usize, values: &[f32]) -> <Observed as DeviceMemory>::Buffer {
    let mut buffer = backend.alloc(rows, values.len() / rows).expect("memory");
    backend.upload(values, &mut buffer);
    buffer
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn inputs_are_those_after_a_fused_norm() {
    let (backend, recorder) = observed();
    let weight = weight(&backend, &["q", "ignored", "k"], 1);
    let x = matrix(&backend, 1, &[3.0, 4.0]);
    let ones = matrix(&backend, 1, &[1.0, 2.0]);
    let mut out = backend.alloc(1, 6).expect("memory");
    let mut pass = backend.begin();
    let norm = Norm::rms(&ones, 0.0);
    pass.linear(1, LinearInput::Normed { x: &x, norm }, &weight, None, &mut out).expect("memory");
    pass.linear_add(1, &x, &weight, None, &mut out).expect("memory");
    let rms = 12.5_f32.sqrt();
    let seen = recorder.0.lock().expect("no test panicked");
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0].0, names(&["q", "k"]));
    assert!((seen[0].1[0] - 3.0 / rms).abs() < 1e-6 && (seen[0].1[1] - 8.0 / rms).abs() < 1e-6);
    assert_eq!(seen[1], (names(&["q", "k"]), vec![3.0, 4.0], 1, vec![0]));
}

#[test]
fn results_are_those_of_the_backend_itself() {
    let (backend, _) = observed();
    let x = [0.3, -0.4, 1.5, 2.0];
    let gate = Gate::Product(Function::Silu);
    let found = {
        let weight = weight(&backend, &["gate", "up"], 1);
        let (x, mut out) = (matrix(&backend, 2, &x), backend.alloc(2, 2).expect("memory"));
        backend.begin().linear_gated(2, &x, &weight, None, gate, &mut out).expect("memory");
        backend.download(&out, 0..4, &mut Vec::new()).expect("memory").to_vec()
    };
    let plain = ReferenceBackend;
    let bytes: Vec<u8> = (0..4).flat_map(|x| (x as f32).to_le_bytes()).collect();
    let part = |name| WeightPart::matrix(name, DType::F32, 2, 2, bytes.clone().into());
    let weight = plain.load_weight(&[part("gate").expect("a part"), part("up").expect("a part")]);
    let mut rows = plain.alloc(2, 2).expect("memory");
    plain.upload(&x, &mut rows);
    let mut out = plain.alloc(2, 2).expect("memory");
    let weight = weight.expect("a weight");
    plain.begin().linear_gated(2, &rows, &weight, None, gate, &mut out).expect("memory");
    assert_eq!(found, plain.download(&out, 0..4, &mut Vec::new()).expect("memory"));
}

#[test]
fn a_tensor_in_two_weights_is_observed_once() {
    let (backend, recorder) = observed();
    let first = weight(&backend, &["qkv"], 1);
    let second = weight(&backend, &["qkv"], 1);
    let (x, mut out) = (matrix(&backend, 1, &[1.0, 2.0]), backend.alloc(1, 2).expect("memory"));
    for weight in [&first, &second] {
        backend.begin().linear(1, &x, weight, None, &mut out).expect("memory");
    }
    assert_eq!(recorder.0.lock().expect("no test panicked").len(), 1);
}

#[test]
fn rows_are_counted_for_the_experts_that_were_chosen() {
    let (backend, recorder) = observed();
    let up = weight(&backend, &["gate", "up"], 3);
    let down = weight(&backend, &["down"], 3);
    let params = ExpertParams::softmax(3, 2, true);
    let mut routing = backend.alloc_routing(2, &params).expect("memory");
    // The first token chooses experts 2 and 0, the second one 1 and 2.
    let logits = matrix(&backend, 2, &[2.0, 1.0, 3.0, 0.0, 9.0, 8.0]);
    let x = matrix(&backend, 2, &[1.0, 2.0, 3.0, 4.0]);
    let mut hidden = backend.alloc(4, 2).expect("memory");
    let mut out = backend.alloc(4, 2).expect("memory");
    let mut pass = backend.begin();
    pass.route_experts(2, &logits, None, &params, &mut routing);
    let gate = Gate::Product(Function::Silu);
    let input = (&x, ExpertInput::PerToken);
    pass.expert_linear_gated(&routing, input, &up, None, gate, &mut hidden).expect("memory");
    let inner = backend.download(&hidden, 0..8, &mut Vec::new()).expect("memory").to_vec();
    pass.expert_linear(&routing, &hidden, &down, None, &mut out).expect("memory");
    let chosen = vec![2, 0, 1, 2];
    let seen = recorder.0.lock().expect("no test panicked");
    assert_eq!(seen[0], (names(&["gate", "up"]), vec![1.0, 2.0, 3.0, 4.0], 3, chosen.clone()));
    assert_eq!(seen[1], (names(&["down"]), inner, 3, chosen));
}

#[test]
fn matrices_of_heads_have_a_row_each() {
    let (backend, recorder) = observed();
    let weight = weight(&backend, &["k_b"], 2);
    let params = ExpertParams::softmax(2, 2, false);
    let mut routing = backend.alloc_routing(1, &params).expect("memory");
    let (x, mut out) = (matrix(&backend, 2, &[1.0, 2.0, 3.0, 4.0]), backend.alloc(2, 2));
    let out = out.as_mut().expect("memory");
    let mut pass = backend.begin();
    pass.route_to_all(1, &mut routing);
    pass.expert_linear(&routing, &x, &weight, None, out).expect("memory");
    let seen = recorder.0.lock().expect("no test panicked");
    assert_eq!(*seen, [(names(&["k_b"]), vec![1.0, 2.0, 3.0, 4.0], 2, vec![0, 1])]);
}
