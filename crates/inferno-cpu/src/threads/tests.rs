use std::panic::panic_any;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;

use super::*;

/// How often each of `count` tasks was run.
fn counts(pool: &ThreadPool, count: usize) -> Vec<u32> {
    let counts: Vec<_> = (0..count).map(|_| AtomicU32::new(0)).collect();
    pool.run(count, &|task, thread| {
        assert!(thread < pool.num_threads());
        counts[task].fetch_add(1, Ordering::Relaxed);
    });
    counts.into_iter().map(AtomicU32::into_inner).collect()
}

fn message(panic: &(dyn Any + Send)) -> &str {
    panic.downcast_ref::<String>().expect("a formatted message")
}

#[test]
fn each_task_runs_once() {
    for threads in [1, 2, 3, 8] {
        let pool = ThreadPool::new(threads).expect("threads");
        for count in [0, 1, 2, 7, 1000] {
            assert_eq!(counts(&pool, count), vec![1; count], "{threads} threads, {count} tasks");
        }
    }
}

#[test]
fn thousands_of_short_steps_come_through() {
    let pool = ThreadPool::new(3).expect("threads");
    let total = AtomicUsize::new(0);
    for _ in 0..5000 {
        pool.run(4, &|task, _| {
            total.fetch_add(task, Ordering::Relaxed);
        });
    }
    assert_eq!(total.into_inner(), 5000 * (1 + 2 + 3));
}

#[test]
fn a_pool_that_went_to_sleep_wakes_up() {
    let pool = ThreadPool::new(3).expect("threads");
    for _ in 0..5 {
        thread::sleep(std::time::Duration::from_millis(5));
        assert_eq!(counts(&pool, 100), vec![1; 100]);
    }
}

#[test]
fn a_panic_reaches_the_caller_and_leaves_the_pool_usable() {
    for threads in [1, 2, 3] {
        let pool = ThreadPool::new(threads).expect("threads");
        for bad in [0, 5, 99] {
            let result = catch_unwind(AssertUnwindSafe(|| {
                pool.run(100, &|task, _| assert!(task != bad, "task {bad} fails"));
            }));
            let panic = result.expect_err("a task failed");
            assert_eq!(message(&*panic), format!("task {bad} fails"));
            assert_eq!(counts(&pool, 50), vec![1; 50]);
        }
    }
}

#[test]
fn panics_of_all_threads_become_one() {
    let pool = ThreadPool::new(4).expect("threads");
    let result = catch_unwind(AssertUnwindSafe(|| {
        pool.run(64, &|task, _| panic!("task {task} fails"));
    }));
    assert!(message(&*result.expect_err("all tasks fail")).ends_with("fails"));
    assert_eq!(counts(&pool, 50), vec![1; 50]);
}

/// What panics again when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a second panic");
    }
}

#[test]
fn a_panic_whose_payload_panics_when_dropped_holds_nobody_up() {
    let pool = ThreadPool::new(4).expect("threads");
    // All four are thrown: nobody throws before all have begun.
    let all_began = Barrier::new(4);
    let result = catch_unwind(AssertUnwindSafe(|| {
        pool.run(4, &|_, _| {
            all_began.wait();
            panic_any(Bomb);
        });
    }));
    let payload = result.expect_err("all tasks fail");
    assert!(payload.is::<Bomb>());
    mem::forget(payload);
    assert_eq!(counts(&pool, 50), vec![1; 50]);
}

#[test]
fn a_task_may_run_tasks() {
    for threads in [1, 2, 3] {
        let pool = ThreadPool::new(threads).expect("threads");
        let total = AtomicUsize::new(0);
        pool.run(10, &|_, _| {
            pool.run(10, &|task, _| {
                total.fetch_add(task, Ordering::Relaxed);
            });
        });
        assert_eq!(total.into_inner(), 10 * 45, "{threads} threads");
    }
}

#[test]
fn several_threads_may_share_a_pool() {
    let pool = ThreadPool::new(2).expect("threads");
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    assert_eq!(counts(&pool, 9), [1; 9]);
                }
            });
        }
    });
}

#[test]
fn what_is_left_of_a_share_is_taken_from_both_ends_until_nothing_is() {
    let share = Share::default();
    assert_eq!(share.take(End::Front), None);
    share.fill(10..110);
    assert_eq!(share.take(End::Front), Some(10..35));
    assert_eq!(share.take(End::Back), Some(91..110));
    let mut taken = vec![10..35, 91..110];
    taken.extend(std::iter::from_fn(|| share.take(End::Front)));
    taken.sort_by_key(|range| range.start);
    let items: Vec<_> = taken.into_iter().flatten().collect();
    assert!(items.into_iter().eq(10..110));
    assert_eq!(share.take(End::Back), None);
}
