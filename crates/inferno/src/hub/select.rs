//! Which files of a repository are the model that was asked for.
//!
//! Invariant: a selection is complete. A sharded checkpoint is selected whole, in order, or not at all.

use crate::Error;
use crate::hub::HubReference;

/// The quantizations that are taken where none was named, the preferred first.
const PREFERRED_QUANTS: [&str; 2] = ["Q4_K_M", "Q8_0"];

/// Chooses among the files of a repository; returns the files of one checkpoint in the order of its shards.
///
/// **Errors**: [`Error::NoSuchQuant`], [`Error::AmbiguousQuant`], [`Error::NoGguf`],
/// [`Error::IncompleteShards`]; each lists what is there.
pub(super) fn select(reference: &HubReference, files: &[String]) -> Result<Vec<String>, Error> {
    let checkpoints = checkpoints(reference, files)?;
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
                PREFERRED_QUANTS
                    .iter()
                    .find_map(|quant| match matching(&checkpoints, quant)[..] {
                        [one] => Some(one),
                        _ => None,
                    });
            match (preferred, &all[..]) {
                (Some(preferred), _) => preferred,
                (None, [one]) => one,
                (None, []) => {
                    return Err(Error::NoGguf {
                        reference: reference.clone(),
                    });
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
    Ok(chosen.files.clone())
}

/// One checkpoint of a repository: one file, or its shards in order.
struct Checkpoint {
    files: Vec<String>,
}

impl Checkpoint {
    /// The name that stands for it in lists: that of its first file.
    fn name(&self) -> String {
        self.files[0].clone()
    }
}

/// Gathers the files that hold weights of language models; shards of one checkpoint become one.
fn checkpoints(reference: &HubReference, files: &[String]) -> Result<Vec<Checkpoint>, Error> {
    let mut sorted: Vec<&String> = files.iter().filter(|path| is_model(path)).collect();
    sorted.sort();
    let mut checkpoints = Vec::new();
    for path in sorted.iter().copied() {
        let Some(shard) = Shard::parse(path) else {
            checkpoints.push(Checkpoint {
                files: vec![path.clone()],
            });
            continue;
        };
        if shard.number != 1 {
            continue;
        }
        let files: Vec<String> = (1..=shard.count)
            .map(|number| shard.sibling(number))
            .collect();
        if let Some(missing) = files.iter().find(|file| !sorted.contains(file)) {
            return Err(Error::IncompleteShards {
                reference: reference.clone(),
                missing: missing.clone(),
            });
        }
        checkpoints.push(Checkpoint { files });
    }
    Ok(checkpoints)
}

/// Whether a file is a GGUF checkpoint of a language model, rather than an image projector or an importance matrix.
fn is_model(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    name.ends_with(".gguf")
        && !name.contains("mmproj")
        && !name.contains("imatrix")
        && is_inside(path)
}

/// Whether a path from the hub stays inside of the snapshot's folder.
fn is_inside(path: &str) -> bool {
    let is_plain =
        |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', ':', '\0']);
    path.split('/').all(is_plain)
}

/// The checkpoints that a quantization's name, or a file's, stands for.
fn matching<'a>(checkpoints: &'a [Checkpoint], quant: &str) -> Vec<&'a Checkpoint> {
    let is_file = |path: &String| path == quant || path.rsplit('/').next() == Some(quant);
    let exact: Vec<_> = checkpoints
        .iter()
        .filter(|c| c.files.iter().any(is_file))
        .collect();
    if !exact.is_empty() {
        return exact;
    }
    checkpoints
        .iter()
        .filter(|c| names_quant(&c.files[0], quant))
        .collect()
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

/// The parts of a shard's name, `PREFIX-00001-of-00003.gguf`.
struct Shard<'a> {
    prefix: &'a str,
    number: u32,
    count: u32,
}

impl<'a> Shard<'a> {
    fn parse(path: &'a str) -> Option<Self> {
        let (rest, count) = path.strip_suffix(".gguf")?.rsplit_once("-of-")?;
        let (prefix, number) = rest.rsplit_once('-')?;
        let parse = |digits: &str| match digits.len() {
            5 => digits.parse().ok(),
            _ => None,
        };
        let (number, count) = (parse(number)?, parse(count)?);
        (1..=count).contains(&number).then_some(Self {
            prefix,
            number,
            count,
        })
    }

    fn sibling(&self, number: u32) -> String {
        format!("{}-{number:05}-of-{:05}.gguf", self.prefix, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(reference: &str, files: &[&str]) -> Result<Vec<String>, Error> {
        let files: Vec<String> = files.iter().map(|&file| file.to_owned()).collect();
        select(&reference.parse()?, &files)
    }

    const QUANTS: [&str; 5] = [
        "README.md",
        "mmproj-m-Q8_0.gguf",
        "m-Q4_K_M.gguf",
        "m-Q4_K_S.gguf",
        "m-Q8_0.gguf",
    ];

    #[test]
    fn a_quantization_is_found_by_its_name_in_any_case() {
        assert_eq!(selected("hf:a/b:q8_0", &QUANTS).unwrap(), ["m-Q8_0.gguf"]);
        assert_eq!(
            selected("hf:a/b:m-Q4_K_S.gguf", &QUANTS).unwrap(),
            ["m-Q4_K_S.gguf"]
        );
    }

    #[test]
    fn a_name_never_matches_a_part_of_another() {
        assert!(matches!(
            selected("hf:a/b:Q4_K", &QUANTS),
            Err(Error::NoSuchQuant { .. })
        ));
        assert!(matches!(
            selected("hf:a/b:Q4_NL", &["m-IQ4_NL.gguf"]),
            Err(Error::NoSuchQuant { .. })
        ));
    }

    #[test]
    fn without_a_name_the_usual_quantizations_come_first() {
        assert_eq!(selected("hf:a/b", &QUANTS).unwrap(), ["m-Q4_K_M.gguf"]);
        assert_eq!(
            selected("hf:a/b", &["m-q8_0.gguf", "m-f16.gguf"]).unwrap(),
            ["m-q8_0.gguf"]
        );
        assert_eq!(
            selected("hf:a/b", &["only.gguf", "config.json"]).unwrap(),
            ["only.gguf"]
        );
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
        let files = [
            "q8_0/m-00002-of-00002.gguf",
            "q8_0/m-00001-of-00002.gguf",
            "m-f16.gguf",
        ];
        let expected = ["q8_0/m-00001-of-00002.gguf", "q8_0/m-00002-of-00002.gguf"];
        assert_eq!(selected("hf:a/b:Q8_0", &files).unwrap(), expected);
        assert!(matches!(
            selected("hf:a/b", &["m-00001-of-00002.gguf"]),
            Err(Error::IncompleteShards { .. })
        ));
    }

    #[test]
    fn a_repository_without_models_says_so() {
        let files = ["model.safetensors", "../evil.gguf", "/etc/evil.gguf"];
        assert!(matches!(
            selected("hf:a/b", &files),
            Err(Error::NoGguf { .. })
        ));
    }
}
