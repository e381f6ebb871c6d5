//! A machine whose cores are shared by its replicas.

use std::collections::HashMap;
use std::ops::Range;
use std::time::Duration;

use crate::cost::StepDuration;

/// Time below which a step has ended, in seconds: rounding of times to nanoseconds.
const ROUNDING: f64 = 2e-9;

/// The steps in progress on one machine, which distributes them to its cores as an operating system does: a step begins on the
/// core with the fewest steps, if possible that of the replica's last step, and stays there, unless another core has nothing
/// to do. So while three replicas compute on two cores, one computes at full speed and two at half speed. Steps on different
/// cores slow down each other by their reads of weights, for which they compete: a step that decodes much, one that computes a
/// long prompt hardly.
#[derive(Debug)]
pub struct Host {
    /// The number of steps that do not share cores.
    num_cores: usize,
    steps: Vec<RunningStep>,
    /// The core of the last step of each replica that had one.
    last_cores: HashMap<usize, usize>,
    updated: Duration,
    /// The time in which the use of the machine is measured.
    measured_time: Range<Duration>,
    /// Sum of the used shares of the machine over the measured time, in seconds.
    busy: f64,
}

#[derive(Debug)]
struct RunningStep {
    replica: usize,
    core: usize,
    duration: StepDuration,
    /// The share of the step that is left, from 1 to 0.
    left: f64,
}

impl Host {
    /// Creates an idle machine that computes `num_cores` steps without sharing cores, and whose use is measured in
    /// `measured_time`.
    pub fn new(num_cores: usize, measured_time: Range<Duration>) -> Self {
        Self {
            num_cores,
            steps: Vec::new(),
            last_cores: HashMap::new(),
            updated: Duration::ZERO,
            measured_time,
            busy: 0.0,
        }
    }

    /// Starts a step of `replica` at `now`.
    pub fn start(&mut self, now: Duration, replica: usize, duration: StepDuration) {
        self.advance(now);
        let loads = self.loads();
        let last = self.last_cores.get(&replica).copied();
        let key = |&core: &usize| (loads[core].num_steps, last != Some(core));
        let core = (0..self.num_cores).min_by_key(key).unwrap_or(0);
        self.last_cores.insert(replica, core);
        self.steps.push(RunningStep { replica, core, duration, left: 1.0 });
    }

    /// Returns when the next step ends if no other one starts before; `None` if none is running.
    pub fn next_end(&mut self) -> Option<Duration> {
        self.use_idle_cores();
        let loads = self.loads();
        let times_left = self.steps.iter().map(|step| step.left * seconds(step, &loads));
        let next = times_left.min_by(f64::total_cmp)?;
        Some(self.updated + Duration::from_secs_f64(next.max(0.0)))
    }

    /// Removes the steps that have ended by `now`, and returns their replicas.
    pub fn take_ended(&mut self, now: Duration) -> Vec<usize> {
        self.advance(now);
        let loads = self.loads();
        let is_ended = |step: &mut RunningStep| step.left * seconds(step, &loads) <= ROUNDING;
        let ended = self.steps.extract_if(.., is_ended);
        ended.map(|step| step.replica).collect()
    }

    /// Returns the average used share of the machine in the measured time, from 0 to 1, after all steps have ended.
    pub fn utilization(&self) -> f64 {
        let Range { start, end } = self.measured_time;
        self.busy / end.saturating_sub(start).as_secs_f64()
    }

    /// Moves steps from cores with several of them to cores without any.
    fn use_idle_cores(&mut self) {
        loop {
            let loads = self.loads();
            let idle = loads.iter().position(|load| load.num_steps == 0);
            let moved = self.steps.iter_mut().find(|step| loads[step.core].num_steps > 1);
            let (Some(idle), Some(moved)) = (idle, moved) else { return };
            moved.core = idle;
            self.last_cores.insert(moved.replica, idle);
        }
    }

    fn loads(&self) -> Vec<Load> {
        let mut loads = vec![Load::default(); self.num_cores];
        for step in &self.steps {
            loads[step.core].num_steps += 1;
            loads[step.core].memory_shares += step.duration.memory_share;
        }
        loads
    }

    fn advance(&mut self, now: Duration) {
        let elapsed = now.saturating_sub(self.updated).as_secs_f64();
        let loads = self.loads();
        let num_busy = loads.iter().filter(|load| load.num_steps > 0).count();
        let Range { start, end } = self.measured_time;
        let measured = now.min(end).saturating_sub(self.updated.max(start)).as_secs_f64();
        self.busy += measured * num_busy as f64 / self.num_cores as f64;
        for step in &mut self.steps {
            step.left -= elapsed / seconds(step, &loads);
        }
        self.updated = now;
    }
}

/// What a core computes in turns.
#[derive(Debug, Clone, Copy, Default)]
struct Load {
    num_steps: usize,
    /// Sum of the memory shares of the steps.
    memory_shares: f64,
}

impl Load {
    /// The part of the time in which this core reads weights.
    fn memory_share(&self) -> f64 {
        self.memory_shares / self.num_steps.max(1) as f64
    }
}

/// The duration of a step if all cores have these loads all the time. The competition for memory is interpolated between none
/// and that of as many steps as there are cores, all of which only read weights.
fn seconds(step: &RunningStep, loads: &[Load]) -> f64 {
    let StepDuration { alone, contended, .. } = step.duration;
    let others = loads.iter().enumerate().filter(|(core, _)| *core != step.core);
    let reads: f64 = others.map(|(_, load)| load.memory_share()).sum();
    let contention = reads / loads.len().saturating_sub(1).max(1) as f64;
    (alone + (contended - alone) * contention) * loads[step.core].num_steps as f64
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
        let mut host = Host::new(2, 2 * SECOND..10 * SECOND);
        assert_eq!(host.next_end(), None);
        for replica in 0..4 {
            host.start(Duration::ZERO, replica, same(1.0 + replica as f64));
        }
        // Two on each core, at half speed.
        assert_eq!(host.next_end(), Some(2 * SECOND));
        assert_eq!(host.take_ended(2 * SECOND), [0]);
        // One with 2 seconds left, at full speed; two with 1 and 3, at half speed.
        assert_eq!(host.next_end(), Some(4 * SECOND));
        assert_eq!(host.take_ended(4 * SECOND), [1, 2]);
        assert_eq!(host.next_end(), Some(6 * SECOND));
        assert_eq!(host.take_ended(6 * SECOND), [3]);
        // Both cores are used from second 2 to 4, one until 6, none until 10.
        assert!((host.utilization() - 6.0 / 16.0).abs() < 1e-9);
    }

    #[test]
    fn an_idle_core_takes_a_step_from_another_one() {
        let mut host = Host::new(2, Duration::ZERO..SECOND);
        for replica in 0..3 {
            host.start(Duration::ZERO, replica, same(1.0));
        }
        assert_eq!(host.take_ended(SECOND), [1]);
        assert_eq!(host.next_end(), Some(SECOND.mul_f64(1.5)));
        // The next step of a replica stays on its core.
        assert_eq!(host.take_ended(SECOND.mul_f64(1.5)), [0, 2]);
        host.start(SECOND.mul_f64(1.5), 0, same(1.0));
        assert_eq!(host.steps[0].core, 1);
    }

    #[test]
    fn steps_compete_for_memory_before_they_share_cores() {
        let step = StepDuration { alone: 1.0, contended: 2.0, memory_share: 1.0 };
        let mut host = Host::new(3, Duration::ZERO..SECOND);
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
        let mut host = Host::new(2, Duration::ZERO..SECOND);
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
