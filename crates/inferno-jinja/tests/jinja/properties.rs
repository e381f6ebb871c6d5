//! Templates that were mutated: each parses or fails, renders or fails, and stays within its limits.

use inferno_jinja::{Context, Error, Limits, Template};
use proptest::prelude::*;
use serde_json::{Map, Value};

const LIMITS: Limits = Limits { steps: 50_000, bytes: 1 << 20 };

fn context() -> Context {
    let fields: Map<String, Value> =
        serde_json::from_str(include_str!("../fixtures/input.json")).unwrap();
    let mut context = Context::new();
    fields.iter().for_each(|(name, value)| context.set(name, value));
    context
}

fn templates() -> Vec<&'static str> {
    include_str!("../fixtures/templates.txt").split("\n---\n").collect()
}

/// Renders a template if it parses, and checks that the output is within its limit.
fn check(source: &str) -> Result<(), TestCaseError> {
    if let Ok(template) = Template::parse(source) {
        match template.render(&context(), LIMITS) {
            Ok(text) => prop_assert!(text.len() <= LIMITS.bytes),
            Err(Error::TooManySteps { limit }) => prop_assert_eq!(limit, LIMITS.steps),
            Err(Error::TooManyBytes { limit }) => prop_assert_eq!(limit, LIMITS.bytes),
            Err(_) => {}
        }
    }
    Ok(())
}

/// The characters of a template with some of them replaced, removed or repeated.
fn mutated(source: &str, edits: &[(usize, char, u8)]) -> String {
    let mut characters: Vec<char> = source.chars().collect();
    for &(at, character, kind) in edits {
        let at = at % characters.len().max(1);
        match kind % 4 {
            _ if characters.is_empty() => characters.push(character),
            0 => characters[at] = character,
            1 => drop(characters.remove(at)),
            2 => characters.insert(at, character),
            _ => {
                let end = (at + 20).min(characters.len());
                let repeated = characters[at..end].to_vec();
                characters.splice(at..at, repeated);
            }
        }
    }
    characters.into_iter().collect()
}

fn special_character() -> impl Strategy<Value = char> {
    let marks = "{}%#()[]|.,:=+-*/~<>!'\"\\ \n\t_0129aex\u{301}é😀";
    prop::sample::select(marks.chars().collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn mutated_templates_do_not_panic(
        template in prop::sample::select(templates()),
        edits in prop::collection::vec((any::<usize>(), special_character(), any::<u8>()), 1..6),
    ) {
        check(&mutated(template, &edits))?;
    }

    #[test]
    fn tags_of_several_templates_together_do_not_panic(
        parts in prop::collection::vec(prop::sample::select(templates()), 1..4),
    ) {
        check(&parts.concat())?;
    }
}
