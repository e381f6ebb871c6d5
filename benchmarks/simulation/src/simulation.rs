//! The event loop: conversations send requests, a router distributes them, replicas compute them step by step.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroUsize;
use std::time::Duration;

use crate::cost::MachineCosts;
use crate::host::Host;
use crate::recorder::{Recorder, RequestTimes};
use crate::replica::{Progress, Replica, ReplicaOptions};
use crate::report::Report;
use crate::router::{Policy, Router, RouterOptions};
use crate::workload::{Dialog, Workload};

/// The machines that replicas run on.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Machines")]
pub struct Machines {
    /// Number of replicas per machine
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub replicas_per_machine: u32,
    /// Number of replicas of a machine that compute at full speed together, its cores divided by the threads of a replica;
    /// more of them share the cores [default: all]
    #[arg(long, value_name = "N")]
    pub full_speed_replicas: Option<NonZeroUsize>,
    /// Price of a machine per hour; without it, no costs are reported
    #[arg(long, value_name = "PRICE", value_parser = crate::workload::positive)]
    pub price: Option<f64>,
}

/// What to simulate.
#[derive(Debug, Clone, Copy)]
pub struct Scenario<'a> {
    /// The conversations.
    pub workload: &'a Workload,
    /// The options of each replica.
    pub options: &'a ReplicaOptions,
    /// The durations of steps.
    pub costs: MachineCosts,
    /// The machines.
    pub machines: &'a Machines,
    /// The policy of the router.
    pub policy: Policy,
    /// The options of the router.
    pub router: RouterOptions,
    /// Number of replicas.
    pub num_replicas: usize,
    /// Conversations per second and replica.
    pub rate: f64,
}

impl Scenario<'_> {
    fn num_machines(&self) -> usize {
        self.num_replicas.div_ceil(self.machines.replicas_per_machine as usize)
    }

    /// Runs the simulation until the last request has ended.
    pub fn run(&self) -> Report {
        Simulation::new(self).run()
    }
}

/// What happens at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A conversation sends its next message.
    Message { conversation: usize },
    /// A step ends on a machine, unless another one has started there since.
    StepEnd { machine: usize, version: u64 },
}

/// A request on its way.
struct OpenRequest {
    conversation: usize,
    replica: usize,
    think_time: Duration,
    times: RequestTimes,
}

struct Simulation<'a> {
    scenario: &'a Scenario<'a>,
    router: Router,
    replicas: Vec<Replica>,
    machines: Vec<Host>,
    /// Number of changes of each machine.
    versions: Vec<u64>,
    /// Events by time; those at the same time in the order in which they were added.
    events: BinaryHeap<Reverse<(Duration, u64, Event)>>,
    num_events: u64,
    /// The conversations that have not ended.
    dialogs: Vec<Option<Dialog>>,
    requests: Vec<OpenRequest>,
    recorder: Recorder,
}

impl<'a> Simulation<'a> {
    fn new(scenario: &'a Scenario<'a>) -> Self {
        let &Scenario { workload, options, machines, num_replicas, .. } = scenario;
        let replicas_per_machine = machines.replicas_per_machine as usize;
        let num_cores =
            machines.full_speed_replicas.map_or(replicas_per_machine, NonZeroUsize::get);
        let num_machines = scenario.num_machines();
        let mut simulation = Self {
            scenario,
            router: Router::new(
                scenario.policy,
                scenario.router,
                num_replicas,
                options.kv_cache_tokens,
            ),
            replicas: (0..num_replicas).map(|_| Replica::new(options)).collect(),
            machines: (0..num_machines)
                .map(|_| Host::new(num_cores, workload.measured_time()))
                .collect(),
            versions: vec![0; num_machines],
            events: BinaryHeap::new(),
            num_events: 0,
            dialogs: Vec::new(),
            requests: Vec::new(),
            recorder: Recorder::new(workload),
        };
        for conversation in workload.conversations(scenario.rate * num_replicas as f64) {
            let event = Event::Message { conversation: simulation.dialogs.len() };
            simulation.add_event(conversation.start, event);
            simulation.dialogs.push(Some(workload.begin(conversation)));
        }
        simulation
    }

    fn run(mut self) -> Report {
        while let Some(Reverse((now, _, event))) = self.events.pop() {
            match event {
                Event::Message { conversation } => self.send_message(now, conversation),
                Event::StepEnd { machine, version } if version == self.versions[machine] => {
                    self.end_steps(now, machine);
                }
                Event::StepEnd { .. } => {}
            }
        }
        self.report()
    }

    fn add_event(&mut self, time: Duration, event: Event) {
        self.events.push(Reverse((time, self.num_events, event)));
        self.num_events += 1;
    }

    /// Sends the next request of a conversation.
    fn send_message(&mut self, now: Duration, conversation: usize) {
        let workload = self.scenario.workload;
        let dialog = self.dialogs[conversation].as_mut();
        let Some(request) = dialog.and_then(|dialog| workload.next_request(dialog)) else {
            self.dialogs[conversation] = None;
            return;
        };
        let replica = self.router.route(&request.prompt);
        let times = RequestTimes::new(now, request.prompt.len());
        let think_time = request.think_time;
        let id = self.requests.len();
        self.requests.push(OpenRequest { conversation, replica, think_time, times });
        self.replicas[replica].submit(id, request);
        if !self.replicas[replica].is_busy() {
            let machine = self.begin_step(now, replica);
            self.schedule_step_end(machine);
        }
    }

    /// Begins a step of an idle replica, if it has something to do, and returns its machine.
    fn begin_step(&mut self, now: Duration, replica: usize) -> usize {
        let machine = replica / self.scenario.machines.replicas_per_machine as usize;
        if let Some(work) = self.replicas[replica].begin_step(now) {
            self.machines[machine].start(now, replica, self.scenario.costs.duration(&work));
        }
        machine
    }

    /// Adds the event of the next step that ends on a machine.
    fn schedule_step_end(&mut self, machine: usize) {
        self.versions[machine] += 1;
        let version = self.versions[machine];
        if let Some(end) = self.machines[machine].next_end() {
            self.add_event(end, Event::StepEnd { machine, version });
        }
    }

    /// Ends the steps that are complete, and begins the next ones of their replicas.
    fn end_steps(&mut self, now: Duration, machine: usize) {
        for replica in self.machines[machine].take_ended(now) {
            let mut progress = Vec::new();
            self.replicas[replica].finish_step(now, |event| progress.push(event));
            for event in progress {
                self.record(now, event);
            }
            self.begin_step(now, replica);
        }
        self.schedule_step_end(machine);
    }

    fn record(&mut self, now: Duration, event: Progress) {
        match event {
            Progress::Admitted { id, cached_tokens } => {
                self.requests[id].times.cached_tokens = cached_tokens;
            }
            Progress::Token { id, is_last } => {
                let request = &mut self.requests[id];
                self.recorder.token(&mut request.times, now);
                if is_last {
                    self.finish_request(now, id);
                }
            }
        }
    }

    fn finish_request(&mut self, now: Duration, id: usize) {
        let OpenRequest { conversation, replica, think_time, times } = &self.requests[id];
        let (conversation, next) = (*conversation, now + *think_time);
        self.recorder.finished(times);
        self.router.finished(*replica);
        match self.scenario.workload.is_over(next) {
            true => self.dialogs[conversation] = None,
            false => self.add_event(next, Event::Message { conversation }),
        }
    }

    fn report(self) -> Report {
        let utilizations = self.machines.iter().map(|machine| machine.utilization());
        let utilization = utilizations.sum::<f64>() / self.machines.len() as f64;
        let preemptions = self.replicas.iter().map(|replica| replica.counts().preemptions).sum();
        let num_machines = self.scenario.num_machines() as f64;
        Report {
            source: "simulated",
            policy: self.scenario.policy,
            num_replicas: self.scenario.num_replicas,
            rate: self.scenario.rate,
            measured: self.recorder,
            utilization: Some(utilization),
            preemptions: Some(preemptions),
            price_per_hour: self.scenario.machines.price.map(|price| price * num_machines),
        }
    }
}

#[cfg(test)]
mod tests;
