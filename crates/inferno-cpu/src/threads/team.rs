//! How many threads take part in steps while other programs use their processors.
//!
//! A step ends when its last thread has finished. If the system runs another program on the processor of one of them,
//! all others wait for it, for some milliseconds, which is the duration of many steps of decoding: with one busy
//! program beside it, a pool of any size loses nearly half of its speed. Stealing does not help, since the delayed
//! thread has started its items. So threads that are delayed often are left out for a while, and the system moves
//! the others to the processors that are free.
//!
//! Longer steps, such as those of prefill, lose little by waiting and use all threads.

use std::time::{Duration, Instant};

/// A shorter delay is not noticed.
const SHORTEST_DELAY: Duration = Duration::from_micros(300);

/// How long threads measure their delays after one was suspected, or after the team was restored.
const WATCH: Duration = Duration::from_millis(100);

/// The delays that a team tolerates at once. (With little more than one, programs that run for a moment now and then
/// reduced the team for half of the time.)
const TOLERATED: Duration = Duration::from_millis(6);

/// A team of `n` threads tolerates to lose this part of `1 / n` of its time for long: as much as it would lose without
/// one thread, if that thread's share of the memory bandwidth is partly used by the others.
const TOLERATED_PERCENT: u32 = 60;

/// How long delayed threads are left out at first, and at most. The time doubles if the restored team is delayed again
/// within [`SOON`].
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_millis(800);
const SOON: Duration = Duration::from_millis(250);

/// The threads that take part in steps.
#[derive(Debug)]
pub(super) struct Team {
    /// Number of threads of the pool.
    all: usize,
    /// Number of threads that take part: the first ones.
    size: usize,
    /// Until when threads measure their delays.
    watch_until: Option<Instant>,
    /// The delays so far, less what is tolerated in the time since they happened.
    lost: Duration,
    /// When `lost` was computed.
    lost_at: Option<Instant>,
    /// When the team was last reduced, and when restored.
    reduced: Option<Instant>,
    restored: Option<Instant>,
    pause: Duration,
}

/// Delays in one step.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StepDelays {
    /// Number of threads that were delayed.
    pub(super) num_threads: usize,
    /// The longest delay.
    pub(super) longest: Duration,
}

impl StepDelays {
    /// Whether a thread that was delayed for `delay` counts.
    pub(super) fn counts(delay: Duration) -> bool {
        delay >= SHORTEST_DELAY
    }
}

impl Team {
    /// A team of all threads.
    pub(super) fn new(all: usize) -> Self {
        Self {
            all,
            size: all,
            watch_until: None,
            lost: Duration::ZERO,
            lost_at: None,
            reduced: None,
            restored: None,
            pause: SHORTEST_PAUSE,
        }
    }

    /// Whether [`begin`](Self::begin) must be called before a step. Otherwise all threads take part, and no delay is
    /// measured.
    pub(super) fn is_active(&self) -> bool {
        self.watch_until.is_some() || self.size < self.all
    }

    /// Prepares a step: restores the team after a pause. `suspected`: a thread has waited for another since the last
    /// step began, for whatever reason. Returns whether threads measure their delays in the step.
    pub(super) fn begin(&mut self, now: Instant, suspected: bool) -> bool {
        let has_paused = self.reduced.is_some_and(|reduced| now - reduced >= self.pause);
        if self.size < self.all && has_paused {
            self.size = self.all;
            self.restored = Some(now);
            self.watch_until = Some(now + WATCH);
        }
        if suspected {
            self.watch_until = Some(now + WATCH);
        }
        self.watch_until = self.watch_until.filter(|&until| now < until);
        self.watch_until.is_some() && self.size > 1
    }

    /// Number of threads that take part in the step.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Reduces the team if steps lose too much by waiting for delayed threads; this one ended at `now` and took
    /// `duration`.
    pub(super) fn end(&mut self, now: Instant, duration: Duration, delays: StepDelays) {
        if delays.num_threads == 0 || 2 * delays.longest < duration || self.size == 1 {
            return;
        }
        let passed = self.lost_at.map_or(Duration::ZERO, |at| now - at);
        let tolerated = passed * TOLERATED_PERCENT / 100 / self.size as u32;
        self.lost = self.lost.saturating_sub(tolerated) + delays.longest;
        self.lost_at = Some(now);
        if self.lost <= TOLERATED {
            return;
        }
        self.lost = Duration::ZERO;
        let soon = self.restored.is_some_and(|restored| now - restored < SOON);
        self.pause = if soon { (2 * self.pause).min(LONGEST_PAUSE) } else { SHORTEST_PAUSE };
        self.size = self.size.saturating_sub(delays.num_threads).max(1);
        self.reduced = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn delay(num_threads: usize, longest: Duration) -> StepDelays {
        StepDelays { num_threads, longest }
    }

    /// Steps of 4 ms with a delay of 3 ms, one every `every`, until the team is reduced; returns their number.
    fn delays_until_reduced(team: &mut Team, now: &mut Instant, every: Duration) -> Option<usize> {
        (1..=100).find(|_| {
            *now += every;
            team.end(*now, 4 * MS, delay(1, 3 * MS));
            team.size() < team.all
        })
    }

    #[test]
    fn a_thread_that_is_delayed_often_is_left_out_for_a_while() {
        let mut now = Instant::now();
        let mut team = Team::new(4);
        assert!(!team.is_active());
        assert!(team.begin(now, true), "a suspicion starts measurements");
        // A neighbor that gets half of the time of one processor.
        assert!(delays_until_reduced(&mut team, &mut now, 6 * MS).is_some_and(|delays| delays < 6));
        assert_eq!(team.size(), 3);
        team.begin(now + 50 * MS, false);
        assert_eq!(team.size(), 3);
        team.begin(now + SHORTEST_PAUSE, false);
        assert_eq!(team.size(), 4);
        assert!(!team.begin(now + SHORTEST_PAUSE + WATCH, false) && !team.is_active());
    }

    #[test]
    fn a_thread_that_is_delayed_now_and_then_takes_part() {
        for (threads, every) in [(2, 20 * MS), (16, 100 * MS)] {
            let (mut team, mut now) = (Team::new(threads), Instant::now());
            assert_eq!(delays_until_reduced(&mut team, &mut now, every), None);
        }
    }

    #[test]
    fn pauses_grow_while_the_restored_team_is_delayed_again() {
        let (mut team, mut now) = (Team::new(2), Instant::now());
        let mut pauses = Vec::new();
        for _ in 0..6 {
            delays_until_reduced(&mut team, &mut now, 6 * MS).expect("half of the time is lost");
            let reduced = now;
            while team.size() == 1 {
                assert!(team.is_active());
                now += MS;
                team.begin(now, false);
            }
            pauses.push((now - reduced).as_millis());
        }
        assert_eq!(pauses, [100, 200, 400, 800, 800, 800]);
        now += SOON;
        delays_until_reduced(&mut team, &mut now, 6 * MS).expect("half of the time is lost");
        assert_eq!(team.pause, SHORTEST_PAUSE);
    }

    #[test]
    fn long_steps_and_single_threads_are_left_as_they_are() {
        let now = Instant::now();
        let mut team = Team::new(8);
        for step in 0..100 {
            team.end(now + step * 10 * MS, 10 * MS, delay(3, 4 * MS));
        }
        assert_eq!(team.size(), 8);
        team.end(now, 10 * MS, delay(20, 10 * MS));
        assert_eq!(team.size(), 1);
        team.end(now, 10 * MS, delay(1, 10 * MS));
        assert_eq!(team.size(), 1);
        assert!(!team.begin(now, true), "one thread waits for nobody");
    }
}
