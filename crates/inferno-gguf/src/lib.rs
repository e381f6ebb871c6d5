//! The GGUF file format: typed metadata, tensor index, memory-mapped payloads, writer.
