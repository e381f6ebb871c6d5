//! A machine whose cores are shared by its replicas.

use std::time::Duration;

use crate::cost::StepDuration;

/// Time below which a step has ended, in seconds: rounding of times to nanoseconds.
const ROUNDING: f64 = 2e-9;

/// The steps in progress on one machine. The more there are, the longer each takes, since they compete for the memory.
/// While there are more than the machine has cores for, they also share the cores equally, as an operating system does it.
#[derive(Debug)]
pub struct Host {
    /// The number of steps that do not share cores.
    capacity: f64,
    steps: Vec<RunningStep>,
    updated: Duration,
    /// Sum of the used shares of the machine over time, in seconds.
    busy: f64,
}

#[derive(Debug)]
struct RunningStep {
    replica: usize,
    duration: StepDuration,
    /// The share of the step that is left, from 1 to 0.
    left: f64,
}

impl Host {
    /// Creates an idle machine that computes `capacity` steps without sharing cores.
    pub fn new(capacity: f64) -> Self {
        Self { capacity, steps: Vec::new(), updated: Duration::ZERO, busy: 0.0 }
    }

    /// Starts a step of `replica` at `now`.
    pub fn start(&mut self, now: Duration, replica: usize, duration: StepDuration) {
        self.advance(now);
        self.steps.push(RunningStep { replica, duration, left: 1.0 });
    }

    /// Returns when the next step ends if no other one starts before; `None` if none is running.
    pub fn next_end(&self) -> Option<Duration> {
        let times_left = self.steps.iter().map(|step| step.left * self.seconds(step.duration));
        let next = times_left.min_by(f64::total_cmp)?;
        Some(self.updated + Duration::from_secs_f64(next.max(0.0)))
    }

    /// Removes the steps that have ended by `now`, and returns their replicas.
    pub fn take_ended(&mut self, now: Duration) -> Vec<usize> {
        self.advance(now);
        let num_running = self.steps.len();
        let is_ended = |step: &mut RunningStep| {
            step.left * seconds(step.duration, num_running, self.capacity) <= ROUNDING
        };
        let ended = self.steps.extract_if(.., is_ended);
        ended.map(|step| step.replica).collect()
    }

    /// Returns the average used share of the machine until its last event before `end`, from 0 to 1.
    pub fn utilization(&self, end: Duration) -> f64 {
        self.busy / end.as_secs_f64()
    }

    /// The duration of a step if the steps in progress run all the time.
    fn seconds(&self, duration: StepDuration) -> f64 {
        seconds(duration, self.steps.len(), self.capacity)
    }

    fn advance(&mut self, now: Duration) {
        let elapsed = now.saturating_sub(self.updated).as_secs_f64();
        let num_running = self.steps.len();
        self.busy += elapsed * (num_running as f64 / self.capacity).min(1.0);
        for step in &mut self.steps {
            step.left -= elapsed / seconds(step.duration, num_running, self.capacity);
        }
        self.updated = now;
    }
}

/// The duration of a step while `num_running` run on a machine that computes `capacity` without sharing cores. Between one and
/// that number, the competition for memory is interpolated.
fn seconds(duration: StepDuration, num_running: usize, capacity: f64) -> f64 {
    let StepDuration { alone, contended } = duration;
    let others = num_running.saturating_sub(1) as f64;
    let contention = if capacity > 1.0 { (others / (capacity - 1.0)).min(1.0) } else { 0.0 };
    (alone + (contended - alone) * contention) * (num_running as f64 / capacity).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// A step whose duration does not depend on others.
    fn same(seconds: f64) -> StepDuration {
        StepDuration { alone: seconds, contended: seconds }
    }

    #[test]
    fn steps_share_the_cores() {
        let mut host = Host::new(2.0);
        assert_eq!(host.next_end(), None);
        for replica in 0..4 {
            host.start(Duration::ZERO, replica, same(1.0 + replica as f64));
        }
        // At half speed.
        assert_eq!(host.next_end(), Some(2 * SECOND));
        assert_eq!(host.take_ended(2 * SECOND), [0]);
        // Three remain with 1, 2 and 3 seconds, at two thirds of the speed.
        assert_eq!(host.next_end(), Some(2 * SECOND + SECOND.mul_f64(1.5)));
        assert_eq!(host.take_ended(SECOND.mul_f64(3.5)), [1]);
        // Two remain with 1 and 2 seconds, at full speed.
        assert_eq!(host.take_ended(SECOND.mul_f64(4.5)), [2]);
        assert_eq!(host.take_ended(SECOND.mul_f64(5.5)), [3]);
        // Half of the machine is idle in the last second.
        assert!((host.utilization(10 * SECOND) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn steps_compete_for_memory_before_they_share_cores() {
        let step = StepDuration { alone: 1.0, contended: 2.0 };
        let mut host = Host::new(3.0);
        host.start(Duration::ZERO, 0, step);
        assert_eq!(host.next_end(), Some(SECOND));
        // Half of the first step is left. Two of three cores are used, so the contention is halfway.
        host.start(SECOND.mul_f64(0.5), 1, step);
        assert_eq!(host.next_end(), Some(SECOND.mul_f64(0.5 + 0.75)));
        assert_eq!(host.take_ended(SECOND.mul_f64(1.25)), [0]);
        // Half of the second step is left, alone.
        assert_eq!(host.next_end(), Some(SECOND.mul_f64(1.75)));
        assert_eq!(host.take_ended(SECOND.mul_f64(1.75)), [1]);
        // Six on three cores take twice as long as three.
        (0..6).for_each(|replica| host.start(2 * SECOND, replica, step));
        assert_eq!(host.next_end(), Some(6 * SECOND));
    }
}
