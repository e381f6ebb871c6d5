//! inferno: an LLM inference engine written from scratch.
