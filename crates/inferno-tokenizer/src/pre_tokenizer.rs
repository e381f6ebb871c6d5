//! How byte-level vocabularies cut a text into words before merging: the table of `tokenizer.ggml.pre`.
//!
//! The families are data. Where a vocabulary's own pattern and llama.cpp's reading of it differ (capitals and marks
//! outside ASCII), this follows llama.cpp, because GGUF files are made for it and checked with it.
//!
//! **Source**: the patterns in the vocabularies' own `tokenizer.json` files, and llama.cpp's `llama-vocab.cpp`.

mod gpt2;
mod literal;
mod sets;
mod stage;
mod words;

use crate::TokenizerError;
use crate::unicode::{CharClass, Peeked};
use stage::{Prefix, Run, Stage};
use words::{AfterPunctuation, LM, Newlines, Spaces, Word, WordRules};

/// What `tokenizer.ggml.pre` stands for: how to split, and the defaults that come with the name.
#[derive(Clone, Copy)]
pub(crate) struct PreTokenizer {
    stages: &'static [Stage],
    /// Whether a word that is a token as it stands is taken without merging.
    pub ignore_merges: bool,
    /// Whether a BOS token is added where the file does not say.
    pub add_bos: bool,
    /// Whether words are byte sequences, or text with `▁` for spaces.
    pub alphabet: Alphabet,
}

/// What the pieces of a BPE vocabulary are written in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alphabet {
    /// One printable character per byte.
    Bytes,
    /// Plain text.
    Text {
        /// Whether `▁` stands for a space.
        spaces_escaped: bool,
        /// Whether a run of newlines that is a token is taken without merging.
        newline_runs: bool,
    },
}

impl PreTokenizer {
    /// Finds a pre-tokenizer by name.
    pub fn named(name: &str) -> Result<Self, TokenizerError> {
        let family = FAMILIES.iter().find(|(names, _)| names.contains(&name));
        family
            .map(|&(_, pre_tokenizer)| pre_tokenizer)
            .ok_or_else(|| {
                let mut known: Vec<_> = FAMILIES
                    .iter()
                    .flat_map(|(names, _)| names.iter().copied())
                    .collect();
                known.sort_unstable();
                TokenizerError::UnknownPreTokenizer {
                    name: name.to_owned(),
                    known,
                }
            })
    }

    /// Hands the words of `text`, in order and without gaps, to `emit`.
    pub fn split<'t>(&self, text: &'t str, emit: &mut dyn FnMut(&'t str)) {
        apply(self.stages, text, emit);
    }
}

fn apply<'t>(stages: &[Stage], text: &'t str, emit: &mut dyn FnMut(&'t str)) {
    match stages {
        [] => emit(text),
        [only] => only.split(text, emit),
        [first, rest @ ..] => first.split(text, &mut |piece| apply(rest, piece, emit)),
    }
}

/// The Chinese characters that llama.cpp counts as such.
fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{2A6DF}' | '\u{2A700}'..='\u{2EBEF}' | '\u{2F800}'..='\u{2FA1F}')
}

/// Splits by `stages`, with no special rule.
const fn plain(stages: &'static [Stage]) -> PreTokenizer {
    PreTokenizer {
        stages,
        ignore_merges: false,
        add_bos: false,
        alphabet: Alphabet::Bytes,
    }
}

const fn ignoring_merges(of: PreTokenizer) -> PreTokenizer {
    PreTokenizer {
        ignore_merges: true,
        ..of
    }
}

const fn adding_bos(of: PreTokenizer) -> PreTokenizer {
    PreTokenizer {
        add_bos: true,
        ..of
    }
}

const fn on_text(of: PreTokenizer, spaces_escaped: bool, newline_runs: bool) -> PreTokenizer {
    PreTokenizer {
        alphabet: Alphabet::Text {
            spaces_escaped,
            newline_runs,
        },
        ..of
    }
}

/// A run of characters with nothing before it.
const fn run(of: fn(Peeked) -> bool) -> Run {
    Run {
        prefix: Prefix::Nothing,
        of,
        max: usize::MAX,
    }
}

const fn runs(of: fn(Peeked) -> bool) -> Stage {
    Stage::Runs(run(of))
}

/// A run of characters with perhaps one white space before it.
const fn spaced_runs(of: fn(Peeked) -> bool) -> Stage {
    Stage::Runs(Run {
        prefix: Prefix::AnyWhiteSpace,
        of,
        max: usize::MAX,
    })
}

/// Every such character apart.
const fn singles(of: fn(Peeked) -> bool) -> Stage {
    Stage::Runs(Run {
        prefix: Prefix::Nothing,
        of,
        max: 1,
    })
}

const NUMBERS: Stage = runs(|c| c.class.any(CharClass::NUMBER));
const LINE_BREAK: Stage = singles(|c| matches!(c.char, '\r' | '\n'));
const LINES: Stage = Stage::AnyRun(&[run(|c| c.char != '\n'), run(|c| c.char == '\n')]);
const KANA_AND_HAN: Stage = runs(|c| sets::is_kana_or_han(c.char));

const GPT2: PreTokenizer = plain(&[Stage::Gpt2]);
const DIGITS_THEN_GPT2: PreTokenizer = plain(&[Stage::Digits(1), Stage::Gpt2]);
const LLAMA3: PreTokenizer = plain(&[Stage::Words(WordRules::LLAMA3)]);
const QWEN2: PreTokenizer = plain(&[Stage::Words(WordRules::QWEN2)]);
const GPT4O: PreTokenizer = plain(&[Stage::Words(WordRules::GPT4O)]);
const DEEPSEEK3: PreTokenizer = plain(&[
    Stage::Digits(3),
    KANA_AND_HAN,
    Stage::Words(WordRules::DEEPSEEK3),
]);
/// Everything up to sentence punctuation, with one space before it.
const SENTENCE_PART: Stage = Stage::Runs(Run {
    prefix: Prefix::Space,
    of: |c| !c.class.any(CharClass::SPACE) && !sets::ends_a_sentence_part(c.char),
    max: usize::MAX,
});
const SENTENCE_PARTS: PreTokenizer = plain(&[SENTENCE_PART]);
/// GPT-4o's rules for words of any case with their marks.
const MARKED_WORDS: WordRules = WordRules {
    word: Word::Run(LM),
    ..WordRules::GPT4O
};

/// The names, and what each stands for.
static FAMILIES: &[(&[&str], PreTokenizer)] = &[
    (
        &["default"],
        plain(&[
            runs(|c| c.class.any(CharClass::PUNCTUATION) || "$+<=>^~|".contains(c.char)),
            Stage::Gpt2,
            NUMBERS,
            Stage::DigitTriples,
        ]),
    ),
    (
        &[
            "gpt-2",
            "phi-2",
            "mpt",
            "olmo",
            "jais",
            "trillion",
            "granite-docling",
            "exaone4",
            "gigachat",
            "jina-es",
            "jina-de",
            "jina-v2-es",
            "jina-v2-de",
            "jina-v1-en",
            "jina-v2-code",
            "roberta-bpe",
            "a.x-4.0",
            "mellum",
            "modern-bert",
        ],
        GPT2,
    ),
    (
        &[
            "starcoder",
            "refact",
            "command-r",
            "smollm",
            "codeshell",
            "exaone",
            "minerva-7b",
            "mellum2",
        ],
        DIGITS_THEN_GPT2,
    ),
    (
        &["falcon"],
        plain(&[
            runs(|c| c.class.any(CharClass::PUNCTUATION) || "$+<=>^~|`".contains(c.char)),
            Stage::Gpt2,
            Stage::DigitTriples,
        ]),
    ),
    (
        &[
            "llama-bpe",
            "llama3",
            "llama-v3",
            "falcon3",
            "falcon-h1",
            "pixtral",
            "midm-2.0",
            "lfm2",
            "jina-v5-nano",
        ],
        adding_bos(ignoring_merges(LLAMA3)),
    ),
    (&["dbrx", "smaug-bpe", "chatglm-bpe"], LLAMA3),
    (&["glm4", "glm5"], ignoring_merges(LLAMA3)),
    (
        &["jais-2"],
        plain(&[Stage::Words(WordRules {
            spaces: Spaces::PowersOfTwo,
            ..WordRules::LLAMA3
        })]),
    ),
    (
        &["minicpm5"],
        ignoring_merges(plain(&[
            Stage::Digits(3),
            Stage::Words(WordRules {
                max_digits: Some(usize::MAX),
                ..WordRules::LLAMA3
            }),
        ])),
    ),
    (
        &[
            "qwen2",
            "deepseek-r1-qwen",
            "megrez",
            "stablelm2",
            "hunyuan",
            "solar-open",
            "kormo",
            "f2llmv2",
            "grok-2",
            "bailingmoe",
            "bailingmoe2",
            "llada-moe",
        ],
        QWEN2,
    ),
    (&["qwen35"], plain(&[Stage::Words(WordRules::QWEN35)])),
    (&["laguna"], plain(&[LINES, Stage::Words(WordRules::QWEN2)])),
    (
        &["ufakzeka"],
        plain(&[Stage::Words(WordRules {
            contractions: false,
            ..WordRules::QWEN2
        })]),
    ),
    (
        &["seed-coder"],
        plain(&[Stage::Words(WordRules {
            after_punctuation: AfterPunctuation::Nothing,
            ..WordRules::QWEN2
        })]),
    ),
    (
        &["exaone-moe"],
        plain(&[Stage::Words(WordRules {
            word: Word::Phrase,
            after_punctuation: AfterPunctuation::OneLineBreakOrSlash,
            ..WordRules::QWEN2
        })]),
    ),
    (
        &["deepseek-llm"],
        plain(&[
            LINE_BREAK,
            spaced_runs(|c| sets::is_cased_letter(c.char)),
            spaced_runs(|c| sets::is_western_or_wide_punctuation(c.char)),
            Stage::TrailingSpace,
            runs(|c| sets::is_east_of_arabic(c.char)),
            NUMBERS,
        ]),
    ),
    (
        &["deepseek-coder"],
        plain(&[
            LINE_BREAK,
            spaced_runs(|c| c.class.any(CharClass::LETTER)),
            spaced_runs(|c| c.class.any(CharClass::PUNCTUATION)),
            runs(|c| sets::is_east_of_arabic(c.char)),
            Stage::Digits(1),
        ]),
    ),
    (
        &["deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"],
        DEEPSEEK3,
    ),
    (
        &["spark2_5"],
        plain(&[
            Stage::Digits(3),
            KANA_AND_HAN,
            Stage::Words(WordRules {
                after_punctuation: AfterPunctuation::Nothing,
                newlines: Newlines::Single,
                ..WordRules::DEEPSEEK3
            }),
            Stage::Digits(1),
        ]),
    ),
    (
        &["afmoe"],
        plain(&[
            Stage::TriplesFromTheRight,
            runs(|c| sets::is_asian(c.char)),
            Stage::Words(WordRules::DEEPSEEK3),
        ]),
    ),
    (&["kimi-k2"], plain(&[Stage::Words(WordRules::KIMI_K2)])),
    (
        &["tekken"],
        adding_bos(ignoring_merges(plain(&[Stage::Words(WordRules {
            contraction_suffix: false,
            max_digits: Some(1),
            ..WordRules::GPT4O
        })]))),
    ),
    (
        &["gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"],
        GPT4O,
    ),
    (
        &["granite-embed-multi-97m"],
        ignoring_merges(plain(&[Stage::Words(WordRules {
            word: Word::Cased(LM),
            ..WordRules::GPT4O
        })])),
    ),
    (
        &["tiny_aya", "cohere2moe"],
        plain(&[Stage::TriplesFromTheRight, Stage::Words(MARKED_WORDS)]),
    ),
    (
        &["youtu"],
        ignoring_merges(plain(&[
            Stage::AnyRun(&[
                run(|c| sets::is_hangul(c.char)),
                run(|c| sets::is_wide_punctuation(c.char)),
                run(|c| sets::is_bopomofo(c.char)),
                run(|c| sets::is_kana_or_han(c.char)),
            ]),
            Stage::Words(WordRules {
                max_digits: Some(1),
                ..MARKED_WORDS
            }),
        ])),
    ),
    (&["poro-chat", "bloom", "gpt3-finnish"], SENTENCE_PARTS),
    (&["viking"], plain(&[SENTENCE_PART, Stage::Digits(1)])),
    (
        &["superbpe"],
        plain(&[NUMBERS, Stage::AsciiTriplesFromTheRight]),
    ),
    (
        &["chameleon"],
        adding_bos(plain(&[
            Stage::Sentinel,
            Stage::ImageToken,
            Stage::Indent,
            Stage::Digits(1),
            singles(|c| c.class.any(CharClass::PUNCTUATION) || c.char.is_ascii_punctuation()),
            Stage::Gpt2,
        ])),
    ),
    (
        &["gemma4", "granite-embed-multi-311m"],
        adding_bos(on_text(plain(&[LINES]), true, true)),
    ),
    (&["sarvam-moe"], on_text(plain(&[LINES]), true, false)),
    (
        &["whitespace"],
        on_text(
            plain(&[runs(|c| !c.class.any(CharClass::SPACE))]),
            false,
            false,
        ),
    ),
];
