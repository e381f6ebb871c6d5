//! The rules by which families of vocabularies cut words, as data; `words` is the code that reads
//! them.

use crate::unicode::CharClass;

/// How one family of vocabularies splits text.
#[derive(Clone, Copy)]
pub(super) struct WordRules {
    /// Whether `'s`, `'re`, … in any case are pieces of their own.
    pub contractions: bool,
    /// Whether one ASCII punctuation mark joins the ASCII letters after it, before anything else is
    /// tried.
    pub punctuated_words: bool,
    /// What a word is.
    pub word: Word,
    /// One character other than `\r`, `\n` and these may stand before a word.
    pub no_prefix: CharClass,
    /// Whether a contraction ends the word before it.
    pub contraction_suffix: bool,
    /// The most digits in one piece; `None` leaves digits to other stages.
    pub max_digits: Option<usize>,
    /// What punctuation is.
    pub punctuation: Punctuation,
    /// What may follow punctuation in its piece.
    pub after_punctuation: AfterPunctuation,
    /// How line breaks are split.
    pub newlines: Newlines,
    /// How other white space is split.
    pub spaces: Spaces,
}

/// What a word is.
#[derive(Clone, Copy)]
pub(super) enum Word {
    /// A run of characters of these classes.
    Run(CharClass),
    /// A run of these classes in which ASCII capitals may only lead: `HelloWorld` is two words.
    Cased(CharClass),
    /// Letters, each with its marks, and the single spaces between them.
    Phrase,
    /// A run of Chinese characters, or one of other letters.
    HanApart,
}

/// What punctuation is.
#[derive(Clone, Copy)]
pub(super) enum Punctuation {
    /// Characters with none of these classes.
    AllBut(CharClass),
    /// Characters with one of these classes.
    Only(CharClass),
}

/// What may follow punctuation in its piece.
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
    /// A line break that starts a run is a piece of its own.
    Single,
}

/// How white space without line breaks is split.
#[derive(Clone, Copy)]
pub(super) enum Spaces {
    /// A run leaves its last character to the word after it.
    LeaveOne,
    /// As `LeaveOne`, in powers of two up to 512.
    PowersOfTwo,
}

const SLN: CharClass = CharClass::SPACE.union(CharClass::LETTER).union(CharClass::NUMBER);
const LN: CharClass = CharClass::LETTER.union(CharClass::NUMBER);
pub(super) const LM: CharClass = CharClass::LETTER.union(CharClass::MARK);
const PS: CharClass = CharClass::PUNCTUATION.union(CharClass::SYMBOL);

impl WordRules {
    /// Llama 3, with up to three digits in a piece.
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
    /// Qwen 2: every digit apart.
    pub const QWEN2: Self = Self { max_digits: Some(1), ..Self::LLAMA3 };
    /// Qwen 3.5: marks belong to words.
    pub const QWEN35: Self = Self {
        word: Word::Run(LM),
        punctuation: Punctuation::AllBut(SLN.union(CharClass::MARK)),
        ..Self::QWEN2
    };
    /// DeepSeek V3: digits and Chinese are split off by earlier stages.
    pub const DEEPSEEK3: Self = Self {
        contractions: false,
        punctuated_words: true,
        word: Word::Run(LM),
        no_prefix: CharClass::LETTER.union(PS),
        max_digits: None,
        punctuation: Punctuation::Only(PS),
        ..Self::LLAMA3
    };
    /// GPT-4o: capitals only lead, contractions end words.
    pub const GPT4O: Self = Self {
        contractions: false,
        word: Word::Cased(CharClass::LETTER),
        contraction_suffix: true,
        after_punctuation: AfterPunctuation::LineBreaksAndSlashes,
        ..Self::LLAMA3
    };
    /// Kimi K2: Chinese apart, contractions end words.
    pub const KIMI_K2: Self = Self {
        contractions: false,
        word: Word::HanApart,
        contraction_suffix: true,
        ..Self::LLAMA3
    };
}
