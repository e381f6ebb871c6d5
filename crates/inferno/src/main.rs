//! The `inferno` command.

fn main() {}
