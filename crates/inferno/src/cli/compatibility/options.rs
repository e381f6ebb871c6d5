//! Options of other programs, with the commands of inferno that understand them.

mod bench_serve;
mod llama_cpp;
mod llm;
mod lm_eval;
mod ollama;
mod spellings;
mod vllm;

/// What an option of another program means.
#[derive(Clone, Copy)]
pub(super) enum Meaning {
    /// The same as this option.
    SameAs(&'static str),
    /// The same as the first option if the value is a number, otherwise the same as the second one.
    ByValue { number: &'static str, text: &'static str },
    /// The same as the argument of the command.
    Argument,
    /// A repository on the hub.
    HubRepository,
    /// Nothing that affects the result.
    NoEffect { reason: &'static str, has_value: bool },
    /// Something that has no equivalent; what to do instead.
    Advice(&'static str),
    /// Something that has no equivalent unless it has one of these values, which request what inferno does anyway.
    AdviceUnless(&'static [&'static str], &'static str),
}

/// Names of an option, the commands with this meaning (none for all of them) and the meaning.
type Entry = (&'static [&'static str], &'static [&'static str], Meaning);

const GENERATING: &[&str] = &["generate", "chat", "run"];
/// Commands that sample tokens.
const TEXT: &[&str] = &["generate", "chat", "run", "serve", "batch"];
const SERVE: &[&str] = &["serve"];
/// Commands that answer API requests.
const SERVING: &[&str] = &["serve", "batch"];
const NO_SPLIT: &str =
    "a model runs on one GPU, and on the processor if it does not fit (see --gpu-layers)";
const AUTOMATIC: &str = "inferno handles this automatically";
const ALWAYS: &str = "it is always enabled";

const TABLES: [&[Entry]; 7] = [
    bench_serve::OPTIONS,
    llama_cpp::OPTIONS,
    ollama::OPTIONS,
    llm::OPTIONS,
    lm_eval::OPTIONS,
    vllm::OPTIONS,
    spellings::OPTIONS,
];

/// Returns the meaning of an option for a command.
pub(super) fn meaning(command: &str, option: &str) -> Option<Meaning> {
    let applies = |commands: &[&str]| commands.is_empty() || commands.contains(&command);
    let mut entries = TABLES.into_iter().flatten();
    let entry = entries.find(|(names, commands, _)| names.contains(&option) && applies(commands));
    entry.map(|(_, _, meaning)| *meaning)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use clap::CommandFactory;

    use super::*;
    use crate::cli::Inferno;
    use crate::cli::compatibility::translation::find_option;

    /// The command with this name, which is two words for a subcommand of a subcommand.
    fn command(name: &str) -> clap::Command {
        let words: Vec<_> =
            ["inferno"].into_iter().chain(name.split(' ')).map(Into::into).collect();
        let found = crate::cli::compatibility::subcommand(&Inferno::command(), &words).unwrap();
        assert_eq!(found.get_name(), name);
        found
    }

    /// Every name with every command that it has a meaning for.
    fn every_use() -> Vec<(&'static str, clap::Command, Meaning)> {
        let inferno = Inferno::command();
        let mut uses = Vec::new();
        for (names, commands, meaning) in TABLES.into_iter().flatten() {
            let all = inferno.get_subcommands().map(clap::Command::get_name);
            let commands = if commands.is_empty() { all.collect() } else { commands.to_vec() };
            for command_name in commands {
                uses.extend(names.iter().map(|name| (*name, command(command_name), *meaning)));
            }
        }
        uses
    }

    #[test]
    fn every_translation_leads_to_an_option() {
        let inferno = Inferno::command();
        for (names, commands, meaning) in TABLES.into_iter().flatten() {
            let targets = match meaning {
                Meaning::SameAs(option) => vec![*option],
                Meaning::ByValue { number, text } => vec![*number, *text],
                _ => continue,
            };
            for target in targets {
                let has = |command: &clap::Command| find_option(command, target).is_some();
                for name in *commands {
                    assert!(has(&command(name)), "{names:?}: {name} has no {target}");
                }
                if commands.is_empty() {
                    let known = inferno.get_subcommands().any(has);
                    assert!(known, "{names:?}: no command has {target}");
                }
            }
        }
    }

    #[test]
    fn arguments_are_those_of_commands_that_have_one() {
        for (name, command, meaning) in every_use() {
            if matches!(meaning, Meaning::Argument) {
                assert!(command.get_positionals().next().is_some(), "{name}");
            }
        }
    }

    #[test]
    fn no_option_has_two_meanings_for_a_command() {
        let mut seen = HashSet::new();
        for (name, command, _) in every_use() {
            let command = command.get_name().to_owned();
            assert!(seen.insert((name, command.clone())), "{name} of {command}");
        }
    }

    #[test]
    fn no_entry_is_an_option_of_the_command_itself() {
        for (name, command, _) in every_use() {
            let command_name = command.get_name();
            assert!(find_option(&command, name).is_none(), "{name} is an option of {command_name}");
        }
    }
}
