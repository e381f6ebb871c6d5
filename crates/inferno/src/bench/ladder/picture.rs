//! The ladder as an SVG chart: time per token of every rung, for prefill and decode, on a logarithmic axis.
//!
//! The chart has its own style and follows the light or dark color scheme of the reader.

use std::fmt::Write;

use super::table::{milliseconds, significant};
use super::{Ladder, Rung};
use crate::bench::Spread;

const WIDTH: f64 = 760.0;
const MARGIN: f64 = 12.0;
/// Left end of the bars, right of the names.
const BARS_LEFT: f64 = 200.0;
/// Length of the axis; the labels of the longest bars are to its right.
const AXIS_LENGTH: f64 = 400.0;
/// Top of the first rung, below the titles and the legend.
const TOP: f64 = 84.0;
/// Height of a rung: two bars and the space to the next rung.
const RUNG_HEIGHT: f64 = 44.0;
const BAR_HEIGHT: f64 = 15.0;
const BAR_STEP: f64 = 17.0;
/// Height of the axis labels below the last rung.
const AXIS_HEIGHT: f64 = 30.0;
/// From the top of a bar to the baseline of its label.
const BASELINE: f64 = 12.0;

const STYLE: &str = "\
text { font: 12px system-ui, sans-serif; fill: #24292f }
.title { font-size: 14px; font-weight: 600 }
.faint { fill: #6e7781 }
.end { text-anchor: middle }
.prefill { fill: #4f7cac }
.decode { fill: #d2691e }
.grid { stroke: #d0d7de }
.spread { stroke: #24292f; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .faint { fill: #9198a1 }
  .prefill { fill: #6ca0dc }
  .decode { fill: #f0883e }
  .grid { stroke: #3d444d }
  .spread { stroke: #e6edf3 }
}";

impl Ladder {
    /// Returns the chart as an SVG document.
    pub fn svg(&self) -> String {
        let bottom = TOP + self.rungs.len() as f64 * RUNG_HEIGHT;
        let height = bottom + AXIS_HEIGHT;
        let title = escaped(&format!("Time per token, {}", self.model));
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
             viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">\n<style>\n{STYLE}\n</style>\n"
        );
        text(&mut svg, MARGIN, 24.0, "title", &title);
        let processor = self.processor.as_deref().unwrap_or("unknown processor");
        let subtitle = format!("{processor}; shorter is better; logarithmic scale");
        text(&mut svg, MARGIN, 44.0, "faint", &escaped(&subtitle));
        legend(&mut svg);
        let axis = LogAxis::new(&self.rungs);
        axis.draw(&mut svg, bottom);
        for (row, rung) in self.rungs.iter().enumerate() {
            let top = TOP + row as f64 * RUNG_HEIGHT;
            text(&mut svg, MARGIN, top + BAR_STEP / 2.0 + BASELINE, "", &escaped(&rung.name));
            bar(&mut svg, top, "prefill", &rung.prefill, &axis);
            bar(&mut svg, top + BAR_STEP, "decode", &rung.decode, &axis);
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// Maps milliseconds per token to lengths.
struct LogAxis {
    /// Exponents of ten at both ends.
    first: i32,
    last: i32,
}

impl LogAxis {
    fn new(rungs: &[Rung]) -> Self {
        let times = || {
            let speeds = rungs.iter().flat_map(|rung| [rung.prefill, rung.decode]);
            speeds.flat_map(|speed| [milliseconds(speed.max), milliseconds(speed.min)])
        };
        let first = times().fold(f64::INFINITY, f64::min).log10().floor() as i32;
        let last = times().fold(0.0, f64::max).log10().ceil() as i32;
        Self { first, last: last.max(first + 1) }
    }

    fn position(&self, milliseconds: f64) -> f64 {
        let share =
            (milliseconds.log10() - f64::from(self.first)) / f64::from(self.last - self.first);
        BARS_LEFT + share * AXIS_LENGTH
    }

    /// Draws a grid line with a label for every power of ten.
    fn draw(&self, svg: &mut String, bottom: f64) {
        for exponent in self.first..=self.last {
            let value = 10f64.powi(exponent);
            let x = self.position(value);
            line(svg, "grid", (x, TOP - 6.0), (x, bottom));
            let label =
                if exponent == self.last { format!("{value} ms") } else { value.to_string() };
            text(svg, x, bottom + 18.0, "faint end", &label);
        }
    }
}

fn legend(svg: &mut String) {
    for (x, phase) in [(BARS_LEFT, "prefill"), (BARS_LEFT + 80.0, "decode")] {
        rectangle(svg, phase, x, 58.0, 12.0);
        text(svg, x + 18.0, 58.0 + BASELINE, "", phase);
    }
}

/// Draws the median as a bar, minimum and maximum as a line, and the figures.
fn bar(svg: &mut String, top: f64, phase: &str, speed: &Spread, axis: &LogAxis) {
    let [median, shortest, longest] =
        [speed.median, speed.max, speed.min].map(|speed| axis.position(milliseconds(speed)));
    rectangle(svg, phase, BARS_LEFT, top, median - BARS_LEFT);
    let middle = top + BAR_HEIGHT / 2.0;
    line(svg, "spread", (shortest, middle), (longest, middle));
    let time = significant(milliseconds(speed.median));
    let label = format!("{time} ms ({} tokens/s)", significant(speed.median));
    text(svg, longest + 8.0, top + BASELINE, "", &label);
}

fn rectangle(svg: &mut String, class: &str, x: f64, y: f64, width: f64) {
    // Writing to a string does not fail.
    let _ = writeln!(
        svg,
        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BAR_HEIGHT}\" rx=\"2\"/>"
    );
}

fn line(svg: &mut String, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
    let _ = writeln!(
        svg,
        "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
    );
}

fn text(svg: &mut String, x: f64, y: f64, class: &str, text: &str) {
    let _ = writeln!(svg, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>");
}

/// Escapes text for XML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::LadderOptions;
    use super::*;
    use crate::BackendChoice;

    fn constant(tokens_per_second: f64) -> Spread {
        Spread::of(vec![tokens_per_second]).expect("one figure")
    }

    fn rung(name: &str, prefill: f64, decode: f64) -> Rung {
        Rung {
            name: name.to_owned(),
            kv_cache: true,
            backend: BackendChoice::Parallel,
            isa: None,
            num_threads: 1,
            weight_bytes: 1,
            prefill: constant(prefill),
            decode: constant(decode),
        }
    }

    #[test]
    fn bar_lengths_are_logarithmic_and_names_are_escaped() {
        let ladder = Ladder {
            model: "a<b>&\"c\".gguf".to_owned(),
            processor: None,
            options: LadderOptions::default(),
            rungs: vec![rung("one", 100.0, 1.0), rung("two", 1000.0, 10.0)],
            skipped: Vec::new(),
        };
        let svg = ladder.svg();
        let widths: Vec<f64> = svg
            .lines()
            .filter(|line| line.starts_with("<rect"))
            .map(|line| line.split("width=\"").nth(1).unwrap().split('"').next().unwrap())
            .map(|width| width.parse().unwrap())
            .skip(2) // The legend.
            .collect();
        // 10 and 1000 ms, then 1 and 100 ms, on an axis from 1 to 1000 ms.
        let lengths = [1.0, 3.0, 0.0, 2.0].map(|decades: f64| decades / 3.0 * AXIS_LENGTH);
        for (width, length) in widths.iter().zip(lengths) {
            assert!((width - length).abs() < 0.1, "{widths:?}");
        }
        assert_eq!(widths.len(), 4);
        assert!(svg.contains("a&lt;b&gt;&amp;&quot;c&quot;.gguf"), "{svg}");
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    }
}
