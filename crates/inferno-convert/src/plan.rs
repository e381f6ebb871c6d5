//! What the result consists of: a name, a type and a source for each tensor.

use std::collections::{BTreeMap, HashSet};

use inferno_gguf::GgmlType;
use inferno_tensor::{DType, TensorError};
use safetensors::Dtype;

use crate::ConvertError;
use crate::config::Head;
use crate::family::{Action, Constant, Context, Family, Transform, ViewError};
use crate::kept_codes::{KeptBlocks, KeptCodes};
use crate::lazy::Lazy;
use crate::names;

/// The type of weights in the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeightType {
    /// Single precision.
    F32,
    /// Half precision.
    F16,
    /// The upper half of single precision.
    Bf16,
    /// A block format that holds the codes of quantized weights, if there is one; for others the type of the first weight that is
    /// a 16-bit float, or else single precision.
    Auto,
    /// The type of each weight in the checkpoint, a block format that holds its codes and scales, or single precision if it is
    /// computed: loses nothing.
    Exact,
}

/// A tensor of the result.
#[derive(Debug)]
pub(crate) struct PlannedTensor {
    pub(crate) name: String,
    /// Slowest dimension first.
    pub(crate) shape: Vec<usize>,
    pub(crate) dtype: DType,
    pub(crate) content: Content,
}

impl PlannedTensor {
    pub(crate) fn ggml_type(&self) -> GgmlType {
        let ggml_type = self.dtype.ggml_id().and_then(GgmlType::from_id);
        ggml_type.expect("the planned formats are those of files")
    }
}

/// Where the values of a tensor come from.
#[derive(Debug)]
pub(crate) enum Content {
    Values(Lazy),
    /// Codes of 4 bits, two per byte, and the exponent of each block of 32.
    Mxfp4 {
        codes: Lazy,
        exponents: Lazy,
    },
    Constant(Vec<f32>),
}

/// The tensors of the result, and how many of the checkpoint were left out because they are not of the text model.
pub(crate) struct Plan {
    pub(crate) tensors: Vec<PlannedTensor>,
    pub(crate) num_other_modalities: usize,
    /// Tensors without a purpose in the result.
    pub(crate) skipped: Vec<String>,
}

/// Experts of one tensor, by their number.
type Experts = BTreeMap<String, BTreeMap<usize, Lazy>>;

struct Planner<'a> {
    context: &'a Context<'a>,
    weight_type: WeightType,
    kept_codes: KeptCodes,
    tensors: Vec<PlannedTensor>,
    names: HashSet<String>,
    experts: Experts,
}

/// Finds the role of every tensor. `constants` are those that are not in the files.
pub(crate) fn plan(
    context: &Context<'_>,
    family: &Family,
    weight_type: WeightType,
    constants: Vec<Constant>,
) -> Result<Plan, ConvertError> {
    let (weight_type, kept_codes) = match weight_type {
        WeightType::Auto => match detect(context) {
            WeightType::F32 => (WeightType::F32, KeptCodes::Exact),
            other => (other, KeptCodes::All),
        },
        WeightType::Exact => (WeightType::Exact, KeptCodes::Exact),
        other => (other, KeptCodes::None),
    };
    let mut planner = Planner {
        context,
        weight_type,
        kept_codes,
        tensors: Vec::new(),
        names: HashSet::new(),
        experts: Experts::new(),
    };
    for (name, values) in constants {
        let shape = vec![values.len()];
        planner.add(name.to_owned(), shape, DType::F32, Content::Constant(values))?;
    }
    let (mut unknown, mut skipped, mut num_other_modalities) = (Vec::new(), Vec::new(), 0);
    for (number, source) in context.sources.tensors() {
        let name = names::canonical(&source.name);
        if names::is_other_modality(&name) {
            num_other_modalities += 1;
            continue;
        }
        let name = match context.config.head() == Head::Nothing && !name.starts_with("model.") {
            true => (family.rename)(context.config, format!("model.{name}"))?,
            false => (family.rename)(context.config, name)?,
        };
        let (pattern, numbers) = without_numbers(&name);
        let found = [String::new(), "model.".to_owned(), "transformer.".to_owned()]
            .iter()
            .find_map(|prefix| {
                let whole = format!("{prefix}{pattern}");
                names::find(family.rules, &whole)
                    .map(|(action, ending)| (action, ending.to_owned()))
            });
        let Some((action, ending)) = found else {
            unknown.push(source.name.clone());
            continue;
        };
        match action {
            Action::Skip => skipped.push(source.name.clone()),
            Action::Consumed => {}
            action => planner.apply(action, &ending, number, &numbers)?,
        }
    }
    if !unknown.is_empty() {
        let architecture = family.architecture;
        return Err(ConvertError::UnknownTensors { names: unknown, architecture });
    }
    planner.stack_experts()?;
    let num_layers = context.config.num_layers()? + (family.prediction_layers)(context)?;
    check_layers(&planner.tensors, num_layers)?;
    Ok(Plan { tensors: planner.tensors, num_other_modalities, skipped })
}

/// Fails if there are tensors of further layers than the configuration states, which would make the result useless.
fn check_layers(tensors: &[PlannedTensor], num_layers: usize) -> Result<(), ConvertError> {
    let layer_of = |name: &str| name.strip_prefix("blk.")?.split_once('.')?.0.parse().ok();
    let layers = tensors.iter().filter_map(|it| Some((layer_of(&it.name)?, &it.name)));
    match layers.max() {
        Some((layer, tensor)) if layer >= num_layers => {
            Err(ConvertError::FurtherLayer { tensor: tensor.clone(), layer, num_layers })
        }
        _ => Ok(()),
    }
}

/// The type of the first matrix of 16-bit floats.
fn detect(context: &Context<'_>) -> WeightType {
    let matrices = context.sources.tensors().filter(|(_, source)| source.shape.len() > 1);
    matrices
        .filter_map(|(_, source)| match source.dtype {
            Dtype::BF16 => Some(WeightType::Bf16),
            Dtype::F16 => Some(WeightType::F16),
            _ => None,
        })
        .next()
        .unwrap_or(WeightType::F32)
}

impl WeightType {
    /// The format of all weights; `None` if it is that of each weight.
    pub(crate) fn dtype(self) -> Option<DType> {
        match self {
            Self::F32 => Some(DType::F32),
            Self::F16 => Some(DType::F16),
            Self::Bf16 => Some(DType::BF16),
            Self::Auto | Self::Exact => None,
        }
    }
}

/// Names of tensors that stay in single precision, without their layer.
const SINGLE_PRECISION: &[&str] = &[
    "ffn_gate_inp.weight",
    "ffn_gate_inp_shexp.weight",
    "position_embd.weight",
    "token_types.weight",
    "attn_rel_b.weight",
    "ssm_conv1d.weight",
    "ssm_conv1d_q.weight",
    "ssm_conv1d_k.weight",
    "ssm_conv1d_v.weight",
    "shortconv.conv.weight",
    "altup_correct_coef.weight",
    "altup_predict_coef.weight",
];

impl Planner<'_> {
    fn apply(
        &mut self,
        action: Action,
        ending: &str,
        number: usize,
        numbers: &[usize],
    ) -> Result<(), ConvertError> {
        let source = self.context.sources.tensor(number);
        // The number after that of the layer is the one of an expert, a head or a stream.
        let named = |target: &str| match (target.contains("{}"), numbers) {
            (true, [layer, rest @ ..]) => {
                let name = target.replacen("{}", &layer.to_string(), 1);
                (format!("{name}{ending}"), rest.first().copied())
            }
            (_, rest) => (format!("{target}{ending}"), rest.first().copied()),
        };
        if let Action::Mxfp4(targets) = action {
            return self.mxfp4(targets, number, numbers);
        }
        self.context.sources.expect_floats(number)?;
        let shape_error = |reason| ConvertError::Shape {
            name: source.name.clone(),
            shape: source.shape.clone(),
            reason: Box::new(reason),
        };
        let tensor = Lazy::new(number, &source.shape).map_err(shape_error)?;
        if source.shape.is_empty() && !matches!(action, Action::Rename(_)) {
            let reason = TensorError::ReshapeMismatch { from: Vec::new(), to: vec![1] };
            return Err(shape_error(reason));
        }
        let transformed = |transform: Transform| match transform(self.context, tensor.clone()) {
            Ok(tensor) => Ok(tensor),
            Err(ViewError::Config(error)) => Err(error),
            Err(ViewError::Shape(reason)) => Err(shape_error(reason)),
        };
        let outputs = match action {
            Action::Rename(target) => vec![(named(target), tensor)],
            Action::Map(target, transform) => vec![(named(target), transformed(transform)?)],
            Action::Split(targets) => {
                let outputs = targets
                    .iter()
                    .map(|(target, transform)| Ok((named(target), transformed(*transform)?)));
                outputs.collect::<Result<_, ConvertError>>()?
            }
            Action::SkipZeros => {
                return match self.context.sources.floats(number).iter().all(|&value| value == 0.0) {
                    true => Ok(()),
                    false => Err(ConvertError::NotZero { name: source.name.clone() }),
                };
            }
            Action::Skip | Action::Consumed | Action::Mxfp4(_) => return Ok(()),
        };
        for ((name, expert), tensor) in outputs {
            match expert {
                Some(expert) => {
                    let experts = self.experts.entry(name.clone()).or_default();
                    if experts.insert(expert, tensor).is_some() {
                        return Err(ConvertError::DuplicateTensor { name });
                    }
                }
                None => self.values(name, tensor)?,
            }
        }
        Ok(())
    }

    /// Adds a tensor of values.
    fn values(&mut self, name: String, tensor: Lazy) -> Result<(), ConvertError> {
        let shape = tensor.shape.clone();
        if is_single_precision(&name, shape.len()) {
            return self.add(name, shape, DType::F32, Content::Values(tensor));
        }
        if let Some(KeptBlocks { dtype, scales }) =
            self.kept_codes.blocks(self.context.sources, &tensor)
        {
            if let Some(scales) = scales {
                let name = format!("{}.scale", name.strip_suffix(".weight").unwrap_or(&name));
                let (shape, content) = (vec![scales.len()], Content::Constant(scales));
                self.add(name, shape, DType::F32, content)?;
            }
            return self.add(name, shape, dtype, Content::Values(tensor));
        }
        let dtype = self.weight_type.dtype().unwrap_or_else(|| self.exact(&tensor));
        self.add(name, shape, dtype, Content::Values(tensor))
    }

    /// The float format that loses nothing.
    fn exact(&self, tensor: &Lazy) -> DType {
        let format = |source| self.context.sources.format(source);
        let first = tensor.parts.first().and_then(|part| format(part.source));
        let has_first = tensor
            .parts
            .iter()
            .all(|part| part.operations.is_empty() && format(part.source) == first);
        first.filter(|_| has_first).unwrap_or(DType::F32)
    }

    fn add(
        &mut self,
        name: String,
        shape: Vec<usize>,
        dtype: DType,
        content: Content,
    ) -> Result<(), ConvertError> {
        if !self.names.insert(name.clone()) {
            return Err(ConvertError::DuplicateTensor { name });
        }
        self.tensors.push(PlannedTensor { name, shape, dtype, content });
        Ok(())
    }

    fn stack_experts(&mut self) -> Result<(), ConvertError> {
        for (name, experts) in std::mem::take(&mut self.experts) {
            let found = experts.len();
            let expected = experts.keys().next_back().map_or(0, |last| last + 1);
            if found != expected {
                return Err(ConvertError::MissingExperts { tensor: name, expected, found });
            }
            let shape =
                experts.values().next().map(|first| first.shape.clone()).unwrap_or_default();
            let stacked = Lazy::stack(experts.into_values().collect());
            let stacked = stacked.map_err(|reason| ConvertError::Shape {
                name: name.clone(),
                shape,
                reason: Box::new(reason),
            })?;
            self.values(name, stacked)?;
        }
        Ok(())
    }

    /// Adds MXFP4 weights: `source` are the codes, `[experts, rows, blocks, 16]`; with two targets, their rows alternate.
    fn mxfp4(
        &mut self,
        targets: &[&str],
        number: usize,
        numbers: &[usize],
    ) -> Result<(), ConvertError> {
        let source = self.context.sources.tensor(number);
        let scales = source.name.replace("_blocks", "_scales");
        let Some(scales) = self.context.sources.find(&scales) else {
            return Err(ConvertError::MissingTensor { name: scales });
        };
        let scale = self.context.sources.tensor(scales);
        let shape_error = |reason| ConvertError::Shape {
            name: source.name.clone(),
            shape: source.shape.clone(),
            reason: Box::new(reason),
        };
        let expected = [&scale.shape[..], &[16]].concat();
        if source.dtype != Dtype::U8
            || scale.dtype != Dtype::U8
            || source.shape != expected
            || expected.len() != 4
        {
            let to = expected;
            return Err(shape_error(TensorError::ReshapeMismatch {
                from: source.shape.clone(),
                to,
            }));
        }
        let [experts, rows, blocks, _] = expected[..] else { return Ok(()) };
        let (count, layer) = (targets.len(), numbers.first().copied().unwrap_or(0).to_string());
        for (index, target) in targets.iter().enumerate() {
            let alternate = |tensor: usize, tail: &[usize]| {
                let shape = [&[experts, rows / count, count][..], tail].concat();
                let whole = Lazy::new(tensor, &self.context.sources.tensor(tensor).shape)?;
                whole.view(|view| view.reshape(&shape)?.select(2, index))
            };
            let codes = alternate(number, &[blocks, 16]).map_err(shape_error)?;
            let exponents = alternate(scales, &[blocks]).map_err(shape_error)?;
            let shape = vec![experts, rows / count, blocks * 32];
            let content = Content::Mxfp4 { codes, exponents };
            self.add(target.replacen("{}", &layer, 1), shape, DType::Mxfp4, content)?;
        }
        Ok(())
    }
}

/// Whether runtimes require single precision, or the tensor is too small to matter.
fn is_single_precision(name: &str, num_dims: usize) -> bool {
    let in_layer = name.strip_prefix("blk.").and_then(|rest| rest.split_once('.'));
    let own = in_layer.map_or(name, |(_, own)| own);
    num_dims <= 1
        || name.ends_with("_norm.weight")
        || !name.ends_with(".weight")
        || SINGLE_PRECISION.contains(&own)
}

/// The name with `{}` for numbers between dots, and the numbers.
fn without_numbers(name: &str) -> (String, Vec<usize>) {
    let mut numbers = Vec::new();
    let parts = name.split('.').map(|part| match part.parse::<usize>() {
        Ok(number) if part.bytes().all(|byte| byte.is_ascii_digit()) => {
            numbers.push(number);
            "{}"
        }
        _ => part,
    });
    let pattern = parts.collect::<Vec<_>>().join(".");
    (pattern, numbers)
}
