//! What follows the pooling of hidden states, computed on the host in double precision: one row per input, which costs
//! little next to the pass.

use inferno_backend::{NormKind, ReferenceBackend};
use inferno_gguf::Gguf;

use crate::arch::architecture::ClassifierActivation;
pub use crate::arch::architecture::ClassifierPooling;
use crate::loader::Loader;
use crate::spec::layer::NormSpec;
use crate::spec::pooled::{ClassifierSpec, DenseSpec};
use crate::{ModelError, ModelSpec};

/// The projections and the classifier that a file has for pooled hidden states.
#[derive(Debug, Clone, Default)]
pub struct PooledHead {
    projections: Vec<Dense>,
    classifier: Option<Classifier>,
}

/// A classifier of pooled hidden states, such as that of a reranker.
#[derive(Debug, Clone)]
pub struct Classifier {
    pooling: ClassifierPooling,
    dense: Option<(Dense, ClassifierActivation)>,
    norm: Option<HostNorm>,
    output: Option<Dense>,
    has_softmax: bool,
    num_outputs: usize,
    labels: Vec<String>,
}

#[derive(Debug, Clone)]
struct Dense {
    cols: usize,
    /// Rows of `cols` values.
    weight: Vec<f32>,
    bias: Option<Vec<f32>>,
}

#[derive(Debug, Clone)]
struct HostNorm {
    kind: NormKind,
    eps: f64,
    weight: Vec<f32>,
    bias: Option<Vec<f32>>,
}

type HostLoader<'a> = Loader<'a, ReferenceBackend>;

impl PooledHead {
    /// Loads what `checkpoint`, which `spec` describes, has for pooled hidden states; nothing in most files.
    ///
    /// **Errors**: a tensor that cannot be read.
    pub fn load(checkpoint: &Gguf, spec: &ModelSpec) -> Result<Self, ModelError> {
        let backend = ReferenceBackend::new();
        let on_progress = &mut |_| {};
        let mut loader = Loader::new(checkpoint, &backend, None, on_progress);
        let pooled = &spec.pooled;
        let projections = pooled.projections.iter().map(|dense| Dense::load(&mut loader, dense));
        let projections = projections.collect::<Result<_, _>>()?;
        let classifier = match &pooled.classifier {
            Some(classifier) => Some(Classifier::load(&mut loader, classifier, spec.hidden_size)?),
            None => None,
        };
        Ok(Self { projections, classifier })
    }

    /// The classifier, if the file has one.
    pub fn classifier(&self) -> Option<&Classifier> {
        self.classifier.as_ref()
    }

    /// Number of values of an embedding of a model with hidden states of `hidden_size` values.
    pub fn embedding_size(&self, hidden_size: usize) -> usize {
        self.projections.last().map_or(hidden_size, Dense::num_rows)
    }

    /// Projects a pooled hidden state.
    pub fn project(&self, pooled: Vec<f64>) -> Vec<f64> {
        self.projections.iter().fold(pooled, |x, dense| dense.multiply(&x))
    }
}

impl Classifier {
    fn load(
        loader: &mut HostLoader<'_>,
        spec: &ClassifierSpec,
        hidden_size: usize,
    ) -> Result<Self, ModelError> {
        let dense = match &spec.dense {
            Some((dense, activation)) => Some((Dense::load(loader, dense)?, *activation)),
            None => None,
        };
        let norm = spec.norm.as_ref().map(|norm| HostNorm::load(loader, norm)).transpose()?;
        let output = spec.output.as_ref().map(|output| Dense::load(loader, output)).transpose()?;
        let width = dense.as_ref().map_or(hidden_size, |(dense, _)| dense.num_rows());
        Ok(Self {
            pooling: spec.pooling,
            num_outputs: output.as_ref().map_or(width, Dense::num_rows),
            dense,
            norm,
            output,
            has_softmax: spec.has_softmax,
            labels: spec.labels.clone(),
        })
    }

    /// The hidden states that it reads.
    pub fn pooling(&self) -> ClassifierPooling {
        self.pooling
    }

    /// Number of outputs.
    pub fn num_outputs(&self) -> usize {
        self.num_outputs
    }

    /// The names of the outputs, if the file has them.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// Whether the first output is a score: the only one, or the probability of "yes".
    pub fn is_reranker(&self) -> bool {
        self.num_outputs == 1 || self.has_softmax
    }

    /// Whether the outputs are probabilities.
    pub fn has_softmax(&self) -> bool {
        self.has_softmax
    }

    /// Computes the outputs for a pooled hidden state.
    pub fn classify(&self, pooled: Vec<f64>) -> Vec<f64> {
        let mut x = pooled;
        if let Some((dense, activation)) = &self.dense {
            x = dense.multiply(&x);
            x.iter_mut().for_each(|x| *x = activate(*activation, *x));
        }
        if let Some(norm) = &self.norm {
            norm.apply(&mut x);
        }
        if let Some(output) = &self.output {
            x = output.multiply(&x);
        }
        if self.has_softmax {
            let max = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            x.iter_mut().for_each(|x| *x = libm::exp(*x - max));
            let sum: f64 = x.iter().sum();
            x.iter_mut().for_each(|x| *x /= sum);
        }
        x
    }
}

fn activate(activation: ClassifierActivation, x: f64) -> f64 {
    match activation {
        ClassifierActivation::Tanh => libm::tanh(x),
        ClassifierActivation::Relu => x.max(0.0),
        ClassifierActivation::Gelu => {
            0.5 * x * (1.0 + libm::erf(x * std::f64::consts::FRAC_1_SQRT_2))
        }
    }
}

impl Dense {
    fn load(loader: &mut HostLoader<'_>, spec: &DenseSpec) -> Result<Self, ModelError> {
        let bias = spec.bias.as_ref().map(|bias| loader.values(bias)).transpose()?;
        Ok(Self { cols: spec.weight.cols(), weight: loader.values(&spec.weight)?, bias })
    }

    fn num_rows(&self) -> usize {
        self.weight.len() / self.cols
    }

    fn multiply(&self, x: &[f64]) -> Vec<f64> {
        let rows = self.weight.chunks_exact(self.cols).enumerate();
        let product = rows.map(|(row, weights)| {
            let bias = self.bias.as_ref().map_or(0.0, |bias| f64::from(bias[row]));
            weights.iter().zip(x).fold(bias, |sum, (&weight, x)| sum + f64::from(weight) * x)
        });
        product.collect()
    }
}

impl HostNorm {
    fn load(loader: &mut HostLoader<'_>, spec: &NormSpec) -> Result<Self, ModelError> {
        let bias = spec.bias.as_ref().map(|bias| loader.values(bias)).transpose()?;
        Ok(Self {
            kind: spec.kind,
            eps: spec.eps.into(),
            weight: match &spec.weight {
                Some(weight) => loader.values(weight)?,
                None => vec![1.0; spec.len],
            },
            bias,
        })
    }

    fn apply(&self, x: &mut [f64]) {
        let len = x.len() as f64;
        if self.kind == NormKind::Layer {
            let mean = x.iter().sum::<f64>() / len;
            x.iter_mut().for_each(|x| *x -= mean);
        }
        let mean_square = x.iter().map(|x| x * x).sum::<f64>() / len;
        let factor = 1.0 / (mean_square + self.eps).sqrt();
        for (index, x) in x.iter_mut().enumerate() {
            let bias = self.bias.as_ref().map_or(0.0, |bias| f64::from(bias[index]));
            *x = *x * factor * f64::from(self.weight[index]) + bias;
        }
    }
}
