//! Selects the files of a repository that form the requested model.
//!
//! Invariant: a sharded model is selected completely and in order, or not at all. An incomplete one does not affect the
//! selection of others.

use std::collections::{BTreeSet, HashSet};

use inferno_gguf::ShardName;

use crate::hub::{HubError, HubReference};

/// Default quantizations in order of preference.
const PREFERRED_QUANTS: [&str; 2] = ["Q4_K_M", "Q8_0"];

/// Selects among the files of a repository; returns the files of one checkpoint, in the order of its shards.
///
/// **Errors**: [`HubError::NoSuchQuant`], [`HubError::AmbiguousQuant`], [`HubError::NoGguf`],
/// [`HubError::IncompleteShards`].
pub(super) fn select(reference: &HubReference, files: &[String]) -> Result<Vec<String>, HubError> {
    let checkpoints = checkpoints(files);
    let names = |checkpoints: &[&Checkpoint]| checkpoints.iter().map(|c| c.name()).collect();
    let all: Vec<&Checkpoint> = checkpoints.iter().collect();
    let candidates = match reference.quant() {
        Some(quant) => matching(&checkpoints, quant),
        None => {
            let mut preferred = PREFERRED_QUANTS.iter().map(|quant| matching(&checkpoints, quant));
            preferred.find(|matching| matching.len() == 1).unwrap_or(all.clone())
        }
    };
    match candidates[..] {
        [one] => one.files(reference, files),
        [] if reference.quant().is_none() => Err(HubError::NoGguf { reference: reference.clone() }),
        [] => Err(HubError::NoSuchQuant { reference: reference.clone(), available: names(&all) }),
        ref several => {
            Err(HubError::AmbiguousQuant { reference: reference.clone(), matching: names(several) })
        }
    }
}

/// One checkpoint of a repository, possibly incomplete.
pub(super) struct Checkpoint {
    /// Its only file or first shard, which also serves as its name.
    pub(super) first: String,
}

impl Checkpoint {
    fn name(&self) -> String {
        self.first.clone()
    }

    /// Returns whether `file` belongs to this checkpoint.
    fn contains(&self, file: &str) -> bool {
        file == self.first
            || ShardName::parse(file).is_some_and(|name| name.sibling(1) == self.first)
    }

    /// Returns all its files, in order.
    ///
    /// **Errors**: [`HubError::IncompleteShards`] if one is not `present`.
    fn files(&self, reference: &HubReference, present: &[String]) -> Result<Vec<String>, HubError> {
        let Some(name) = ShardName::parse(&self.first) else {
            return Ok(vec![self.first.clone()]);
        };
        let present: HashSet<&String> = present.iter().collect();
        (1..=name.count())
            .map(|number| name.sibling(number))
            .map(|file| match present.contains(&file) {
                true => Ok(file),
                false => {
                    Err(HubError::IncompleteShards { reference: reference.clone(), missing: file })
                }
            })
            .collect()
    }
}

/// Groups the files of language models into checkpoints.
pub(super) fn checkpoints(files: &[String]) -> Vec<Checkpoint> {
    let first = |path: &String| match ShardName::parse(path) {
        Some(name) => name.sibling(1),
        None => path.clone(),
    };
    let models = files.iter().filter(|path| is_model(path));
    let names: BTreeSet<String> = models.map(first).collect();
    let checkpoint = |first| Checkpoint { first };
    names.into_iter().map(checkpoint).collect()
}

/// Returns whether a file is a language model, rather than an image projector or an importance matrix.
fn is_model(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    name.ends_with(".gguf")
        && !name.contains("mmproj")
        && !name.contains("imatrix")
        && is_inside(path)
}

/// Returns whether a path stays inside the snapshot and has no control characters.
fn is_inside(path: &str) -> bool {
    let is_plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', ':']);
    path.split('/').all(is_plain) && !path.contains(char::is_control)
}

/// Returns the checkpoints that match a quantization or file name.
fn matching<'a>(checkpoints: &'a [Checkpoint], quant: &str) -> Vec<&'a Checkpoint> {
    // The folder may be omitted, and any shard names its checkpoint.
    let is_named = |checkpoint: &&Checkpoint| {
        let in_its_folder = match checkpoint.first.rsplit_once('/') {
            Some((folder, _)) => checkpoint.contains(&format!("{folder}/{quant}")),
            None => false,
        };
        in_its_folder || checkpoint.contains(quant)
    };
    let exact: Vec<_> = checkpoints.iter().filter(is_named).collect();
    if !exact.is_empty() {
        return exact;
    }
    checkpoints.iter().filter(|c| names_quant(&c.first, quant)).collect()
}

/// Returns whether `path` contains `quant` as a whole word: `Q4_K` does not match `model-Q4_K_M.gguf`.
fn names_quant(path: &str, quant: &str) -> bool {
    let (path, quant) = (path.to_ascii_lowercase(), quant.to_ascii_lowercase());
    path.match_indices(&quant).any(|(at, _)| {
        let before = path[..at].chars().next_back();
        let after = path[at + quant.len()..].chars().next();
        !before.is_some_and(|c| c.is_alphanumeric())
            && !after.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(reference: &str, files: &[&str]) -> Result<Vec<String>, HubError> {
        let files: Vec<String> = files.iter().map(|&file| file.to_owned()).collect();
        select(&reference.parse().expect("a reference"), &files)
    }

    const QUANTS: [&str; 5] =
        ["README.md", "mmproj-m-Q8_0.gguf", "m-Q4_K_M.gguf", "m-Q4_K_S.gguf", "m-Q8_0.gguf"];

    #[test]
    fn a_quantization_is_found_by_its_name_in_any_case() {
        assert_eq!(selected("hf:a/b:q8_0", &QUANTS).unwrap(), ["m-Q8_0.gguf"]);
        assert_eq!(selected("hf:a/b:m-Q4_K_S.gguf", &QUANTS).unwrap(), ["m-Q4_K_S.gguf"]);
    }

    #[test]
    fn a_name_does_not_match_part_of_another() {
        assert!(matches!(selected("hf:a/b:Q4_K", &QUANTS), Err(HubError::NoSuchQuant { .. })));
        assert!(matches!(
            selected("hf:a/b:Q4_NL", &["m-IQ4_NL.gguf"]),
            Err(HubError::NoSuchQuant { .. })
        ));
    }

    #[test]
    fn the_preferred_quantizations_are_the_default() {
        assert_eq!(selected("hf:a/b", &QUANTS).unwrap(), ["m-Q4_K_M.gguf"]);
        assert_eq!(selected("hf:a/b", &["m-q8_0.gguf", "m-f16.gguf"]).unwrap(), ["m-q8_0.gguf"]);
        assert_eq!(selected("hf:a/b", &["only.gguf", "config.json"]).unwrap(), ["only.gguf"]);
    }

    #[test]
    fn ambiguous_matches_are_listed() {
        let error = selected("hf:a/b", &["m-f16.gguf", "m-q2_k.gguf"]).unwrap_err();
        let HubError::AmbiguousQuant { matching, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(matching, ["m-f16.gguf", "m-q2_k.gguf"]);
    }

    #[test]
    fn shards_are_selected_completely_and_in_order() {
        let files = ["q8_0/m-00002-of-00002.gguf", "q8_0/m-00001-of-00002.gguf", "m-f16.gguf"];
        let expected = ["q8_0/m-00001-of-00002.gguf", "q8_0/m-00002-of-00002.gguf"];
        assert_eq!(selected("hf:a/b:Q8_0", &files).unwrap(), expected);
        assert!(matches!(
            selected("hf:a/b", &["m-00001-of-00002.gguf"]),
            Err(HubError::IncompleteShards { .. })
        ));
    }

    #[test]
    fn incomplete_shards_do_not_affect_other_models() {
        let files = ["m-Q8_0.gguf", "m-F16-00002-of-00002.gguf", "m-Q2_K.gguf"];
        assert_eq!(selected("hf:a/b:Q8_0", &files).unwrap(), ["m-Q8_0.gguf"]);
        assert_eq!(selected("hf:a/b", &files).unwrap(), ["m-Q8_0.gguf"]);
        for broken in ["hf:a/b:F16", "hf:a/b:m-F16-00002-of-00002.gguf"] {
            let error = selected(broken, &files).unwrap_err();
            let HubError::IncompleteShards { missing, .. } = error else {
                panic!("{error}");
            };
            assert_eq!(missing, "m-F16-00001-of-00002.gguf");
        }
    }

    #[test]
    fn a_signed_number_is_not_a_shard_number() {
        let file = "m-+0001-of-00002.gguf";
        assert_eq!(selected("hf:a/b", &[file]).unwrap(), [file]);
    }

    #[test]
    fn a_repository_without_models_is_rejected() {
        let files = ["model.safetensors", "../evil.gguf", "/etc/evil.gguf", "\x1b[2J.gguf"];
        assert!(matches!(selected("hf:a/b", &files), Err(HubError::NoGguf { .. })));
    }
}
