use clap::Parser;

use super::*;
use crate::cost::CostModel;

#[derive(Parser)]
#[command(args_override_self = true)]
struct Arguments {
    #[command(flatten)]
    workload: Workload,
    #[command(flatten)]
    options: ReplicaOptions,
    #[command(flatten)]
    machines: Machines,
    #[command(flatten)]
    router: RouterOptions,
}

const COSTS: CostModel = CostModel {
    step: 0.01,
    token: 0.0005,
    token_after_8: 0.0,
    decode_sequence: 0.0005,
    decode_context_token: 0.0,
    prompt_context_token: 0.0,
};

fn run(policy: Policy, num_replicas: usize, rate: f64, arguments: &[&str]) -> Report {
    let defaults = ["test", "--duration", "300", "--warm-up", "60", "--system-tokens", "128"];
    let parsed = Arguments::parse_from([&defaults, arguments].concat());
    let Arguments { workload, options, machines, router } = &parsed;
    let scenario = Scenario {
        workload,
        options,
        costs: COSTS.into(),
        machines,
        policy,
        router: *router,
        num_replicas,
        rate,
    };
    scenario.run()
}

#[test]
fn a_simulation_is_reproducible() {
    let run = || run(Policy::CacheAware, 4, 0.2, &["--burst", "4", "--seed", "3"]);
    let (first, second) = (run().csv(), run().csv());
    assert_eq!(first, second);
}

#[test]
fn a_single_request_takes_the_time_of_its_steps() {
    // The first seed with one conversation of one turn in the whole run.
    let mut reports = (0..100).map(|seed: u32| {
        let seed = seed.to_string();
        run(Policy::RoundRobin, 1, 0.004, &["--warm-up", "0", "--turns", "1", "--seed", &seed])
    });
    let report = reports.find(|report| report.measured.num_requests() == 1).expect("a seed");
    let between = report.measured.between_tokens(50.0);
    assert!((between - 0.011).abs() < 0.0001, "{between}");
    let per_step = report.measured.between_tokens(99.0);
    assert!((per_step - 0.011).abs() < 0.0001, "{per_step}");
}

#[test]
fn the_warm_up_and_the_time_after_the_last_arrival_do_not_count_as_idle() {
    // Four times the capacity, so that the only step-less time is before the first arrival.
    let report = run(Policy::RoundRobin, 1, 2.0, &["--duration", "120"]);
    let utilization = report.utilization.expect("machines are simulated");
    assert!((utilization - 1.0).abs() < 1e-9, "{utilization}");
}

#[test]
fn a_warm_up_must_be_shorter_than_the_run() {
    let workload = |arguments: [&str; 3]| Arguments::parse_from(arguments).workload;
    let too_short = workload(["test", "--duration", "100"]).check();
    assert!(matches!(too_short, Err(crate::error::Error::NothingAfterWarmUp { .. })));
    assert!(workload(["test", "--duration", "201"]).check().is_ok());
}

#[test]
fn cache_aware_routing_finds_more_prefixes_than_round_robin() {
    let hit_rate = |policy| run(policy, 8, 0.2, &[]).measured.hit_rate();
    let single = run(Policy::RoundRobin, 1, 0.2, &[]).measured.hit_rate();
    let (round_robin, cache_aware) = (hit_rate(Policy::RoundRobin), hit_rate(Policy::CacheAware));
    assert!(cache_aware > round_robin + 0.1, "{cache_aware} {round_robin}");
    assert!(cache_aware > single - 0.1, "{cache_aware} {single}");
}

#[test]
fn the_least_loaded_replica_answers_sooner_in_bursts() {
    let late = |policy| run(policy, 8, 0.3, &["--burst", "5"]).measured.first_token(99.0);
    assert!(late(Policy::LeastLoaded) < late(Policy::RoundRobin));
}

#[test]
fn replicas_that_share_cores_are_slower() {
    let shared = ["--replicas-per-machine", "4", "--full-speed-replicas", "1"];
    let alone = run(Policy::LeastLoaded, 4, 0.1, &shared[..2]);
    let sharing = run(Policy::LeastLoaded, 4, 0.1, &shared);
    assert!(sharing.measured.between_tokens(50.0) > 1.2 * alone.measured.between_tokens(50.0));
    assert!(sharing.utilization > alone.utilization);
}
