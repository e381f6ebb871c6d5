//! Simulates many inferno servers behind a router, with the engine's own scheduler and prefix cache.
//!
//! Time is virtual: a step takes as long as a [cost model](cost::CostModel) that was fitted to `inferno bench`. See
//! `docs/sizing.md` for results and their use.

mod cost;
mod error;
mod host;
mod measurements;
mod plot;
mod recorder;
mod replay;
mod replica;
mod report;
mod router;
mod simulation;
mod workload;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use clap::{Parser, Subcommand};
use serde_json::Value;

use cost::{CostModel, MachineCosts};
use error::Error;
use replay::{Measurement, Replay};
use replica::ReplicaOptions;
use report::Report;
use router::{Policy, RouterOptions};
use simulation::{Machines, Scenario};
use workload::Workload;

/// Simulate inferno servers behind a router
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Fit a cost model to measurements, and print it as JSON
    Fit {
        /// Reports written by inferno bench -o json
        #[arg(required = true)]
        reports: Vec<PathBuf>,
    },
    /// Simulate all combinations of policies, numbers of replicas and rates
    Sweep(Box<Sweep>),
    /// Replay a workload against real servers, simulate the same one, and compare
    Validate(Box<Validate>),
}

#[derive(clap::Args)]
struct CostArguments {
    /// Cost model written by fit
    #[arg(long, value_name = "FILE")]
    costs: PathBuf,
    /// Cost model measured by as many copies of bench at the same time as replicas compute at full speed [default: the same]
    #[arg(long, value_name = "FILE")]
    contended_costs: Option<PathBuf>,
    /// Time of a step beyond its forward pass, in milliseconds: scheduling, sampling, sending tokens [default: validate
    /// measures it with a single request; otherwise 0]
    #[arg(long, value_name = "MS", value_parser = workload::positive)]
    step_overhead: Option<f64>,
}

#[derive(clap::Args)]
struct Sweep {
    #[command(flatten)]
    costs: CostArguments,
    /// Routing policies [default: all]
    #[arg(long, value_name = "POLICY,…", value_delimiter = ',')]
    policy: Vec<Policy>,
    /// Numbers of replicas
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1,4,16,64")]
    replicas: Vec<std::num::NonZeroUsize>,
    /// Conversations per second and replica
    #[arg(long, value_name = "RATE,…", value_delimiter = ',', default_value = "0.1")]
    #[arg(value_parser = workload::positive)]
    rate: Vec<f64>,
    /// Also write the results as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Also draw the results as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    workload: Workload,
    #[command(flatten)]
    options: ReplicaOptions,
    #[command(flatten)]
    router: RouterOptions,
    #[command(flatten)]
    machines: Machines,
}

#[derive(clap::Args)]
struct Validate {
    #[command(flatten)]
    costs: CostArguments,
    /// Base URLs of the servers, which share one machine and have the options below
    #[arg(long, value_name = "URL,…", value_delimiter = ',', required_unless_present = "measured")]
    urls: Vec<String>,
    /// Also write when each request was answered
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Compare with a file written by --save instead of servers
    #[arg(long, value_name = "FILE", conflicts_with_all = ["urls", "save"])]
    measured: Option<PathBuf>,
    /// Routing policy
    #[arg(long, value_name = "POLICY", default_value = "cache-aware")]
    policy: Policy,
    /// Conversations per second and server
    #[arg(long, value_name = "RATE", default_value = "0.1", value_parser = workload::positive)]
    rate: f64,
    /// Fail if a figure differs by more than this percentage
    #[arg(long, value_name = "PERCENT", default_value = "15", value_parser = workload::positive)]
    tolerance: f64,
    /// Number of servers that compute at full speed together: the cores divided by the threads of a server
    #[arg(long, value_name = "N")]
    full_speed_replicas: std::num::NonZeroUsize,
    #[command(flatten)]
    workload: Workload,
    #[command(flatten)]
    options: ReplicaOptions,
    #[command(flatten)]
    router: RouterOptions,
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Fit { reports } => fit(&reports).map(|()| true),
        Command::Sweep(sweep) => sweep.run().map(|()| true),
        Command::Validate(validate) => validate.run(),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the cost model, and on standard error how well it fits.
fn fit(reports: &[PathBuf]) -> Result<(), Error> {
    let mut measured = Vec::new();
    for path in reports {
        let report: Value = read_json(path, "the output of inferno bench -o json")?;
        measured.extend(measurements::steps(&report));
    }
    let costs = CostModel::fit(&measured)?;
    for (work, seconds) in &measured {
        let deviation = (costs.seconds(work) / seconds - 1.0) * 100.0;
        eprintln!("{:8.2} ms measured, {deviation:+6.1}% fitted: {work:?}", seconds * 1e3);
    }
    println!("{}", serde_json::to_string_pretty(&costs).unwrap_or_default());
    Ok(())
}

impl Sweep {
    fn run(&self) -> Result<(), Error> {
        self.options.check(self.workload.context)?;
        self.workload.check()?;
        let costs = self.costs.read(0.0)?;
        let policies = match self.policy.as_slice() {
            [] => &[Policy::RoundRobin, Policy::LeastLoaded, Policy::CacheAware][..],
            policies => policies,
        };
        let mut scenarios = Vec::new();
        for &rate in &self.rate {
            for num_replicas in &self.replicas {
                // The policies do not matter for a single replica.
                let policies = if num_replicas.get() == 1 { &policies[..1] } else { policies };
                scenarios.extend(policies.iter().map(|&policy| Scenario {
                    workload: &self.workload,
                    options: &self.options,
                    costs,
                    machines: &self.machines,
                    policy,
                    router: self.router,
                    num_replicas: num_replicas.get(),
                    rate,
                }));
            }
        }
        let runs = run_all(&scenarios);
        report::check_measured(&runs)?;
        report::write_table(&runs, &mut io::stdout().lock())?;
        if let Some(path) = &self.csv {
            let lines = [Report::csv_header()].into_iter().chain(runs.iter().map(Report::csv));
            let text: String = lines.map(|line| line + "\n").collect();
            fs::write(path, text).map_err(|cause| Error::File { path: path.clone(), cause })?;
        }
        match &self.svg {
            Some(path) => plot::draw(&runs, path),
            None => Ok(()),
        }
    }
}

/// Runs all scenarios, as many at a time as there are processors, and returns their results in order.
fn run_all(scenarios: &[Scenario<'_>]) -> Vec<Report> {
    let results: Vec<Mutex<Option<Report>>> = scenarios.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let num_threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..num_threads {
            scope.spawn(|| {
                while let Some((scenario, result)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    scenarios.get(index).zip(results.get(index))
                } {
                    let report = scenario.run();
                    *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
                }
            });
        }
    });
    let report =
        |result: Mutex<Option<Report>>| result.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.into_iter().filter_map(report).collect()
}

impl Validate {
    /// Returns whether all figures are within the tolerance.
    fn run(&self) -> Result<bool, Error> {
        self.options.check(self.workload.context)?;
        self.workload.check()?;
        // The servers' replies are not known before they are generated.
        let workload = Workload { foreign_replies: true, ..self.workload.clone() };
        let measurement = match &self.measured {
            Some(path) => read_json(path, "a file written by inferno-simulation validate --save")?,
            None => self.replay(&workload)?,
        };
        let bare = self.costs.read(0.0)?.alone;
        let overhead = measurement.probe.as_ref().map_or(0.0, |probe| probe.overhead(&bare));
        let costs = self.costs.read(overhead)?;
        let num_replicas = measurement.num_servers;
        let measured = Report {
            source: "measured",
            policy: self.policy,
            num_replicas,
            rate: self.rate,
            measured: measurement.recorder(&workload),
            utilization: None,
            preemptions: None,
            price_per_hour: None,
        };
        let machines = Machines {
            replicas_per_machine: u32::try_from(num_replicas).unwrap_or(u32::MAX),
            full_speed_replicas: Some(self.full_speed_replicas),
            price: None,
        };
        let simulated = Scenario {
            workload: &workload,
            options: &self.options,
            costs,
            machines: &machines,
            policy: self.policy,
            router: self.router,
            num_replicas,
            rate: self.rate,
        }
        .run();
        let mut output = io::stdout().lock();
        let runs = [measured, simulated];
        report::write_table(&runs, &mut output)?;
        report::check_measured(&runs)?;
        writeln!(output)?;
        let largest = report::write_deviations(&runs[0], &runs[1], &mut output)?;
        Ok(largest * 100.0 <= self.tolerance)
    }

    /// Sends the requests to the servers.
    fn replay(&self, workload: &Workload) -> Result<Measurement, Error> {
        let replay = Replay {
            workload,
            urls: &self.urls,
            policy: self.policy,
            router: self.router,
            rate: self.rate,
            cache_tokens: self.options.kv_cache_tokens,
        };
        let measurement = replay.run()?;
        if let Some(path) = &self.save {
            let text = serde_json::to_string(&measurement).unwrap_or_default();
            fs::write(path, text).map_err(|cause| Error::File { path: path.clone(), cause })?;
        }
        Ok(measurement)
    }
}

impl CostArguments {
    /// Reads the costs. The overhead of steps is the one of the arguments or else `overhead`, in seconds.
    fn read(&self, overhead: f64) -> Result<MachineCosts, Error> {
        let read = |path: &PathBuf| -> Result<CostModel, Error> {
            read_json(path, "a cost model written by inferno-simulation fit")
        };
        let alone = read(&self.costs)?;
        let contended = self.contended_costs.as_ref().map(read).transpose()?.unwrap_or(alone);
        let overhead = self.step_overhead.map_or(overhead, |milliseconds| milliseconds / 1e3);
        Ok(MachineCosts { alone, contended, overhead })
    }
}

fn read_json<T: serde::de::DeserializeOwned>(
    path: &Path,
    expected: &'static str,
) -> Result<T, Error> {
    let text =
        fs::read_to_string(path).map_err(|cause| Error::File { path: path.to_owned(), cause })?;
    serde_json::from_str(&text).map_err(|cause| Error::Json {
        path: path.to_owned(),
        expected,
        cause,
    })
}
