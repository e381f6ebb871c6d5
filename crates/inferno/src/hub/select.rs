//! Which files of a repository are the model that was asked for.
//!
//! Invariant: a selection is complete. A sharded checkpoint is selected whole, in order, or not at all. One that lacks a
//! shard stands in nobody's way but its own.

use std::collections::{BTreeSet, HashSet};

use inferno_gguf::ShardName;

use crate::Error;
use crate::hub::HubReference;

/// The quantizations that are taken where none was named, the preferred first.
const PREFERRED_QUANTS: [&str; 2] = ["Q4_K_M", "Q8_0"];

/// Chooses among the files of a repository; returns the files of one checkpoint in the order of its shards.
///
/// **Errors**: [`Error::NoSuchQuant`], [`Error::AmbiguousQuant`], [`Error::NoGguf`],
/// [`Error::IncompleteShards`].
pub(super) fn select(reference: &HubReference, files: &[String]) -> Result<Vec<String>, Error> {
    let checkpoints = checkpoints(files);
    let names = |checkpoints: &[&Checkpoint]| checkpoints.iter().map(|c| c.name()).collect();
    let all: Vec<&Checkpoint> = checkpoints.iter().collect();

    let chosen = match reference.quant() {
        Some(quant) => match matching(&checkpoints, quant)[..] {
            [one] => one,
            [] => {
                return Err(Error::NoSuchQuant {
                    reference: reference.clone(),
                    available: names(&all),
                });
            }
            ref several => {
                return Err(Error::AmbiguousQuant {
                    reference: reference.clone(),
                    matching: names(several),
                });
            }
        },
        None => {
            let preferred =
                PREFERRED_QUANTS.iter().find_map(|quant| match matching(&checkpoints, quant)[..] {
                    [one] => Some(one),
                    _ => None,
                });
            match (preferred, &all[..]) {
                (Some(preferred), _) => preferred,
                (None, [one]) => one,
                (None, []) => {
                    return Err(Error::NoGguf { reference: reference.clone() });
                }
                (None, several) => {
                    return Err(Error::AmbiguousQuant {
                        reference: reference.clone(),
                        matching: names(several),
                    });
                }
            }
        }
    };
    chosen.files(reference, files)
}

/// One checkpoint of a repository, whole or not.
struct Checkpoint {
    /// Its only file, or its first shard; stands for it in lists.
    first: String,
}

impl Checkpoint {
    fn name(&self) -> String {
        self.first.clone()
    }

    /// Whether `file` is one of its own.
    fn holds(&self, file: &str) -> bool {
        file == self.first
            || ShardName::parse(file).is_some_and(|name| name.sibling(1) == self.first)
    }

    /// All its files in order.
    ///
    /// **Errors**: [`Error::IncompleteShards`] where `present` lacks one.
    fn files(&self, reference: &HubReference, present: &[String]) -> Result<Vec<String>, Error> {
        let Some(name) = ShardName::parse(&self.first) else {
            return Ok(vec![self.first.clone()]);
        };
        let present: HashSet<&String> = present.iter().collect();
        (1..=name.count())
            .map(|number| name.sibling(number))
            .map(|file| match present.contains(&file) {
                true => Ok(file),
                false => {
                    Err(Error::IncompleteShards { reference: reference.clone(), missing: file })
                }
            })
            .collect()
    }
}

/// Gathers the files that hold weights of language models; shards of one checkpoint become one.
fn checkpoints(files: &[String]) -> Vec<Checkpoint> {
    let first = |path: &String| match ShardName::parse(path) {
        Some(name) => name.sibling(1),
        None => path.clone(),
    };
    let models = files.iter().filter(|path| is_model(path));
    let names: BTreeSet<String> = models.map(first).collect();
    let checkpoint = |first| Checkpoint { first };
    names.into_iter().map(checkpoint).collect()
}

/// Whether a file is a GGUF checkpoint of a language model, rather than an image projector or an importance matrix.
fn is_model(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    name.ends_with(".gguf")
        && !name.contains("mmproj")
        && !name.contains("imatrix")
        && is_inside(path)
}

/// Whether a path from the hub stays inside of the snapshot's folder, and cannot steer a terminal.
fn is_inside(path: &str) -> bool {
    let is_plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', ':']);
    path.split('/').all(is_plain) && !path.contains(char::is_control)
}

/// The checkpoints that a quantization's name, or a file's, stands for.
fn matching<'a>(checkpoints: &'a [Checkpoint], quant: &str) -> Vec<&'a Checkpoint> {
    // A file may be named without its folder, and a checkpoint by any of its shards.
    let is_named = |checkpoint: &&Checkpoint| {
        let in_its_folder = match checkpoint.first.rsplit_once('/') {
            Some((folder, _)) => checkpoint.holds(&format!("{folder}/{quant}")),
            None => false,
        };
        in_its_folder || checkpoint.holds(quant)
    };
    let exact: Vec<_> = checkpoints.iter().filter(is_named).collect();
    if !exact.is_empty() {
        return exact;
    }
    checkpoints.iter().filter(|c| names_quant(&c.first, quant)).collect()
}

/// Whether `quant` stands in `path` as a word of its own: `Q4_K` is not in `model-Q4_K_M.gguf`.
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

    fn selected(reference: &str, files: &[&str]) -> Result<Vec<String>, Error> {
        let files: Vec<String> = files.iter().map(|&file| file.to_owned()).collect();
        select(&reference.parse()?, &files)
    }

    const QUANTS: [&str; 5] =
        ["README.md", "mmproj-m-Q8_0.gguf", "m-Q4_K_M.gguf", "m-Q4_K_S.gguf", "m-Q8_0.gguf"];

    #[test]
    fn a_quantization_is_found_by_its_name_in_any_case() {
        assert_eq!(selected("hf:a/b:q8_0", &QUANTS).unwrap(), ["m-Q8_0.gguf"]);
        assert_eq!(selected("hf:a/b:m-Q4_K_S.gguf", &QUANTS).unwrap(), ["m-Q4_K_S.gguf"]);
    }

    #[test]
    fn a_name_never_matches_a_part_of_another() {
        assert!(matches!(selected("hf:a/b:Q4_K", &QUANTS), Err(Error::NoSuchQuant { .. })));
        assert!(matches!(
            selected("hf:a/b:Q4_NL", &["m-IQ4_NL.gguf"]),
            Err(Error::NoSuchQuant { .. })
        ));
    }

    #[test]
    fn without_a_name_the_usual_quantizations_come_first() {
        assert_eq!(selected("hf:a/b", &QUANTS).unwrap(), ["m-Q4_K_M.gguf"]);
        assert_eq!(selected("hf:a/b", &["m-q8_0.gguf", "m-f16.gguf"]).unwrap(), ["m-q8_0.gguf"]);
        assert_eq!(selected("hf:a/b", &["only.gguf", "config.json"]).unwrap(), ["only.gguf"]);
    }

    #[test]
    fn several_that_could_be_meant_are_listed() {
        let error = selected("hf:a/b", &["m-f16.gguf", "m-q2_k.gguf"]).unwrap_err();
        let Error::AmbiguousQuant { matching, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(matching, ["m-f16.gguf", "m-q2_k.gguf"]);
    }

    #[test]
    fn shards_are_selected_whole_and_in_order() {
        let files = ["q8_0/m-00002-of-00002.gguf", "q8_0/m-00001-of-00002.gguf", "m-f16.gguf"];
        let expected = ["q8_0/m-00001-of-00002.gguf", "q8_0/m-00002-of-00002.gguf"];
        assert_eq!(selected("hf:a/b:Q8_0", &files).unwrap(), expected);
        assert!(matches!(
            selected("hf:a/b", &["m-00001-of-00002.gguf"]),
            Err(Error::IncompleteShards { .. })
        ));
    }

    #[test]
    fn a_broken_set_of_shards_leaves_the_others_alone() {
        let files = ["m-Q8_0.gguf", "m-F16-00002-of-00002.gguf", "m-Q2_K.gguf"];
        assert_eq!(selected("hf:a/b:Q8_0", &files).unwrap(), ["m-Q8_0.gguf"]);
        assert_eq!(selected("hf:a/b", &files).unwrap(), ["m-Q8_0.gguf"]);
        for broken in ["hf:a/b:F16", "hf:a/b:m-F16-00002-of-00002.gguf"] {
            let error = selected(broken, &files).unwrap_err();
            let Error::IncompleteShards { missing, .. } = error else {
                panic!("{error}");
            };
            assert_eq!(missing, "m-F16-00001-of-00002.gguf");
        }
    }

    #[test]
    fn a_number_with_a_sign_is_no_shard_s() {
        let file = "m-+0001-of-00002.gguf";
        assert_eq!(selected("hf:a/b", &[file]).unwrap(), [file]);
    }

    #[test]
    fn a_repository_without_models_says_so() {
        let files = ["model.safetensors", "../evil.gguf", "/etc/evil.gguf", "\x1b[2J.gguf"];
        assert!(matches!(selected("hf:a/b", &files), Err(Error::NoGguf { .. })));
    }
}
