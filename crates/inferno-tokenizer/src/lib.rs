//! Tokenizers rebuilt from GGUF metadata: byte-level BPE, SentencePiece, Unigram, WordPiece.
