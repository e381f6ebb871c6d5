//! Routing policies, used both in the simulation and for real servers.

mod prefix_index;

use clap::ValueEnum;

use prefix_index::PrefixIndex;

/// The options of cache-aware routing, with smg's names and defaults.
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(next_help_heading = "Router")]
pub struct RouterOptions {
    /// Minimum share of a prompt that must be cached to prefer a replica for it
    #[arg(long, value_name = "SHARE", default_value_t = 0.3)]
    pub cache_threshold: f64,
    /// Load decides if the numbers of open requests differ by more than this
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub balance_abs_threshold: usize,
    /// Load decides only if the numbers of open requests also differ by more than this factor
    #[arg(long, value_name = "FACTOR", default_value_t = 1.5)]
    pub balance_rel_threshold: f64,
}

/// How a router chooses the replica of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Policy {
    /// One replica after another
    RoundRobin,
    /// The replica with the fewest open requests
    LeastLoaded,
    /// The replica that has most of the prompt cached; without a match, the one with the fewest open requests
    CacheAware,
}

impl Policy {
    /// Returns the name of the policy in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::RoundRobin => "round robin",
            Self::LeastLoaded => "least loaded",
            Self::CacheAware => "cache-aware",
        }
    }
}

/// Chooses replicas. It knows only the requests that it routed itself.
pub struct Router {
    policy: Policy,
    options: RouterOptions,
    /// Open requests of each replica.
    loads: Vec<usize>,
    /// Where the search for the next replica begins, so that equal replicas are used in turn.
    next: usize,
    prefixes: PrefixIndex,
}

impl Router {
    /// Creates a router of `num_replicas` replicas, whose caches hold `cache_tokens` tokens each.
    ///
    /// **Panics** if there is no replica.
    pub fn new(
        policy: Policy,
        options: RouterOptions,
        num_replicas: usize,
        cache_tokens: usize,
    ) -> Self {
        assert!(num_replicas > 0, "requests need a replica");
        let prefixes = PrefixIndex::new(num_replicas, cache_tokens);
        Self { policy, options, loads: vec![0; num_replicas], next: 0, prefixes }
    }

    /// Returns the replica for a request, which is open until [`finished`](Self::finished).
    pub fn route(&mut self, prompt: &[u32]) -> usize {
        let replica = match self.policy {
            Policy::RoundRobin => self.next,
            Policy::LeastLoaded => self.least_loaded(),
            Policy::CacheAware => self.best_cached(prompt),
        };
        self.next = (replica + 1) % self.loads.len();
        self.loads[replica] += 1;
        replica
    }

    /// Records that a request of `replica` has ended.
    pub fn finished(&mut self, replica: usize) {
        self.loads[replica] -= 1;
    }

    fn least_loaded(&self) -> usize {
        let replicas = 0..self.loads.len();
        let in_turn = replicas.cycle().skip(self.next).take(self.loads.len());
        in_turn.min_by_key(|&replica| self.loads[replica]).unwrap_or(0)
    }

    /// The replica that has most of the prompt, if that is enough and the load is balanced; otherwise the one with the fewest
    /// open requests.
    ///
    /// For a match that is too short, vllm-router and smg are documented to choose the replica with the smallest tree of
    /// prompts instead, whose cache has the most room.
    fn best_cached(&mut self, prompt: &[u32]) -> usize {
        let blocks = PrefixIndex::blocks(prompt);
        let (num_matching, holders) = self.prefixes.longest_match(&blocks);
        let is_match = num_matching as f64 > self.options.cache_threshold * blocks.len() as f64;
        let cached = holders
            .iter()
            .map(|&replica| replica as usize)
            .min_by_key(|&replica| self.loads[replica]);
        let replica = match cached {
            Some(cached) if is_match && self.is_balanced() => cached,
            _ => self.least_loaded(),
        };
        self.prefixes.insert(replica, &blocks);
        replica
    }

    fn is_balanced(&self) -> bool {
        let most = self.loads.iter().copied().max().unwrap_or(0);
        let fewest = self.loads.iter().copied().min().unwrap_or(0);
        let &RouterOptions { balance_abs_threshold, balance_rel_threshold, .. } = &self.options;
        most - fewest <= balance_abs_threshold
            || most as f64 <= balance_rel_threshold * fewest as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: RouterOptions = RouterOptions {
        cache_threshold: 0.3,
        balance_abs_threshold: 64,
        balance_rel_threshold: 1.5,
    };

    fn prompt(first: u32) -> Vec<u32> {
        (first..first + 64).collect()
    }

    #[test]
    fn round_robin_ignores_the_load() {
        let mut router = Router::new(Policy::RoundRobin, OPTIONS, 3, 1024);
        let routed: Vec<usize> = (0..5).map(|_| router.route(&prompt(0))).collect();
        assert_eq!(routed, [0, 1, 2, 0, 1]);
    }

    #[test]
    fn the_least_loaded_replica_is_chosen_in_turn() {
        let mut router = Router::new(Policy::LeastLoaded, OPTIONS, 3, 1024);
        let routed: Vec<usize> = (0..4).map(|_| router.route(&prompt(0))).collect();
        assert_eq!(routed, [0, 1, 2, 0]);
        router.finished(2);
        assert_eq!(router.route(&prompt(0)), 2);
    }

    #[test]
    fn prompts_return_to_the_replica_that_has_them() {
        let mut router = Router::new(Policy::CacheAware, OPTIONS, 3, 1024);
        let first = router.route(&prompt(0));
        let second = router.route(&prompt(1000));
        assert_ne!(first, second);
        // Half of this prompt is cached.
        let extended = [prompt(0), prompt(5000)].concat();
        assert_eq!(router.route(&extended), first);
        assert_eq!(router.route(&prompt(1000)), second);
        // A small part is not enough.
        let longer = [prompt(0), (0..400).map(|at| 9000 + at).collect()].concat();
        assert_ne!(router.route(&longer), first);
    }

    #[test]
    fn load_decides_if_it_is_unbalanced() {
        let mut router = Router::new(Policy::CacheAware, OPTIONS, 2, 1024);
        let routed: Vec<usize> = (0..100).map(|_| router.route(&prompt(0))).collect();
        let first_other = routed.iter().position(|&replica| replica != routed[0]);
        assert_eq!(first_other, Some(OPTIONS.balance_abs_threshold + 1));
    }
}
