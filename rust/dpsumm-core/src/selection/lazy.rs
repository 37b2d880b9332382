//! Exact best scores `a_y - weight c_y` with few passes over the points.
//!
//! Kernel values are positive, so a sum c over only the earlier picks bounds a score from above,
//! also after rounding, which is monotone (Minoux 1978). A panel of eight rows is brought up to
//! date only when its bound reaches the best score known, with all picks it has missed at once: the
//! points are read a few times instead of once a pick. (For high-dimensional data few of the kernel
//! values themselves are saved.)

use rayon::prelude::*;

use super::{Picks, Scores, Tally};
use crate::error::Result;
use crate::kernel::{PANEL, Packed, kernel_values, origin};
use crate::points::{Points, Scalar};
use crate::simd::{Hot, dispatch, prefetch};

/// Picks that are multiplied with a panel at once. Four rows and eight lanes are as many chains of
/// fused operations as hide their latency: fewer would take as long.
const PICKS: usize = 4;
/// Panels per parallel task.
const TASK: usize = 256;

/// A row and its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Best {
    pub(super) score: f64,
    pub(super) row: usize,
}

impl Best {
    pub(super) const NONE: Self = Self { score: f64::NEG_INFINITY, row: usize::MAX };

    /// The better of two; of equals, the first row.
    #[inline(always)]
    pub(super) fn or(self, other: Self) -> Self {
        if other.score > self.score || (other.score == self.score && other.row < self.row) {
            other
        } else {
            self
        }
    }
}

/// Eight rows: their attractions, and sums of kernel values with the first `seen` picks.
struct Panel {
    /// Minus infinity for rows that may not be picked (any more).
    attraction: [f64; PANEL],
    sums: [f64; PANEL],
    seen: usize,
}

/// Scores of all points, brought up to date where needed.
pub(super) struct Double {
    gamma: f64,
    points: Packed,
    panels: Vec<Panel>,
    picked: Packed,
    tally: Tally,
    /// Panels that held the best rows of the last search, one of each task.
    promising: Vec<usize>,
}

impl Double {
    /// Start with nothing picked.
    pub(super) fn new<T: Scalar>(
        points: &Points<T>,
        attraction: &[f64],
        gamma: f64,
    ) -> Result<Self> {
        let packed = Packed::new(points, &origin(points), PANEL)?;
        let panel = |attractions: &[f64]| {
            let mut attraction = [f64::NEG_INFINITY; PANEL];
            attraction[..attractions.len()].copy_from_slice(attractions);
            Panel { attraction, sums: [0.0; PANEL], seen: 0 }
        };
        Ok(Self {
            gamma,
            points: packed,
            panels: attraction.chunks(PANEL).map(panel).collect(),
            picked: Packed::empty(points.dim(), PICKS),
            tally: Tally::default(),
            promising: Vec::new(),
        })
    }

    /// Bring one row up to date, so that it may be picked whatever its score.
    pub(super) fn refresh(&mut self, row: usize) {
        let (p, picks) = (row / PANEL, self.tally.picks.rows.len());
        let (points, picked, gamma) = (&self.points, &self.picked, self.gamma);
        let (panels, known) = (&mut self.panels[p..=p], Best::NONE);
        let whole = Search { points, picked, picks, gamma, weight: 0.0, first: p, panels, known };
        dispatch(whole);
    }
}

impl Scores for Double {
    fn best(&mut self, weight: f64) -> Result<Option<Best>> {
        let (points, picked) = (&self.points, &self.picked);
        let search = |first, panels: &mut [Panel], known| {
            let (gamma, picks) = (self.gamma, self.tally.picks.rows.len());
            dispatch(Search { points, picked, picks, gamma, weight, first, panels, known })
        };
        // Last time's runners-up give a high score to beat, before the many are looked at.
        let panels = &mut self.panels;
        let known = self
            .promising
            .iter()
            .fold(Best::NONE, |known, &p| known.or(search(p, &mut panels[p..=p], known)));
        let tasks = panels.par_chunks_mut(TASK).enumerate();
        let found: Vec<Best> =
            tasks.map(|(task, panels)| search(task * TASK, panels, known)).collect();
        let rows = found.iter().filter(|best| best.row != usize::MAX);
        self.promising = rows.map(|best| best.row / PANEL).collect();
        let best = found.into_iter().fold(known, Best::or);
        Ok((best.row != usize::MAX).then_some(best))
    }

    fn pick(&mut self, row: usize) {
        let panel = &mut self.panels[row / PANEL];
        let attraction = &mut panel.attraction[row % PANEL];
        self.picked.push(self.tally.picks.rows.len(), &self.points, row);
        self.tally.add(row, *attraction, panel.sums[row % PANEL]);
        *attraction = f64::NEG_INFINITY;
    }

    fn into_picks(self: Box<Self>) -> Picks {
        self.tally.picks
    }
}

/// Search a run of panels, starting at panel `first`, for a row better than `known`.
struct Search<'a> {
    points: &'a Packed,
    picked: &'a Packed,
    picks: usize,
    gamma: f64,
    weight: f64,
    first: usize,
    panels: &'a mut [Panel],
    known: Best,
}

impl Hot for Search<'_> {
    type Output = Best;

    #[inline(always)]
    fn run(self) -> Best {
        let Self { points, picked, picks, gamma, weight, first, panels, known } = self;
        let mut best = known;
        let mut found = Best::NONE;
        // Panels to look at, listed beforehand so that the next can be fetched during the work on
        // one: their coordinates come from memory (bench `selection`: a quarter of the time).
        let mut due = [0; TASK];
        let mut n_due = 0;
        for (p, panel) in panels.iter().enumerate() {
            due[n_due] = p;
            n_due += usize::from(panel.bound(weight) >= best.score);
        }
        for (i, &p) in due[..n_due].iter().enumerate() {
            if let Some(&next) = due[..n_due].get(i + 1) {
                prefetch(points.group(first + next).0);
            }
            let panel = &mut panels[p];
            if panel.bound(weight) >= best.score {
                panel.update(points.group(first + p), picked, picks, gamma);
                found = found.or(panel.top(weight, (first + p) * PANEL));
                best = best.or(found);
            }
        }
        found
    }
}

impl Panel {
    #[inline(always)]
    fn scores(&self, weight: f64) -> [f64; PANEL] {
        std::array::from_fn(|j| (-self.sums[j]).mul_add(weight, self.attraction[j]))
    }

    /// No row of the panel has a larger score than this.
    #[inline(always)]
    fn bound(&self, weight: f64) -> f64 {
        let s = self.scores(weight);
        let larger = |a: f64, b: f64| if a > b { a } else { b };
        let half: [f64; PANEL / 2] = std::array::from_fn(|j| larger(s[j], s[j + PANEL / 2]));
        half.into_iter().fold(f64::NEG_INFINITY, larger)
    }

    /// The best row of a panel brought up to date; its first row is `row`.
    #[inline(always)]
    fn top(&self, weight: f64, row: usize) -> Best {
        let scores = self.scores(weight).into_iter().enumerate();
        let left = scores.filter(|(_, score)| *score > f64::NEG_INFINITY);
        left.fold(Best::NONE, |best, (j, score)| best.or(Best { score, row: row + j }))
    }

    /// Add the kernel values of the picks missed, each in its turn.
    #[inline(always)]
    fn update(&mut self, rows: (&[f64], &[f64]), picked: &Packed, picks: usize, gamma: f64) {
        let mut values = [[0.0; PANEL]; PICKS];
        while self.seen < picks {
            let group = self.seen / PICKS;
            let end = picks.min((group + 1) * PICKS);
            kernel_values::<PICKS>(picked.group(group), rows, gamma, &mut values);
            for values in &values[self.seen % PICKS..=(end - 1) % PICKS] {
                for (sum, value) in self.sums.iter_mut().zip(values) {
                    *sum += value;
                }
            }
            self.seen = end;
        }
    }
}
