//! Options of llm.

use super::Meaning::{Advice, NoEffect, SameAs};
use super::{Entry, GENERATING};

pub(super) const OPTIONS: &[Entry] = &[
    (&["--schema"], GENERATING, SameAs("--json-schema")),
    (
        &["-o", "--option"],
        GENERATING,
        Advice("use the option itself, for example --temperature 0.7"),
    ),
    (
        &["--schema-multi", "-T", "--tool", "--functions"],
        GENERATING,
        Advice("use generate --chat --input FILE with tools, or inferno serve"),
    ),
    (
        &["-a", "--attachment"],
        GENERATING,
        Advice("attachments are not supported; pass text on standard input"),
    ),
    (
        &["--continue", "--cid", "--conversation-id"],
        GENERATING,
        Advice("use /save and /load in inferno chat"),
    ),
    (&["--no-stream"], GENERATING, NoEffect { reason: "the output is the same", has_value: false }),
    (
        &["--no-log", "--log"],
        GENERATING,
        NoEffect { reason: "nothing is logged", has_value: false },
    ),
    (&["-u", "--usage"], GENERATING, SameAs("--stats")),
    (
        &["-x", "--extract", "--xl", "--extract-last"],
        GENERATING,
        Advice("the whole output is printed; use another program to extract code"),
    ),
];
