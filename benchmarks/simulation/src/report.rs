//! The results of a run, as a Markdown table and as CSV.

use std::io::{self, Write};

use crate::error::Error;
use crate::recorder::Recorder;
use crate::router::Policy;

/// The results of one run.
#[derive(Debug, Clone)]
pub struct Report {
    /// Whether it was simulated or measured.
    pub source: &'static str,
    /// The policy of the router.
    pub policy: Policy,
    /// Number of replicas.
    pub num_replicas: usize,
    /// Conversations per second and replica.
    pub rate: f64,
    /// The times of the requests.
    pub measured: Recorder,
    /// Average used share of the machines in the measured time, from 0 to 1.
    pub utilization: Option<f64>,
    /// Number of times that a sequence lost its blocks.
    pub preemptions: Option<u64>,
    /// Price of all machines per hour.
    pub price_per_hour: Option<f64>,
}

/// A column: its title in the table, its name in CSV, and its value with the number of decimal places in the table.
struct Column {
    title: &'static str,
    name: &'static str,
    decimals: usize,
    value: fn(&Report) -> Option<f64>,
}

const COLUMNS: [Column; 12] = [
    column("replicas", "replicas", 0, |run| Some(run.num_replicas as f64)),
    column("conversations/s per replica", "rate", 3, |run| Some(run.rate)),
    column("requests", "requests", 0, |run| Some(run.measured.num_requests() as f64)),
    column("first token p50 (s)", "first_token_p50", 3, |run| Some(run.measured.first_token(50.0))),
    column("p99", "first_token_p99", 3, |run| Some(run.measured.first_token(99.0))),
    column("between tokens p50 (s)", "between_tokens_p50", 4, |run| {
        Some(run.measured.between_tokens(50.0))
    }),
    column("p99", "between_tokens_p99", 4, |run| Some(run.measured.between_tokens(99.0))),
    column("hit rate", "hit_rate", 3, |run| Some(run.measured.hit_rate())),
    column("tokens/s", "tokens_per_second", 1, |run| Some(run.measured.tokens_per_second())),
    column("utilization", "utilization", 3, |run| run.utilization),
    column("preemptions", "preemptions", 0, |run| run.preemptions.map(|count| count as f64)),
    column(
        "cost per million tokens",
        "cost_per_million_tokens",
        2,
        Report::cost_per_million_tokens,
    ),
];

const fn column(
    title: &'static str,
    name: &'static str,
    decimals: usize,
    value: fn(&Report) -> Option<f64>,
) -> Column {
    Column { title, name, decimals, value }
}

impl Report {
    /// Returns the price of a million generated tokens; `None` without a price or tokens.
    pub fn cost_per_million_tokens(&self) -> Option<f64> {
        let tokens_per_hour = self.measured.tokens_per_second() * 3600.0;
        self.price_per_hour
            .filter(|_| tokens_per_hour > 0.0)
            .map(|price| price / tokens_per_hour * 1e6)
    }

    /// Returns the row in CSV.
    pub fn csv(&self) -> String {
        let values = COLUMNS.iter().map(|column| (column.value)(self));
        let values = values.map(|value| value.map_or(String::new(), |value| value.to_string()));
        let labels = [self.source, self.policy.name()].map(str::to_owned);
        labels.into_iter().chain(values).collect::<Vec<_>>().join(",")
    }

    /// Returns the first row in CSV.
    pub fn csv_header() -> String {
        ["source", "policy"]
            .into_iter()
            .chain(COLUMNS.iter().map(|it| it.name))
            .collect::<Vec<_>>()
            .join(",")
    }
}

/// Checks that each run has a measured request, without which its figures are zeros.
///
/// **Errors**: [`Error::NothingMeasured`].
pub fn check_measured(runs: &[Report]) -> Result<(), Error> {
    match runs.iter().find(|run| run.measured.num_requests() == 0) {
        None => Ok(()),
        Some(&Report { source, num_replicas, rate, .. }) => {
            Err(Error::NothingMeasured { source_name: source, num_replicas, rate })
        }
    }
}

/// Writes a Markdown table; columns without values are omitted.
pub fn write_table(runs: &[Report], output: &mut dyn Write) -> io::Result<()> {
    let columns: Vec<&Column> = COLUMNS
        .iter()
        .filter(|column| runs.iter().any(|run| (column.value)(run).is_some()))
        .collect();
    let titles = columns.iter().map(|column| column.title).collect::<Vec<_>>().join(" | ");
    writeln!(output, "| | policy | {titles} |\n|---|---|{}", "---:|".repeat(columns.len()))?;
    for run in runs {
        let cell = |column: &&Column| match (column.value)(run) {
            Some(value) => format!("{value:.*}", column.decimals),
            None => String::new(),
        };
        let cells = columns.iter().map(cell).collect::<Vec<_>>().join(" | ");
        writeln!(output, "| {} | {} | {cells} |", run.source, run.policy.name())?;
    }
    Ok(())
}

/// Writes by how much each simulated figure differs from the measured one, and returns the largest difference of the
/// median and tail latencies, the hit rate and the throughput, relative to the measured value.
pub fn write_deviations(
    measured: &Report,
    simulated: &Report,
    output: &mut dyn Write,
) -> io::Result<f64> {
    const COMPARED: [&str; 6] = [
        "first_token_p50",
        "first_token_p99",
        "between_tokens_p50",
        "between_tokens_p99",
        "hit_rate",
        "tokens_per_second",
    ];
    let mut largest: f64 = 0.0;
    for column in COLUMNS.iter().filter(|column| COMPARED.contains(&column.name)) {
        let values = (column.value)(measured).zip((column.value)(simulated));
        let Some((measured, simulated)) = values.filter(|(measured, _)| *measured > 0.0) else {
            continue;
        };
        let deviation = simulated / measured - 1.0;
        largest = largest.max(deviation.abs());
        writeln!(output, "{:<20} {:+6.1}%", column.name, deviation * 100.0)?;
    }
    Ok(largest)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::Parser;

    use super::*;
    use crate::recorder::RequestTimes;
    use crate::workload::Workload;

    #[derive(Parser)]
    struct Arguments {
        #[command(flatten)]
        workload: Workload,
    }

    /// One request at second 2 of 12, with tokens at seconds 3, 4 and 5; the warm-up ends at second 2.
    fn report() -> Report {
        let arguments = Arguments::parse_from(["test", "--warm-up", "2", "--duration", "12"]);
        let mut measured = Recorder::new(&arguments.workload);
        let mut times = RequestTimes::new(Duration::from_secs(2), 100);
        times.cached_tokens = 64;
        (3..=5).for_each(|second| measured.token(&mut times, Duration::from_secs(second)));
        measured.finished(&times);
        let (policy, rate) = (Policy::LeastLoaded, 0.5);
        Report {
            source: "simulated",
            policy,
            num_replicas: 1,
            rate,
            measured,
            utilization: None,
            preemptions: None,
            price_per_hour: Some(0.54),
        }
    }

    #[test]
    fn a_table_has_the_columns_with_values() {
        let mut table = Vec::new();
        write_table(&[report()], &mut table).expect("memory can be written");
        let table = String::from_utf8(table).expect("text");
        let row = table.lines().last().expect("a row");
        // 3 tokens in 10 seconds: 1080 per hour for 0.54.
        assert_eq!(
            row,
            "| simulated | least loaded | 1 | 0.500 | 1 | 1.000 | 1.000 | 1.0004 | 1.0004 | 0.640 | 0.3 | 500.00 |"
        );
        assert!(!table.contains("utilization"));
    }

    #[test]
    fn a_run_without_measured_requests_is_an_error() {
        let mut empty = report();
        assert!(check_measured(&[report()]).is_ok());
        empty.measured = Recorder::new(&Arguments::parse_from(["test"]).workload);
        let error = check_measured(&[report(), empty]).expect_err("nothing was measured");
        assert!(error.to_string().contains("no simulated request"), "{error}");
    }

    #[test]
    fn csv_has_a_value_or_nothing_in_each_column() {
        let (header, row) = (Report::csv_header(), report().csv());
        assert_eq!(header.split(',').count(), row.split(',').count());
        assert!(row.contains(",,"), "{row}");
    }

    #[test]
    fn deviations_are_relative_to_the_measured_values() {
        let mut slower = report();
        slower
            .measured
            .token(&mut RequestTimes::new(Duration::from_secs(2), 0), Duration::from_secs(6));
        let mut lines = Vec::new();
        let largest =
            write_deviations(&report(), &slower, &mut lines).expect("memory can be written");
        // The slower request needs four seconds to its first token instead of one, in the tail.
        assert!((largest - 3.0).abs() < 0.01, "{largest}");
    }
}
