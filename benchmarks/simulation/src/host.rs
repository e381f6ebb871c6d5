//! A machine whose cores are shared by its replicas.

use std::time::Duration;

/// Work below which a step has ended, in seconds: rounding of times to nanoseconds.
const ROUNDING: f64 = 2e-9;

/// The steps in progress on one machine. While there are more than it has cores for, all of them are slowed down
/// equally, as an operating system does it.
#[derive(Debug)]
pub struct Host {
    /// The number of steps that run at full speed together.
    capacity: f64,
    steps: Vec<RunningStep>,
    updated: Duration,
    /// Sum of the used shares of the machine over time, in seconds.
    busy: f64,
}

#[derive(Debug)]
struct RunningStep {
    replica: usize,
    /// Seconds at full speed.
    work_left: f64,
}

impl Host {
    /// Creates an idle machine that computes `capacity` steps at full speed.
    pub fn new(capacity: f64) -> Self {
        Self { capacity, steps: Vec::new(), updated: Duration::ZERO, busy: 0.0 }
    }

    /// Starts a step of `replica` at `now` that takes `work` seconds at full speed.
    pub fn start(&mut self, now: Duration, replica: usize, work: f64) {
        self.advance(now);
        self.steps.push(RunningStep { replica, work_left: work });
    }

    /// Returns when the next step ends if no other one starts before; `None` if none is running.
    pub fn next_end(&self) -> Option<Duration> {
        let work_left = self.steps.iter().map(|step| step.work_left).min_by(f64::total_cmp)?;
        Some(self.updated + Duration::from_secs_f64(work_left.max(0.0) / self.speed()))
    }

    /// Removes the steps that have ended by `now`, and returns their replicas.
    pub fn take_ended(&mut self, now: Duration) -> Vec<usize> {
        self.advance(now);
        let ended = self.steps.extract_if(.., |step| step.work_left <= ROUNDING);
        ended.map(|step| step.replica).collect()
    }

    /// Returns the average used share of the machine until its last event before `end`, from 0 to 1.
    pub fn utilization(&self, end: Duration) -> f64 {
        self.busy / end.as_secs_f64()
    }

    fn speed(&self) -> f64 {
        (self.capacity / self.steps.len().max(1) as f64).min(1.0)
    }

    fn advance(&mut self, now: Duration) {
        let elapsed = now.saturating_sub(self.updated).as_secs_f64();
        let speed = self.speed();
        self.busy += elapsed * (self.steps.len() as f64 / self.capacity).min(1.0);
        self.steps.iter_mut().for_each(|step| step.work_left -= elapsed * speed);
        self.updated = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn steps_share_the_cores() {
        let mut host = Host::new(2.0);
        assert_eq!(host.next_end(), None);
        for replica in 0..4 {
            host.start(Duration::ZERO, replica, 1.0 + replica as f64);
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
}
