//! The word-splitting rules of vocabulary families, as data for `words`.

use crate::unicode::CharClass;

/// The rules of one vocabulary family.
#[derive(Clone, Copy)]
pub(super) struct WordRules {
    /// Whether `'s`, `'re`, … in any case are separate pieces.
    pub contractions: bool,
    /// Whether an ASCII punctuation mark belongs to the ASCII letters after it; this is tried first.
    pub punctuated_words: bool,
    /// The definition of a word.
    pub word: Word,
    /// Characters that cannot be the optional prefix of a word, in addition to `\r` and `\n`.
    pub no_prefix: CharClass,
    /// Whether a contraction belongs to the word before it.
    pub contraction_suffix: bool,
    /// Maximum number of digits per piece; `None` leaves digits to other stages.
    pub max_digits: Option<usize>,
    /// The definition of punctuation.
    pub punctuation: Punctuation,
    /// Characters after punctuation that belong to its piece.
    pub after_punctuation: AfterPunctuation,
    /// How line breaks are split.
    pub newlines: Newlines,
    /// How other white space is split.
    pub spaces: Spaces,
}

/// The definition of a word.
#[derive(Clone, Copy)]
pub(super) enum Word {
    /// A run of characters of these classes.
    Run(CharClass),
    /// A run of letters and marks with capitals only at its start: `HelloWorld` is two words.
    Cased,
    /// Letters with their marks, and single spaces between them.
    Phrase,
    /// A run of Chinese characters, or a run of other letters.
    HanApart,
}

/// The definition of punctuation.
#[derive(Clone, Copy)]
pub(super) enum Punctuation {
    /// Characters with none of these classes.
    AllBut(CharClass),
    /// Characters with one of these classes.
    Only(CharClass),
}

/// Characters after punctuation that belong to its piece.
#[derive(Clone, Copy)]
pub(super) enum AfterPunctuation {
    Nothing,
    LineBreaks,
    LineBreaksAndSlashes,
    OneLineBreakOrSlash,
}

/// How line breaks are split.
#[derive(Clone, Copy)]
pub(super) enum Newlines {
    /// White space up to the last line break of its run is one piece.
    WithSpaces,
    /// A line break that starts a run is a separate piece.
    Single,
}

/// How white space without line breaks is split.
#[derive(Clone, Copy)]
pub(super) enum Spaces {
    /// The last character of a run belongs to the word after it.
    LeaveOne,
    /// Like `LeaveOne`, in powers of two up to 512.
    PowersOfTwo,
}

const SLN: CharClass = CharClass::SPACE.union(CharClass::LETTER).union(CharClass::NUMBER);
const LN: CharClass = CharClass::LETTER.union(CharClass::NUMBER);
pub(super) const LM: CharClass = CharClass::LETTER.union(CharClass::MARK);
const PS: CharClass = CharClass::PUNCTUATION.union(CharClass::SYMBOL);

impl WordRules {
    /// Llama 3: at most three digits per piece.
    pub const LLAMA3: Self = Self {
        contractions: true,
        punctuated_words: false,
        word: Word::Run(CharClass::LETTER),
        no_prefix: LN,
        contraction_suffix: false,
        max_digits: Some(3),
        punctuation: Punctuation::AllBut(SLN),
        after_punctuation: AfterPunctuation::LineBreaks,
        newlines: Newlines::WithSpaces,
        spaces: Spaces::LeaveOne,
    };
    /// Qwen 2: every digit is a piece.
    pub const QWEN2: Self = Self { max_digits: Some(1), ..Self::LLAMA3 };
    /// Qwen 3.5: marks belong to words.
    pub const QWEN35: Self = Self {
        word: Word::Run(LM),
        punctuation: Punctuation::AllBut(SLN.union(CharClass::MARK)),
        ..Self::QWEN2
    };
    /// DeepSeek V3: earlier stages split off digits and Chinese.
    pub const DEEPSEEK3: Self = Self {
        contractions: false,
        punctuated_words: true,
        word: Word::Run(LM),
        no_prefix: CharClass::LETTER.union(PS),
        max_digits: None,
        punctuation: Punctuation::Only(PS),
        ..Self::LLAMA3
    };
    /// GPT-4o: marks belong to words, capitals only at their start, contractions at their end. (The rules of llama.cpp have no marks,
    /// and no capitals beyond ASCII; those of the vocabularies, in `tokenizer.json`, have both.)
    pub const GPT4O: Self = Self {
        contractions: false,
        word: Word::Cased,
        contraction_suffix: true,
        after_punctuation: AfterPunctuation::LineBreaksAndSlashes,
        ..Self::LLAMA3
    };
    /// Kimi K2: separate Chinese, contractions at the end of words.
    pub const KIMI_K2: Self = Self {
        contractions: false,
        word: Word::HanApart,
        contraction_suffix: true,
        ..Self::LLAMA3
    };
}
