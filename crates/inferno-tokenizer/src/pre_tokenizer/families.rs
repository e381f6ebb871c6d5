//! The names that `tokenizer.ggml.pre` may have, and how each splits.
//!
//! **Source**: the patterns in the vocabularies' own `tokenizer.json` files, and llama.cpp's
//! `llama-vocab.cpp`.

use super::sets;
use super::stage::{Prefix, Run, Stage};
use super::word_rules::{AfterPunctuation, LM, Newlines, Spaces, Word, WordRules};
use super::{Alphabet, Bos, PreTokenizer};
use crate::unicode::{CharClass, Peeked};

/// Splits by `stages`, with no special rule.
const fn plain(stages: &'static [Stage]) -> PreTokenizer {
    PreTokenizer { stages, ignore_merges: false, bos: Bos::OnRequest, alphabet: Alphabet::Bytes }
}

const fn ignoring_merges(of: PreTokenizer) -> PreTokenizer {
    PreTokenizer { ignore_merges: true, ..of }
}

const fn adding_bos(of: PreTokenizer) -> PreTokenizer {
    PreTokenizer { bos: Bos::ByDefault, ..of }
}

/// Splits text into lines only; merges see plain text.
const fn by_lines(newline_runs: bool) -> PreTokenizer {
    PreTokenizer { alphabet: Alphabet::Text { newline_runs }, ..plain(&[LINES]) }
}

/// A run of characters with nothing before it.
const fn run(of: fn(Peeked) -> bool) -> Run {
    Run { prefix: Prefix::Nothing, of, max: usize::MAX }
}

const fn runs(of: fn(Peeked) -> bool) -> Stage {
    Stage::Runs(run(of))
}

/// A run of characters with perhaps one white space before it.
const fn spaced_runs(of: fn(Peeked) -> bool) -> Stage {
    Stage::Runs(Run { prefix: Prefix::AnyWhiteSpace, of, max: usize::MAX })
}

/// Every such character apart.
const fn singles(of: fn(Peeked) -> bool) -> Stage {
    Stage::Runs(Run { prefix: Prefix::Nothing, of, max: 1 })
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
const DEEPSEEK3: PreTokenizer =
    plain(&[Stage::Digits(3), KANA_AND_HAN, Stage::Words(WordRules::DEEPSEEK3)]);
/// Everything up to sentence punctuation, with one space before it.
const SENTENCE_PART: Stage = Stage::Runs(Run {
    prefix: Prefix::Space,
    of: |c| !c.class.any(CharClass::SPACE) && !sets::ends_a_sentence_part(c.char),
    max: usize::MAX,
});
const SENTENCE_PARTS: PreTokenizer = plain(&[SENTENCE_PART]);
/// GPT-4o's rules for words of any case with their marks.
const MARKED_WORDS: WordRules = WordRules { word: Word::Run(LM), ..WordRules::GPT4O };

/// The names, and what each stands for.
pub(super) static FAMILIES: &[(&[&str], PreTokenizer)] = &[
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
        plain(&[Stage::Words(WordRules { spaces: Spaces::PowersOfTwo, ..WordRules::LLAMA3 })]),
    ),
    (
        &["minicpm5"],
        ignoring_merges(plain(&[
            Stage::Digits(3),
            Stage::Words(WordRules { max_digits: Some(usize::MAX), ..WordRules::LLAMA3 }),
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
    (&["ufakzeka"], plain(&[Stage::Words(WordRules { contractions: false, ..WordRules::QWEN2 })])),
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
    (&["deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"], DEEPSEEK3),
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
    (&["gpt-4o", "o200k", "llama4", "kanana2", "talkie", "minimax-m2"], GPT4O),
    (
        &["granite-embed-multi-97m"],
        ignoring_merges(plain(&[Stage::Words(WordRules {
            word: Word::Cased(LM),
            ..WordRules::GPT4O
        })])),
    ),
    (&["tiny_aya", "cohere2moe"], plain(&[Stage::TriplesFromTheRight, Stage::Words(MARKED_WORDS)])),
    (
        &["youtu"],
        ignoring_merges(plain(&[
            Stage::AnyRun(&[
                run(|c| sets::is_hangul(c.char)),
                run(|c| sets::is_wide_punctuation(c.char)),
                run(|c| sets::is_bopomofo(c.char)),
                run(|c| sets::is_kana_or_han(c.char)),
            ]),
            Stage::Words(WordRules { max_digits: Some(1), ..MARKED_WORDS }),
        ])),
    ),
    (&["poro-chat", "bloom", "gpt3-finnish"], SENTENCE_PARTS),
    (&["viking"], plain(&[SENTENCE_PART, Stage::Digits(1)])),
    (&["superbpe"], plain(&[NUMBERS, Stage::AsciiTriplesFromTheRight])),
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
    (&["gemma4", "granite-embed-multi-311m"], PreTokenizer { bos: Bos::Always, ..by_lines(true) }),
    (&["sarvam-moe"], by_lines(false)),
];
