//! The pre-tokenizers by their names in `tokenizer.ggml.pre`.
//!
//! **Source**: the patterns in the vocabularies' own `tokenizer.json` files, and llama.cpp's
//! `llama-vocab.cpp`.

use super::sets;
use super::splitter::{Alphabet, Bos, PreTokenizer};
use super::stage::{CharacterRun, Prefix, SplitStage};
use super::word_rules::{AfterPunctuation, LM, Newlines, Spaces, Word, WordRules};
use crate::unicode::{CharClass, Peeked};

/// Splits by `stages`, without special rules.
const fn plain(stages: &'static [SplitStage]) -> PreTokenizer {
    PreTokenizer { stages, ignore_merges: false, bos: Bos::OnRequest, alphabet: Alphabet::Bytes }
}

const fn ignoring_merges(of: PreTokenizer) -> PreTokenizer {
    PreTokenizer { ignore_merges: true, ..of }
}

const fn adding_bos(of: PreTokenizer) -> PreTokenizer {
    PreTokenizer { bos: Bos::ByDefault, ..of }
}

/// Splits only into lines; merges work on plain text.
const fn by_lines(newline_runs: bool) -> PreTokenizer {
    PreTokenizer { alphabet: Alphabet::Text { newline_runs }, ..plain(&[LINES]) }
}

/// A run of characters without a prefix.
const fn run(of: fn(Peeked) -> bool) -> CharacterRun {
    CharacterRun { prefix: Prefix::Nothing, of, max: usize::MAX }
}

const fn runs(of: fn(Peeked) -> bool) -> SplitStage {
    SplitStage::Runs(run(of))
}

/// A run of characters with an optional white-space character before it.
const fn spaced_runs(of: fn(Peeked) -> bool) -> SplitStage {
    SplitStage::Runs(CharacterRun { prefix: Prefix::AnyWhiteSpace, of, max: usize::MAX })
}

/// Each of these characters separately.
const fn singles(of: fn(Peeked) -> bool) -> SplitStage {
    SplitStage::Runs(CharacterRun { prefix: Prefix::Nothing, of, max: 1 })
}

const NUMBERS: SplitStage = runs(|c| c.class.any(CharClass::NUMBER));
const LINE_BREAK: SplitStage = singles(|c| matches!(c.char, '\r' | '\n'));
const LINES: SplitStage = SplitStage::AnyRun(&[run(|c| c.char != '\n'), run(|c| c.char == '\n')]);
const KANA_AND_HAN: SplitStage = runs(|c| sets::is_kana_or_han(c.char));

const GPT2: PreTokenizer = plain(&[SplitStage::Gpt2]);
const DIGITS_THEN_GPT2: PreTokenizer = plain(&[SplitStage::Digits(1), SplitStage::Gpt2]);
const LLAMA3: PreTokenizer = plain(&[SplitStage::Words(WordRules::LLAMA3)]);
const QWEN2: PreTokenizer = plain(&[SplitStage::Words(WordRules::QWEN2)]);
const GPT4O: PreTokenizer = plain(&[SplitStage::Words(WordRules::GPT4O)]);
const DEEPSEEK3: PreTokenizer =
    plain(&[SplitStage::Digits(3), KANA_AND_HAN, SplitStage::Words(WordRules::DEEPSEEK3)]);
/// Text up to sentence punctuation, with an optional space before it.
const SENTENCE_PART: SplitStage = SplitStage::Runs(CharacterRun {
    prefix: Prefix::Space,
    of: |c| !c.class.any(CharClass::SPACE) && !sets::ends_a_sentence_part(c.char),
    max: usize::MAX,
});
const SENTENCE_PARTS: PreTokenizer = plain(&[SENTENCE_PART]);
/// GPT-4o's rules for words of any case with their marks.
const MARKED_WORDS: WordRules = WordRules { word: Word::Run(LM), ..WordRules::GPT4O };

/// The names of each family, and its pre-tokenizer.
pub(super) static FAMILIES: &[(&[&str], PreTokenizer)] = &[
    (
        &["default"],
        plain(&[
            runs(|c| c.class.any(CharClass::PUNCTUATION) || "$+<=>^~|".contains(c.char)),
            SplitStage::Gpt2,
            NUMBERS,
            SplitStage::DigitTriples,
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
            SplitStage::Gpt2,
            SplitStage::DigitTriples,
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
        plain(&[SplitStage::Words(WordRules { spaces: Spaces::PowersOfTwo, ..WordRules::LLAMA3 })]),
    ),
    (
        &["minicpm5"],
        ignoring_merges(plain(&[
            SplitStage::Digits(3),
            SplitStage::Words(WordRules { max_digits: Some(usize::MAX), ..WordRules::LLAMA3 }),
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
    (&["qwen35"], plain(&[SplitStage::Words(WordRules::QWEN35)])),
    (&["laguna"], plain(&[LINES, SplitStage::Words(WordRules::QWEN2)])),
    (
        &["ufakzeka"],
        plain(&[SplitStage::Words(WordRules { contractions: false, ..WordRules::QWEN2 })]),
    ),
    (
        &["seed-coder"],
        plain(&[SplitStage::Words(WordRules {
            after_punctuation: AfterPunctuation::Nothing,
            ..WordRules::QWEN2
        })]),
    ),
    (
        &["exaone-moe"],
        plain(&[SplitStage::Words(WordRules {
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
            SplitStage::TrailingSpace,
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
            SplitStage::Digits(1),
        ]),
    ),
    (&["deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"], DEEPSEEK3),
    (
        &["spark2_5"],
        plain(&[
            SplitStage::Digits(3),
            KANA_AND_HAN,
            SplitStage::Words(WordRules {
                after_punctuation: AfterPunctuation::Nothing,
                newlines: Newlines::Single,
                ..WordRules::DEEPSEEK3
            }),
            SplitStage::Digits(1),
        ]),
    ),
    (
        &["afmoe"],
        plain(&[
            SplitStage::TriplesFromTheRight,
            runs(|c| sets::is_asian(c.char)),
            SplitStage::Words(WordRules::DEEPSEEK3),
        ]),
    ),
    (&["kimi-k2"], plain(&[SplitStage::Words(WordRules::KIMI_K2)])),
    (
        &["tekken"],
        adding_bos(ignoring_merges(plain(&[SplitStage::Words(WordRules {
            contraction_suffix: false,
            max_digits: Some(1),
            ..WordRules::GPT4O
        })]))),
    ),
    (&["gpt-4o", "o200k", "llama4", "kanana2", "talkie", "minimax-m2"], GPT4O),
    (&["granite-embed-multi-97m"], ignoring_merges(GPT4O)),
    (
        &["tiny_aya", "cohere2moe"],
        plain(&[SplitStage::TriplesFromTheRight, SplitStage::Words(MARKED_WORDS)]),
    ),
    (
        &["youtu"],
        ignoring_merges(plain(&[
            SplitStage::AnyRun(&[
                run(|c| sets::is_hangul(c.char)),
                run(|c| sets::is_wide_punctuation(c.char)),
                run(|c| sets::is_bopomofo(c.char)),
                run(|c| sets::is_kana_or_han(c.char)),
            ]),
            SplitStage::Words(WordRules { max_digits: Some(1), ..MARKED_WORDS }),
        ])),
    ),
    (&["poro-chat", "bloom", "gpt3-finnish"], SENTENCE_PARTS),
    (&["viking"], plain(&[SENTENCE_PART, SplitStage::Digits(1)])),
    (&["superbpe"], plain(&[NUMBERS, SplitStage::AsciiTriplesFromTheRight])),
    (
        &["chameleon"],
        adding_bos(plain(&[
            SplitStage::Sentinel,
            SplitStage::ImageToken,
            SplitStage::Indent,
            SplitStage::Digits(1),
            singles(|c| c.class.any(CharClass::PUNCTUATION) || c.char.is_ascii_punctuation()),
            SplitStage::Gpt2,
        ])),
    ),
    (&["gemma4", "granite-embed-multi-311m"], PreTokenizer { bos: Bos::Always, ..by_lines(true) }),
    (&["sarvam-moe"], by_lines(false)),
];
