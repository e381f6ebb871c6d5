//! The command-line programs, run as processes, and the library that they are built on.

mod batch;
mod bench;
mod bench_serve;
mod chat;
mod compatibility;
mod config;
mod conversation;
mod embedded;
mod ember;
mod generate;
mod hybrid;
mod inspect;
mod int8;
mod loaded_model;
mod logits;
mod models;
mod output_format;
mod pull;
mod quantize;
mod recommended;
mod serve;
mod support;
mod template;
mod terminal;
mod tokenize;
