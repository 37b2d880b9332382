//! L-BFGS (Nocedal and Wright, *Numerical Optimization*, section 7.2), for smooth convex functions.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

/// Pairs of steps and gradients that are kept.
const MEMORY: usize = 12;
/// Part of the fall along the gradient that a step must reach.
const ENOUGH: f64 = 1e-4;
/// Steps are halved down to this. They end where the value falls by less, far below what released
/// tables tell of it.
const SHORTEST: f64 = 1e-6;
const LEAST_FALL: f64 = 1e-8;

/// Return where `value` is least, from `at` on; it gives the value and the gradient.
pub(super) fn minimise(
    value: impl Fn(&[f64]) -> (f64, Vec<f64>),
    mut at: Vec<f64>,
    max_steps: usize,
    until: &AtomicBool,
) -> Result<Vec<f64>> {
    let (mut loss, mut slope) = value(&at);
    let mut memory: VecDeque<(Vec<f64>, Vec<f64>, f64)> = VecDeque::new();
    for _ in 0..max_steps {
        let way = direction(&memory, &slope);
        let falls = dot(&slope, &way);
        if falls <= 1e-12 {
            break;
        }
        let mut step = 1.0;
        let (new, new_loss, new_slope) = loop {
            if until.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            let new: Vec<f64> = at.iter().zip(&way).map(|(x, w)| x - step * w).collect();
            let (new_loss, new_slope) = value(&new);
            if new_loss <= loss - ENOUGH * step * falls || step < SHORTEST {
                break (new, new_loss, new_slope);
            }
            step /= 2.0;
        };
        let moved: Vec<f64> = new.iter().zip(&at).map(|(a, b)| a - b).collect();
        let turned: Vec<f64> = new_slope.iter().zip(&slope).map(|(a, b)| a - b).collect();
        let curved = dot(&moved, &turned);
        if curved > 1e-14 {
            if memory.len() == MEMORY {
                memory.pop_front();
            }
            memory.push_back((moved, turned, 1.0 / curved));
        }
        let done = (loss - new_loss).abs() < LEAST_FALL;
        (at, loss, slope) = (new, new_loss, new_slope);
        if done {
            break;
        }
    }
    Ok(at)
}

/// The two loops: the gradient times the inverse of the curvature that was seen.
fn direction(memory: &VecDeque<(Vec<f64>, Vec<f64>, f64)>, slope: &[f64]) -> Vec<f64> {
    let mut way = slope.to_vec();
    let mut taken = Vec::with_capacity(memory.len());
    for (moved, turned, over) in memory.iter().rev() {
        let part = over * dot(moved, &way);
        taken.push(part);
        way.iter_mut().zip(turned).for_each(|(w, t)| *w -= part * t);
    }
    if let Some((moved, turned, _)) = memory.back() {
        let first = dot(moved, turned) / dot(turned, turned);
        way.iter_mut().for_each(|w| *w *= first);
    }
    for ((moved, turned, over), part) in memory.iter().zip(taken.iter().rev()) {
        let rest = part - over * dot(turned, &way);
        way.iter_mut().zip(moved).for_each(|(w, m)| *w += rest * m);
    }
    way
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
