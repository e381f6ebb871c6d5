//! The formats of the library compressed-tensors: groups of modules with a scheme each.

use fancy_regex::Regex;
use safetensors::Dtype;
use serde_json::Value;

use super::bytes::is_byte;
use super::{block, bytes, expect_type, float4, group_size, unsupported, words};
use crate::ConvertError;
use crate::config::invalid;
use crate::quantized::{Block, Factor};
use crate::sources::Sources;

/// The formats whose weights are found by the names of their tensors.
const FORMATS: [&str; 8] = [
    "float-quantized",
    "int-quantized",
    "mixed-precision",
    "mxfp4-pack-quantized",
    "mxfp8-quantized",
    "naive-quantized",
    "nvfp4-pack-quantized",
    "pack-quantized",
];

/// The scheme of the modules with some names or classes.
struct Group {
    names: Vec<String>,
    patterns: Vec<Regex>,
    classes: Vec<String>,
    scheme: Scheme,
}

/// How weights are quantized.
struct Scheme {
    bits: u32,
    /// Rows and columns that share a scale; `None` for the whole row or matrix.
    block: Option<Block>,
}

/// Finds the tensors that quantized weights consist of.
pub(super) fn find(options: &Value, sources: &mut Sources) -> Result<(), ConvertError> {
    let groups = groups(options)?;
    for number in 0..sources.len() {
        let name = sources.tensor(number).name.clone();
        if let Some(weight) = name.strip_suffix("_packed") {
            let scheme = scheme(&groups, weight)?;
            match sources.tensor(number).dtype {
                Dtype::U8 => {
                    let global = format!("{weight}_global_scale");
                    let has_global = sources.find(&global).is_some();
                    let factor = has_global.then_some((&global[..], Factor::Divide as fn(_) -> _));
                    float4::add(sources, number, weight, factor)?;
                }
                _ => words::add(sources, number, weight, scheme.bits, scheme.block)?,
            }
        } else if let Some(weight) = name.strip_suffix("_scale")
            && let Some(found) = sources.find(weight)
            && sources.quantized(found).is_none()
        {
            let source = sources.tensor(found);
            if !is_byte(source.dtype) {
                expect_type(source, Dtype::F8_E4M3)?;
            }
            let block = scheme(&groups, weight)?.block;
            bytes::add(sources, found, number, block)?;
        }
    }
    Ok(())
}

/// Reads the groups, without those that quantize only activations, or keys and values.
///
/// **Errors**: formats that are not supported, and models whose activations are transformed.
fn groups(options: &Value) -> Result<Vec<Group>, ConvertError> {
    let transforms = &options["transform_config"]["config_groups"];
    if transforms.as_object().is_some_and(|groups| !groups.is_empty()) {
        return Err(unsupported("compressed-tensors with transforms of activations"));
    }
    let sparsity = options["sparsity_config"]["format"].as_str().unwrap_or("dense");
    if sparsity != "dense" {
        return Err(unsupported(format!("compressed-tensors ({sparsity})")));
    }
    let groups = options["config_groups"].as_object().into_iter().flat_map(|it| it.values());
    let groups = groups.filter(|group| !group["weights"].is_null());
    groups.map(|group| Group::read(group, &options["format"])).collect()
}

impl Group {
    fn read(group: &Value, format: &Value) -> Result<Self, ConvertError> {
        let own = group["format"].as_str().or_else(|| format.as_str()).unwrap_or_default();
        if !FORMATS.contains(&own) {
            return Err(unsupported(format!("compressed-tensors ({own})")));
        }
        let (mut names, mut patterns, mut classes) = (Vec::new(), Vec::new(), Vec::new());
        let targets = group["targets"].as_array().into_iter().flatten();
        for target in targets.filter_map(Value::as_str) {
            match target.strip_prefix("re:") {
                // As `re.match` of Python, from the beginning of the name.
                Some(pattern) => {
                    let expected = "a regular expression";
                    let key = "quantization_config.config_groups.targets";
                    let regex = Regex::new(&format!("^(?:{pattern})"));
                    patterns.push(regex.map_err(|_| invalid(key, expected, target))?);
                }
                None if target.contains('.') || target == "lm_head" => {
                    names.push(target.to_owned())
                }
                None => classes.push(target.to_owned()),
            }
        }
        let scheme = Scheme::read(&group["weights"], own)?;
        Ok(Self { names, patterns, classes, scheme })
    }

    /// Whether the group has the module by a pattern.
    ///
    /// A pattern whose evaluation exceeds the limits of the library does not match.
    fn matches(&self, module: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern.is_match(module).unwrap_or(false))
    }
}

impl Scheme {
    fn read(weights: &Value, format: &str) -> Result<Self, ConvertError> {
        let strategy = weights["strategy"].as_str().unwrap_or_default();
        let bits = weights["num_bits"].as_u64().unwrap_or_default();
        let kind = weights["type"].as_str().unwrap_or("int");
        let unsupported =
            |reason: String| Err(unsupported(format!("compressed-tensors ({format}, {reason})")));
        let block = match strategy {
            "tensor" | "channel" => None,
            "group" | "tensor_group" => group_size(weights)?.map(|size| [1, size]),
            "block" => {
                Some(block("quantization_config.block_structure", &weights["block_structure"])?)
            }
            _ => return unsupported(format!("{kind}, {bits} bits, strategy {strategy:?}")),
        };
        match (kind, bits) {
            ("int", 1..=8) | ("float", 4 | 8) => Ok(Self { bits: bits as u32, block }),
            _ => unsupported(format!("{kind}, {bits} bits, strategy {strategy:?}")),
        }
    }
}

/// The scheme of a weight: that of the group that has its module by name, by a pattern, or by its class.
///
/// **Source**: `match_targets` of compressed-tensors, which prefers them in this order.
fn scheme<'g>(groups: &'g [Group], weight: &str) -> Result<&'g Scheme, ConvertError> {
    let module = weight.strip_suffix(".weight").unwrap_or(weight);
    let class = if module.ends_with("embed_tokens") { "Embedding" } else { "Linear" };
    let find = |is_of: &dyn Fn(&&Group) -> bool| groups.iter().find(is_of);
    let found = find(&|group| group.names.iter().any(|name| name == module))
        .or_else(|| find(&|group| group.matches(module)))
        .or_else(|| find(&|group| group.classes.iter().any(|name| name == class)))
        // The classes of other modules are not known.
        .or_else(|| find(&|group| !group.classes.is_empty()));
    found.map(|group| &group.scheme).ok_or_else(|| {
        let expected = format!("a group with a target for {module}");
        invalid("quantization_config.config_groups", &expected, "none")
    })
}
