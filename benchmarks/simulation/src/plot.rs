//! Line plots of a sweep, one line per policy.

use std::path::Path;

use plotters::coord::Shift;
use plotters::coord::ranged1d::ValueFormatter;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::error::Error;
use crate::report::Report;
use crate::router::Policy;

const WIDTH: u32 = 860;
const HEIGHT: u32 = 380;
/// Height of the legend above the panels.
const LEGEND_HEIGHT: u32 = 34;
/// Distance between the entries of the legend.
const LEGEND_STEP: usize = 150;
/// The colors of the policies, which also people with color blindness can distinguish (Okabe and Ito, 2008).
const COLORS: [(Policy, RGBColor); 3] = [
    (Policy::RoundRobin, RGBColor(0xd5, 0x5e, 0x00)),
    (Policy::LeastLoaded, RGBColor(0x00, 0x72, 0xb2)),
    (Policy::CacheAware, RGBColor(0x00, 0x9e, 0x73)),
];

/// A figure of a run, by name.
type Figure = (&'static str, fn(&Report) -> f64);

const PANELS: [Figure; 2] = [
    ("99th percentile of the time to first token (s)", |run| run.measured.first_token(99.0)),
    ("prefix cache hit rate", |run| run.measured.hit_rate()),
];

/// Draws the time to the first token and the hit rate by the number of replicas, or by the rate if all runs have the same
/// number.
///
/// **Errors**: [`Error::Plot`].
pub fn draw(runs: &[Report], path: &Path) -> Result<(), Error> {
    let error = |cause: String| Error::Plot { path: path.to_owned(), cause };
    let root = SVGBackend::new(path, (WIDTH, HEIGHT)).into_drawing_area();
    root.fill(&WHITE).map_err(|cause| error(cause.to_string()))?;
    let (header, body) = root.split_vertically(LEGEND_HEIGHT);
    legend(&header, runs).map_err(error)?;
    let are_equal = runs.windows(2).all(|pair| pair[0].num_replicas == pair[1].num_replicas);
    let by_replicas: Figure = ("replicas", |run| run.num_replicas as f64);
    let by_rate: Figure = ("conversations per second and replica", |run| run.rate);
    let x = if are_equal { by_rate } else { by_replicas };
    for (panel, y) in body.split_evenly((1, PANELS.len())).iter().zip(PANELS) {
        let largest = |figure: Figure| runs.iter().map(figure.1).fold(f64::MIN_POSITIVE, f64::max);
        let smallest = runs.iter().map(x.1).fold(f64::INFINITY, f64::min);
        let (xs, ys) = (smallest..largest(x) * 1.001, 0.0..largest(y) * 1.05);
        let mut chart = ChartBuilder::on(panel);
        chart
            .caption(y.0, ("sans-serif", 15))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(52);
        let drawn = match are_equal {
            true => chart
                .build_cartesian_2d(xs, ys)
                .map_err(|cause| cause.to_string())
                .and_then(|chart| lines(chart, runs, x, y)),
            false => chart
                .build_cartesian_2d(xs.log_scale(), ys)
                .map_err(|cause| cause.to_string())
                .and_then(|chart| lines(chart, runs, x, y)),
        };
        drawn.map_err(error)?;
    }
    root.present().map_err(|cause| error(cause.to_string()))
}

/// Draws the names and the colors of the policies side by side.
fn legend(area: &DrawingArea<SVGBackend<'_>, Shift>, runs: &[Report]) -> Result<(), String> {
    let text = |cause: DrawingAreaErrorKind<_>| cause.to_string();
    let font = ("sans-serif", 15).into_text_style(area);
    let font = font.pos(Pos::new(HPos::Left, VPos::Center));
    let is_drawn = |policy| runs.iter().any(|run| run.policy == policy);
    let policies = COLORS.into_iter().filter(|&(policy, _)| is_drawn(policy));
    let middle = LEGEND_HEIGHT as i32 / 2;
    for ((policy, color), x) in policies.zip((64..).step_by(LEGEND_STEP)) {
        let line = PathElement::new([(x, middle), (x + 24, middle)], color.stroke_width(2));
        area.draw(&line).map_err(text)?;
        area.draw(&Circle::new((x + 12, middle), 3, color)).map_err(text)?;
        area.draw(&Text::new(policy.name(), (x + 32, middle), font.clone())).map_err(text)?;
    }
    Ok(())
}

/// Draws the axes and one line per policy.
fn lines<'a, X>(
    mut chart: ChartContext<'a, SVGBackend<'a>, Cartesian2d<X, RangedCoordf64>>,
    runs: &[Report],
    x: Figure,
    y: Figure,
) -> Result<(), String>
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let text = |cause: DrawingAreaErrorKind<_>| cause.to_string();
    chart.configure_mesh().x_desc(x.0).light_line_style(WHITE).draw().map_err(text)?;
    for (policy, color) in COLORS {
        let of_policy = runs.iter().filter(|run| run.policy == policy);
        let points: Vec<(f64, f64)> = of_policy.map(|run| ((x.1)(run), (y.1)(run))).collect();
        if points.is_empty() {
            continue;
        }
        let line = LineSeries::new(points, color.stroke_width(2)).point_size(3);
        chart.draw_series(line).map_err(text)?;
    }
    Ok(())
}
