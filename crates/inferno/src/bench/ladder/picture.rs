//! The ladder as a picture: bars of tokens written a second, on a logarithmic scale.
//!
//! The picture brings its own style and follows the reader's choice of light or dark.

use std::fmt::Write;

use super::{Ladder, Rung};

const WIDTH: f64 = 720.0;
/// Where bars begin; the names stand before them.
const BARS_LEFT: f64 = 190.0;
/// The longest bar; the figures stand after it.
const BARS_WIDTH: f64 = 400.0;
/// The shortest bar, so that the slowest rung is seen.
const LEAST_BAR: f64 = 12.0;
const ROW_HEIGHT: f64 = 28.0;
const BAR_HEIGHT: f64 = 18.0;
const TOP: f64 = 58.0;
/// Between the rungs and the formats, where their title stands.
const GAP: f64 = 36.0;

const STYLE: &str = "\
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-weight: 600 }
.faint { fill: #6e7781 }
.rung { fill: #d2691e }
.format { fill: #4f7cac }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .faint { fill: #9198a1 }
  .rung { fill: #f0883e }
  .format { fill: #6ca0dc }
}";

impl Ladder {
    /// The picture, as a whole SVG document.
    pub fn svg(&self) -> String {
        let (rungs, formats) = (self.rungs.len() as f64, self.formats.len() as f64);
        let gap = if self.formats.is_empty() { 0.0 } else { GAP };
        let height = TOP + (rungs + formats) * ROW_HEIGHT + gap + 10.0;
        let processor = self.processor.as_deref().unwrap_or("unknown processor");
        let title = escaped(&format!("Tokens a second, {}", self.model));
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
             viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">\n<style>\n{STYLE}\n</style>\n"
        );
        text(&mut svg, 12.0, 22.0, "title", &title);
        let below = format!("{processor}; inferno bench --ladder; logarithmic scale");
        text(&mut svg, 12.0, 42.0, "faint", &escaped(&below));
        let scale = Scale::of(self.rungs.iter().chain(&self.formats));
        for (row, rung) in self.rungs.iter().enumerate() {
            bar(&mut svg, TOP + row as f64 * ROW_HEIGHT, "rung", rung, &scale);
        }
        let top = TOP + rungs * ROW_HEIGHT + gap;
        if !self.formats.is_empty() {
            text(&mut svg, 12.0, top - 12.0, "title", "Weights, on the last rung");
        }
        for (row, rung) in self.formats.iter().enumerate() {
            bar(&mut svg, top + row as f64 * ROW_HEIGHT, "format", rung, &scale);
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// From tokens a second to the length of a bar.
struct Scale {
    least: f64,
    greatest: f64,
}

impl Scale {
    fn of<'a>(rungs: impl Iterator<Item = &'a Rung> + Clone) -> Self {
        let rates = rungs.map(|rung| rung.decode_tps);
        Self {
            least: rates.clone().fold(f64::INFINITY, f64::min),
            greatest: rates.fold(0.0, f64::max),
        }
    }

    fn length(&self, rate: f64) -> f64 {
        let decades = (self.greatest / self.least).ln();
        let share = if decades > 0.0 { (rate / self.least).ln() / decades } else { 1.0 };
        LEAST_BAR + share * (BARS_WIDTH - LEAST_BAR)
    }
}

fn bar(svg: &mut String, top: f64, class: &str, rung: &Rung, scale: &Scale) {
    let baseline = top + BAR_HEIGHT - 5.0;
    let length = scale.length(rung.decode_tps);
    text(svg, 12.0, baseline, "", &escaped(&rung.name));
    // Writing to a text does not fail.
    let _ = writeln!(
        svg,
        "<rect class=\"{class}\" x=\"{BARS_LEFT}\" y=\"{top}\" width=\"{length:.1}\" height=\"{BAR_HEIGHT}\" rx=\"3\"/>"
    );
    let digits = if rung.decode_tps < 10.0 { 2 } else { 0 };
    let figure = format!("{:.digits$}", rung.decode_tps);
    text(svg, BARS_LEFT + length + 8.0, baseline, "", &figure);
}

fn text(svg: &mut String, x: f64, y: f64, class: &str, text: &str) {
    let _ = writeln!(svg, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>");
}

/// A text as it stands in XML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::{LadderOptions, Rung};
    use super::*;
    use crate::BackendChoice;

    fn rung(name: &str, decode_tps: f64) -> Rung {
        Rung {
            name: name.to_owned(),
            kv_cache: true,
            backend: BackendChoice::Parallel,
            isa: None,
            num_threads: 1,
            weight_bytes: 1,
            prefill_tps: 1.0,
            decode_tps,
        }
    }

    #[test]
    fn bars_grow_with_the_logarithm_and_names_are_escaped() {
        let ladder = Ladder {
            model: "a<b>&\"c\".gguf".to_owned(),
            processor: None,
            options: LadderOptions::default(),
            rungs: vec![rung("one", 1.0), rung("two", 10.0)],
            formats: vec![rung("F32", 100.0)],
            notes: Vec::new(),
        };
        let svg = ladder.svg();
        let widths: Vec<f64> = svg
            .lines()
            .filter(|line| line.starts_with("<rect"))
            .map(|line| line.split("width=\"").nth(1).unwrap().split('"').next().unwrap())
            .map(|width| width.parse().unwrap())
            .collect();
        assert_eq!(widths, [LEAST_BAR, (LEAST_BAR + BARS_WIDTH) / 2.0, BARS_WIDTH]);
        assert!(svg.contains("a&lt;b&gt;&amp;&quot;c&quot;.gguf"), "{svg}");
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    }
}
