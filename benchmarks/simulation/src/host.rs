//! A machine whose cores are shared by its replicas.

use std::time::Duration;

use crate::cost::StepDuration;

/// Time below which a step has ended, in seconds: rounding of times to nanoseconds.
const ROUNDING: f64 = 2e-9;

/// The steps in progress on one machine. Each slows down the others by its reads of weights, for which they compete: a step that
/// decodes much, one that computes a long prompt hardly. While there are more than the machine has cores for, they also share
/// the cores equally, as an operating system does it.
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
        let load = self.load();
        let times_left = self.steps.iter().map(|step| step.left * load.seconds(step.duration));
        let next = times_left.min_by(f64::total_cmp)?;
        Some(self.updated + Duration::from_secs_f64(next.max(0.0)))
    }

    /// Removes the steps that have ended by `now`, and returns their replicas.
    pub fn take_ended(&mut self, now: Duration) -> Vec<usize> {
        self.advance(now);
        let load = self.load();
        let is_ended = |step: &mut RunningStep| step.left * load.seconds(step.duration) <= ROUNDING;
        let ended = self.steps.extract_if(.., is_ended);
        ended.map(|step| step.replica).collect()
    }

    /// Returns the average used share of the machine until its last event before `end`, from 0 to 1.
    pub fn utilization(&self, end: Duration) -> f64 {
        self.busy / end.as_secs_f64()
    }

    fn load(&self) -> Load {
        Load {
            capacity: self.capacity,
            num_running: self.steps.len(),
            memory_shares: self.steps.iter().map(|step| step.duration.memory_share).sum(),
        }
    }

    fn advance(&mut self, now: Duration) {
        let elapsed = now.saturating_sub(self.updated).as_secs_f64();
        let load = self.load();
        self.busy += elapsed * (load.num_running as f64 / self.capacity).min(1.0);
        for step in &mut self.steps {
            step.left -= elapsed / load.seconds(step.duration);
        }
        self.updated = now;
    }
}

/// What a step shares a machine with.
#[derive(Debug, Clone, Copy)]
struct Load {
    capacity: f64,
    num_running: usize,
    /// Sum of the memory shares of all steps, of this one too.
    memory_shares: f64,
}

impl Load {
    /// The duration of a step if all these steps run all the time. The competition for memory is interpolated between none and
    /// that of as many steps as there are cores, all of which only read weights.
    fn seconds(&self, duration: StepDuration) -> f64 {
        let StepDuration { alone, contended, memory_share } = duration;
        let num_running = self.num_running as f64;
        let others = (num_running - 1.0).max(self.capacity - 1.0);
        let contention = if others > 0.0 {
            ((self.memory_shares - memory_share) / others).clamp(0.0, 1.0)
        } else {
            0.0
        };
        (alone + (contended - alone) * contention) * (num_running / self.capacity).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// A step whose duration does not depend on others.
    fn same(seconds: f64) -> StepDuration {
        StepDuration { alone: seconds, contended: seconds, memory_share: 1.0 }
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
        let step = StepDuration { alone: 1.0, contended: 2.0, memory_share: 1.0 };
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

    #[test]
    fn a_step_that_reads_no_weights_slows_down_no_other() {
        let mut host = Host::new(2.0);
        host.start(
            Duration::ZERO,
            0,
            StepDuration { alone: 1.0, contended: 2.0, memory_share: 1.0 },
        );
        host.start(
            Duration::ZERO,
            1,
            StepDuration { alone: 1.0, contended: 1.5, memory_share: 0.0 },
        );
        assert_eq!(host.take_ended(SECOND), [0]);
        // Two thirds of it are done while it competes; the rest takes its time alone.
        assert_eq!(host.next_end(), Some(SECOND + SECOND / 3));
    }
}
