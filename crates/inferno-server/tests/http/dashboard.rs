//! The dashboard and the autoscaler in `deploy/` read metrics that the server exports.

use std::collections::BTreeSet;
use std::path::Path;

use inferno_engine::EngineOptions;
use inferno_server::ServerOptions;
use serde_json::{Value, json};

use crate::client::{get, post};
use crate::server::start_with;

fn deployment_file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The metrics in a query: names before a selector.
fn metrics(query: &str) -> Vec<&str> {
    let is_name = |character: char| character.is_ascii_alphanumeric() || "_:".contains(character);
    let before_selectors = query.match_indices('{').map(|(at, _)| &query[..at]);
    before_selectors
        .map(|before| &before[before.trim_end_matches(is_name).len()..])
        .filter(|name| !name.is_empty())
        .collect()
}

#[test]
fn dashboards_and_autoscalers_read_exported_metrics() {
    let options = EngineOptions { num_speculative_tokens: 8, ..EngineOptions::default() };
    let server = start_with(ServerOptions::default(), options);
    server.wait_until_ready();
    post(server.address, "/v1/completions", &json!({"prompt": "Once", "max_tokens": 3})).ok();
    let page = get(server.address, "/metrics").body;
    let exported: BTreeSet<&str> = page.lines().filter_map(|it| it.split('{').next()).collect();

    let dashboard: Value =
        serde_json::from_str(&deployment_file("monitoring/grafana-dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let queries: Vec<&str> = targets.map(|target| target["expr"].as_str().unwrap()).collect();
    assert!(queries.len() > 12, "{queries:?}");
    for query in queries {
        let names = metrics(query);
        assert!(!names.is_empty(), "no metric in {query}");
        for name in names {
            assert!(exported.contains(name), "{name} of {query} is not exported");
        }
    }
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    for query in variables.iter().filter_map(|variable| variable["query"]["query"].as_str()) {
        let name = query.strip_prefix("label_values(").and_then(|it| it.split(',').next()).unwrap();
        assert!(exported.contains(name), "{name} of {query} is not exported");
    }

    let autoscaler = deployment_file("kubernetes/autoscaler.yaml");
    let (_, metric) = autoscaler.split_once("metric:").unwrap();
    let name = metric.trim_start().strip_prefix("name: ").and_then(|it| it.lines().next()).unwrap();
    assert!(exported.contains(name), "{name} is not exported");
}
