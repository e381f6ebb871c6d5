//! Decoder-only transformers over any Backend: configuration, weights, shared blocks, architectures.
