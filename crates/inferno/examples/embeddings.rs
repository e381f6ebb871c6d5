//! Embeddings: which of some texts is the most similar to another one?
//!
//! Run it with `cargo run --release --example embeddings [MODEL.gguf]`; a model trained for embeddings gives better
//! answers than the built-in one.

use inferno::Model;

fn main() -> Result<(), inferno::Error> {
    let model = match std::env::args().nth(1) {
        Some(path) => Model::open(path)?,
        None => Model::embedded()?,
    };
    let model = model.load()?;
    let query = "The dog ran into the garden.";
    let texts = ["A puppy played on the grass.", "It rained all day.", "She baked a warm pie."];
    let query_vector = model.embed(query)?;
    println!("{query}");
    for text in texts {
        // The vectors have length 1, so the dot product is the cosine of their angle.
        let vector = model.embed(text)?;
        let similarity: f32 = query_vector.iter().zip(&vector).map(|(a, b)| a * b).sum();
        println!("  {similarity:.3}  {text}");
    }
    Ok(())
}
