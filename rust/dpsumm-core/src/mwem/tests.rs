use super::*;
use crate::rng::Source;

const PARAMS: MwemParams =
    MwemParams { iterations: 6, epsilon_select: 0.05, epsilon_measure: 0.08 };

/// A seed that is new in every run of the tests, and told when one fails.
fn seed() -> Result<u64> {
    let seed = match std::env::var("DPSUMM_TEST_SEED") {
        Ok(seed) => seed.parse().expect("DPSUMM_TEST_SEED is a number"),
        Err(_) => Source::system()?.bits(),
    };
    eprintln!("DPSUMM_TEST_SEED={seed}");
    Ok(seed)
}

/// The definition: explicit weights over the grid for each coordinate, selection by a scan, noise
/// as a difference of two geometric variables, the average over all iterates. Plain floating point.
struct Twin {
    weights: Vec<Vec<f64>>,
    steps: f64,
}

impl Twin {
    fn new(d: usize, steps: u32) -> Self {
        Self { weights: vec![vec![1.0; steps as usize + 1]; d], steps: f64::from(steps) }
    }

    fn value(&self, j: usize) -> f64 {
        2.0 * j as f64 / self.steps - 1.0
    }

    fn mean(&self, i: usize) -> f64 {
        let weights = &self.weights[i];
        let moment: f64 = weights.iter().enumerate().map(|(j, w)| w * self.value(j)).sum();
        moment / weights.iter().sum::<f64>()
    }

    fn expected(&self, i: usize, count: f64) -> f64 {
        (count * self.steps * self.mean(i)).round()
    }

    fn update(&mut self, i: usize, measured: f64, count: f64) {
        let gap = (measured - self.expected(i, count)) / self.steps;
        for j in 0..self.weights[i].len() {
            self.weights[i][j] *= (self.value(j) * gap / (2.0 * count)).exp();
        }
    }

    /// Return the averaged means, and how often coordinate 0 was chosen. `quiet` divides the noise.
    fn run(
        &mut self,
        sums: &[i64],
        count: u64,
        params: &MwemParams,
        quiet: f64,
        source: &mut Source,
    ) -> (Vec<f64>, usize) {
        let (d, count) = (sums.len(), count as f64);
        let (mut total, mut zeros) = (vec![0.0; d], 0);
        for _ in 0..params.iterations {
            let score = |i: usize| (sums[i] as f64 - self.expected(i, count)).abs() / self.steps;
            let weights: Vec<f64> =
                (0..d).map(|i| (params.epsilon_select * score(i)).exp()).collect();
            let mut rest = source.unit() * weights.iter().sum::<f64>();
            let i = weights.iter().position(|w| {
                rest -= w;
                rest < 0.0
            });
            let i = i.unwrap_or(d - 1);
            let mut geometric = || {
                (-(1.0 - source.unit()).ln() * self.steps / (params.epsilon_measure * quiet))
                    .floor()
            };
            let measured = sums[i] as f64 + geometric() - geometric();
            self.update(i, measured, count);
            zeros += usize::from(i == 0);
            (0..d).for_each(|j| total[j] += self.mean(j));
        }
        (total.iter().map(|t| t / params.iterations as f64).collect(), zeros)
    }
}

/// First and second sample moments of some statistics, with the variances of these.
struct Moments {
    n: f64,
    powers: Vec<[f64; 4]>,
}

impl Moments {
    fn collect(n: usize, mut draw: impl FnMut() -> Result<Vec<f64>>) -> Result<Self> {
        let mut powers = Vec::new();
        for _ in 0..n {
            let row = draw()?;
            powers.resize(row.len(), [0.0; 4]);
            for (sums, x) in powers.iter_mut().zip(row) {
                (0..4).for_each(|k| sums[k] += x.powi(k as i32 + 1));
            }
        }
        Ok(Self { n: n as f64, powers })
    }

    /// Largest |z| of a difference of first or second moments.
    fn largest_z(&self, other: &Self) -> f64 {
        let moment = |m: &Self, i: usize, k: usize| m.powers[i][k - 1] / m.n;
        let variance =
            |m: &Self, i: usize, k: usize| (moment(m, i, 2 * k) - moment(m, i, k).powi(2)) / m.n;
        let z = |i: usize, k: usize| {
            let gap = moment(self, i, k) - moment(other, i, k);
            gap.abs() / (variance(self, i, k) + variance(other, i, k)).sqrt()
        };
        (0..self.powers.len()).flat_map(|i| [z(i, 1), z(i, 2)]).fold(0.0, f64::max)
    }
}

/// Two-sided false alarm 1e-6 over the 10 moments compared: 1e-7 each is 5.33; the rest is for the
/// normal approximation.
const CRITICAL_Z: f64 = 5.6;

#[test]
fn the_law_is_the_slow_twins_and_half_the_noise_is_noticed() -> Result<()> {
    let (steps, count) = (4u32, 50u64);
    let sums = [120i64, -60, 20, 0];
    let n = 30_000;
    let mut source = Source::seeded(seed()?, 0);
    let fast = Moments::collect(n, || {
        let release = Mwem::new(4, steps)?.run(&sums, count, &PARAMS, &mut source)?;
        let zeros = release.chosen.iter().filter(|&&i| i == 0).count();
        Ok(release.means.into_iter().chain([zeros as f64]).collect())
    })?;
    let mut twin = |quiet| {
        Moments::collect(n, || {
            let (means, zeros) = Twin::new(4, steps).run(&sums, count, &PARAMS, quiet, &mut source);
            Ok(means.into_iter().chain([zeros as f64]).collect())
        })
    };
    let z = fast.largest_z(&twin(1.0)?);
    assert!(z < CRITICAL_Z, "{z}");
    let z = fast.largest_z(&twin(2.0)?);
    assert!(z > CRITICAL_Z, "no power: {z}");
    Ok(())
}

#[test]
fn a_release_can_be_replayed_from_its_transcript_without_the_data() -> Result<()> {
    let (d, steps, count) = (23, 10, 200);
    let sums: Vec<i64> = (0..d as i64).map(|i| i * 83 - 900).collect();
    let params = MwemParams { iterations: 60, ..PARAMS };
    let release =
        Mwem::new(d, steps)?.run(&sums, count, &params, &mut Source::seeded(seed()?, 0))?;

    let mut twin = Twin::new(d, steps);
    let mut average = vec![0.0; d];
    for (&i, &measured) in release.chosen.iter().zip(&release.measured) {
        twin.update(i, measured as f64, count as f64);
        (0..d).for_each(|j| average[j] += twin.mean(j) / params.iterations as f64);
    }
    for (j, average) in average.iter().enumerate() {
        assert!((average - release.means[j]).abs() < 1e-12, "{j}");
        assert!((twin.mean(j) - release.last_means[j]).abs() < 1e-12, "{j}");
    }
    Ok(())
}

#[test]
fn tilts_move_only_where_chosen() -> Result<()> {
    let mut state = Mwem::from_theta((0..50).map(|i| f64::from(i) * 0.01).collect(), 6)?;
    let before = state.clone();
    let params = MwemParams { iterations: 9, ..PARAMS };
    let release = state.run(&[77; 50], 30, &params, &mut Source::seeded(seed()?, 0))?;
    for i in 0..50 {
        let moved = state.theta()[i] != before.theta()[i];
        assert!(!moved || release.chosen.contains(&i));
    }
    assert_eq!(release.chosen.len(), 9);
    assert_eq!(release.measured.len(), 9);
    Ok(())
}

#[test]
fn two_runs_continue_where_one_would_be() -> Result<()> {
    // So much epsilon that selections take the best and the noise is zero, and a grid so fine that
    // no two scores tie: no luck is left.
    let params = |iterations| MwemParams { iterations, epsilon_select: 1e6, epsilon_measure: 1e6 };
    let sums = [22_501, -17_753, 10_739, 811, -4_327];
    let mut source = Source::seeded(seed()?, 0);
    let (mut once, mut twice) = (Mwem::new(5, 1000)?, Mwem::new(5, 1000)?);
    let whole = once.run(&sums, 40, &params(12), &mut source)?;
    let first = twice.run(&sums, 40, &params(5), &mut source)?;
    let mut copy = Mwem::from_theta(twice.theta().to_vec(), 1000)?;
    let second = copy.run(&sums, 40, &params(7), &mut source)?;
    let rest = twice.run(&sums, 40, &params(7), &mut source)?;
    assert_eq!(once, twice);
    assert_eq!(second, rest);
    assert_eq!(whole.chosen, [first.chosen, rest.chosen].concat());
    assert_eq!(whole.last_means, rest.last_means);
    for (i, mean) in whole.means.iter().enumerate() {
        assert!((mean - (5.0 * first.means[i] + 7.0 * rest.means[i]) / 12.0).abs() < 1e-15);
    }
    Ok(())
}

#[test]
fn with_much_epsilon_the_means_of_the_data_are_found() -> Result<()> {
    let (steps, count) = (20, 1000u64);
    let truth = [0.9, -0.5, 0.25, 0.0];
    let sums: Vec<i64> = truth.iter().map(|mean| (mean * 20_000.0) as i64).collect();
    let params = MwemParams { iterations: 400, epsilon_select: 1.0, epsilon_measure: 1.0 };
    let release =
        Mwem::new(4, steps)?.run(&sums, count, &params, &mut Source::seeded(seed()?, 0))?;
    for (mean, truth) in release.last_means.iter().zip(truth) {
        assert!((mean - truth).abs() < 0.03, "{mean} {truth}");
    }
    Ok(())
}

#[test]
fn extreme_noise_keeps_every_mean_in_range() -> Result<()> {
    let params = MwemParams { iterations: 300, epsilon_select: 1e-6, epsilon_measure: 1e-11 };
    let mut state = Mwem::new(3, 2)?;
    for _ in 0..3 {
        let release = state.run(&[0, 1, -2], 1, &params, &mut Source::seeded(seed()?, 0))?;
        assert!(release.means.iter().chain(&release.last_means).all(|mean| mean.abs() <= 1.0));
    }
    // A sum of some 300 noises, each of a standard deviation near 7e10: below 1e5 with a chance of 2e-7.
    assert!(state.theta().iter().all(|theta| theta.is_finite() && theta.abs() > 1e5));
    Ok(())
}

#[test]
fn wrong_parameters_are_refused_and_leave_the_state() -> Result<()> {
    let mut state = Mwem::new(2, 4)?;
    let mut source = Source::seeded(1, 0);
    let mut run = |sums: &[i64], count, params: MwemParams| {
        let result = state.run(sums, count, &params, &mut source);
        assert_eq!(state.theta(), [0.0, 0.0]);
        result.is_err()
    };
    assert!(run(&[1], 1, PARAMS));
    assert!(run(&[1, 2], 0, PARAMS));
    assert!(run(&[1, 2], 1 << 52, PARAMS));
    assert!(run(&[1, i64::MIN], 1, PARAMS));
    assert!(run(&[1, 2], 1, MwemParams { iterations: 0, ..PARAMS }));
    for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(run(&[1, 2], 1, MwemParams { epsilon_select: epsilon, ..PARAMS }));
        assert!(run(&[1, 2], 1, MwemParams { epsilon_measure: epsilon, ..PARAMS }));
    }
    assert!(Mwem::new(0, 4).is_err());
    assert!(Mwem::new(3, 0).is_err());
    assert!(Mwem::from_theta(vec![f64::NAN], 4).is_err());
    Ok(())
}
