use super::*;
use crate::rng::Source;

/// Every available row with its score in plain 128-bit arithmetic, best first.
fn slow(rows: &[i16], direction: &[i128], available: &[bool], s: usize) -> Vec<Bid> {
    let dot = |row: &[i16]| row.iter().zip(direction).map(|(&q, &g)| i128::from(q) * g).sum();
    let bids = rows.chunks(direction.len()).enumerate().filter(|&(row, _)| available[row]);
    let mut bids: Vec<Bid> = bids.map(|(row, q)| Bid { row, score: dot(q) }).collect();
    bids.sort_by_key(|bid| (std::cmp::Reverse(bid.score), bid.row));
    bids.truncate(s);
    bids
}

fn features(source: &mut Source, n: usize, d: usize) -> Vec<i16> {
    (0..n * d).map(|_| source.bits() as i16).collect()
}

fn direction(source: &mut Source, d: usize) -> Vec<i64> {
    (0..d).map(|_| source.bits() as i64 >> 28).collect()
}

fn wide(direction: &[i64]) -> Vec<i128> {
    direction.iter().map(|&g| i128::from(g)).collect()
}

#[test]
fn best_bids_equal_the_slow_twin() -> Result<()> {
    let mut source = Source::seeded(1, 0);
    for (n, d, s) in [(1, 1, 1), (5, 3, 9), (300, 64, 1), (9000, 17, 40), (9000, 17, 5000)] {
        let rows = features(&mut source, n, d);
        let g = direction(&mut source, d);
        let available: Vec<bool> = (0..n).map(|_| source.below(3) > 0).collect();
        assert_eq!(best_bids(&rows, &g, &available, s)?, slow(&rows, &wide(&g), &available, s));
    }
    Ok(())
}

#[test]
fn ties_go_to_the_smaller_row() -> Result<()> {
    let n = 3 * ROWS;
    let rows: Vec<i16> = (0..n).map(|row| i16::from(row % 5 == 3)).collect();
    let bids = best_bids(&rows, &[7], &vec![true; n], 3)?;
    assert_eq!(bids.iter().map(|bid| bid.row).collect::<Vec<_>>(), [3, 8, 13]);
    Ok(())
}

#[test]
fn sparse_and_dense_changes_give_the_same_bids() -> Result<()> {
    let mut source = Source::seeded(2, 0);
    let (n, d) = (5000, 60);
    let rows = features(&mut source, n, d);
    let mut bidder = Bidder::new(rows.clone(), d)?;
    let target = direction(&mut source, d);
    let mut summary = vec![0; d];
    bidder.set_target(&target)?;
    let mut available = vec![true; n];
    for round in 1..40i64 {
        let n_changed = if round % 10 == 0 { d } else { source.below(8) as usize };
        for _ in 0..n_changed {
            summary[source.below(d as u64) as usize] = source.bits() as i64 >> 24;
        }
        bidder.set_summary(&summary)?;
        let (alpha, beta) = (round + 1, 1000);
        let whole: Vec<i128> =
            target.iter().zip(&summary).map(|(&v, &s)| combine(alpha, v, beta, s)).collect();
        let bids = bidder.best(alpha, beta, 3)?;
        assert_eq!(bids, slow(&rows, &whole, &available, 3));
        let row = bids[0].row;
        assert_eq!(score_of(&rows[row * d..][..d], &target, &summary, alpha, beta)?, bids[0].score);
        bidder.remove(row)?;
        available[row] = false;
        assert_eq!(bidder.n_available(), n - round as usize);
    }
    assert!(matches!(bidder.columns, Columns::Made(_)), "the sparse path never ran");
    Ok(())
}

#[test]
fn extreme_factors_and_scores_do_not_overflow() -> Result<()> {
    let limit = dot::MAX_L1 as i64;
    let d = 8;
    let put = |value: i64| [value, 0, 0, 0, 0, 0, 0, 0];
    let rows = [i16::MIN, 0, 0, 0, 0, 0, 0, 0, i16::MAX, 0, 0, 0, 0, 0, 0, 0];
    let mut bidder = Bidder::new(rows.to_vec(), d)?;
    bidder.set_target(&put(limit))?;
    bidder.set_summary(&put(-limit))?;
    // With summary = -target, alpha v - beta s is (alpha + beta) v.
    let whole = i128::from(i64::MIN) * i128::from(limit) * 2;
    let best = bidder.best(i64::MIN, i64::MIN, 2)?;
    assert_eq!(best[0], Bid { row: 0, score: whole * i128::from(i16::MIN) });
    assert_eq!(best[1], Bid { row: 1, score: whole * i128::from(i16::MAX) });
    // The change of a column from one extreme to the other leaves 64 bits on the way.
    bidder.set_target(&put(-limit))?;
    assert_eq!(
        bidder.best(1, 0, 1)?[0],
        Bid { row: 0, score: -i128::from(limit) * i128::from(i16::MIN) }
    );
    Ok(())
}

#[test]
fn appended_rows_score_at_once_and_tie_by_id() -> Result<()> {
    let mut source = Source::seeded(4, 0);
    let (n, d) = (90, 20);
    let rows = features(&mut source, n, d);
    let (target, summary) = (direction(&mut source, d), direction(&mut source, d));
    let mut whole = Bidder::new(rows.clone(), d)?;
    let mut grown = Bidder::new(Vec::new(), d)?;
    whole.set_target(&target)?;
    whole.set_summary(&summary)?;
    grown.set_target(&target)?;
    for (i, part) in rows.chunks(30 * d).enumerate() {
        let ids: Vec<i64> = (0..30).map(|k| 30 * i as i64 + k).collect();
        grown.append(part, &ids)?;
        grown.set_summary(&summary)?;
        // Two sparse changes: the second one reads columns, which the next rows outdate.
        for change in [1, 0] {
            let mut near = summary.clone();
            near[7] += change;
            grown.set_summary(&near)?;
        }
    }
    assert_eq!(grown.best(3, 5, n)?, whole.best(3, 5, n)?);

    let mut late = Bidder::new(Vec::new(), 1)?;
    late.append(&[4, 4, 1], &[50, 20, 60])?;
    late.append(&[4, 4], &[-3, 30])?;
    late.set_target(&[1])?;
    let order: Vec<usize> = late.best(1, 1, 9)?.iter().map(|bid| bid.row).collect();
    assert_eq!(order, [3, 1, 4, 0, 2], "never the order of arrival");
    assert_eq!(late.best(1, 1, 1)?[0].row, 3);

    assert!(late.append(&[1], &[20]).is_err(), "id used before");
    assert!(late.append(&[1, 1], &[70, 70]).is_err());
    assert!(late.append(&[1, 1], &[71]).is_err());
    assert_eq!(late.n_rows(), 5, "a refused append leaves no rows");
    Ok(())
}

#[test]
fn exhausted_and_empty_owners_bid_nothing() -> Result<()> {
    let mut bidder = Bidder::new(vec![1, 2], 1)?;
    bidder.remove(1)?;
    bidder.remove(0)?;
    assert_eq!(bidder.best(1, 1, 5)?, []);
    assert_eq!(Bidder::new(Vec::new(), 4)?.best(1, 1, 1)?, []);
    assert!(bidder.remove(0).is_err(), "sent twice");
    assert!(bidder.remove(2).is_err());
    Ok(())
}

#[test]
fn threads_change_nothing() -> Result<()> {
    let mut source = Source::seeded(3, 0);
    let (n, d) = (20_000, 24);
    // Few distinct rows: many ties.
    let rows: Vec<i16> = (0..n * d).map(|_| source.below(2) as i16).collect();
    let g = vec![1; d];
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| best_bids(&rows, &g, &vec![true; n], 500))
    };
    assert_eq!(run(1)?, run(3)?);
    Ok(())
}

#[test]
fn wrong_shapes_are_refused() -> Result<()> {
    assert!(Bidder::new(vec![1, 2, 3], 2).is_err());
    assert!(Bidder::new(vec![1], 0).is_err());
    let mut bidder = Bidder::new(vec![1, 2], 2)?;
    assert!(bidder.set_target(&[1]).is_err());
    assert!(bidder.set_summary(&[i64::MAX, 0]).is_err());
    assert!(bidder.best(1, 1, 0).is_err());
    assert!(best_bids(&[1, 2], &[], &[], 1).is_err());
    assert!(best_bids(&[1, 2], &[1], &[true], 1).is_err());
    assert!(score_of(&[1], &[1, 2], &[1], 1, 1).is_err());
    Ok(())
}

/// Scores that f64 cannot tell apart, over more rows than one unit of work has: the ceilings of
/// groups skip none that counts.
#[test]
fn bids_nearer_than_a_double_tells_are_ordered_exactly() -> Result<()> {
    let n = 40_000;
    let mut source = Source::seeded(11, 0);
    // One feature of 2^14 times a large coordinate, and one that makes scores differ by single units.
    let near = |_| [1 << 14, (source.below(7) as i16) - 3];
    let rows: Vec<i16> = (0..n).flat_map(near).collect();
    let (target, summary) = ([1i64 << 46, 1], [-(1i64 << 45), 2]);
    let mut bidder = Bidder::new(rows.clone(), 2)?;
    bidder.set_target(&target)?;
    bidder.set_summary(&summary)?;
    let mut available = vec![true; n];
    for (turn, s) in [1, 1, 3, 100, 1, 5000].into_iter().enumerate() {
        let (alpha, beta) = (1 + turn as i64, 1 << 40);
        let whole: Vec<i128> = target
            .iter()
            .zip(&summary)
            .map(|(&t, &s)| i128::from(alpha) * i128::from(t) - i128::from(beta) * i128::from(s))
            .collect();
        let bids = bidder.best(alpha, beta, s)?;
        assert_eq!(bids, slow(&rows, &whole, &available, s));
        for bid in bids {
            bidder.remove(bid.row)?;
            available[bid.row] = false;
        }
    }
    Ok(())
}
