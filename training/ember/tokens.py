"""The vocabulary: byte-level BPE with Qwen's pre-tokenizer and Qwen3's special tokens, in Qwen's order.

Source: the cutting is the pre-tokenizer that GGUF files call `qwen2`: contractions, words with one leading mark,
single digits, punctuation, line ends, spaces.
"""

from collections.abc import Iterator
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

VOCAB_SIZE = 4096

END_OF_TEXT = "<|endoftext|>"
TURN_START = "<|im_start|>"
TURN_END = "<|im_end|>"

#: Tokens that end or delimit a text; they are never printed.
CONTROL_TOKENS = [
    END_OF_TEXT,
    TURN_START,
    TURN_END,
    "<|object_ref_start|>",
    "<|object_ref_end|>",
    "<|box_start|>",
    "<|box_end|>",
    "<|quad_start|>",
    "<|quad_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
]
#: Tokens that are part of the text and are printed.
TEXT_TOKENS = [
    "<tool_call>",
    "</tool_call>",
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
    "<tool_response>",
    "</tool_response>",
    "<think>",
    "</think>",
]

CUT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def train(texts: Iterator[str]) -> Tokenizer:
    """Learns the merges from `texts`, which contain no special tokens."""
    tokenizer = _byte_level(models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE - len(CONTROL_TOKENS) - len(TEXT_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return _with_special_tokens(tokenizer)


def from_merges(vocabulary: dict[str, int], merges: list[tuple[str, str]]) -> Tokenizer:
    """Returns the tokenizer of a vocabulary given without its special tokens, which follow it in order."""
    return _with_special_tokens(_byte_level(models.BPE(vocab=vocabulary, merges=merges)))


def _byte_level(model: models.BPE) -> Tokenizer:
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(CUT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _with_special_tokens(tokenizer: Tokenizer) -> Tokenizer:
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in CONTROL_TOKENS])
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in TEXT_TOKENS])
    if tokenizer.get_vocab_size() != VOCAB_SIZE:
        raise ValueError(f"the vocabulary has {tokenizer.get_vocab_size()} tokens, not {VOCAB_SIZE}: too little text")
    return tokenizer


def load(path: Path) -> Tokenizer:
    """Reads a vocabulary written by `prepare`."""
    return Tokenizer.from_file(str(path))
