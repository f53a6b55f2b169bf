//! Counters, gauges and histograms: cells of atomics that any thread may change, and families of them by labels.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::RwLock;

/// A number that only grows. Clones are the same cell.
#[derive(Clone, Debug, Default)]
pub struct Counter(Arc<AtomicU64>);

impl Counter {
    pub fn increment(&self) {
        self.add(1);
    }

    pub fn add(&self, by: u64) {
        self.0.fetch_add(by, Ordering::Relaxed);
    }

    #[must_use]
    pub fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A number that goes up and down. Clones are the same cell.
#[derive(Clone, Debug, Default)]
pub struct Gauge(Arc<AtomicU64>);

impl Gauge {
    pub fn set(&self, to: f64) {
        self.0.store(to.to_bits(), Ordering::Relaxed);
    }

    /// Adds to the number, which may be negative.
    pub fn add(&self, by: f64) {
        add_float(&self.0, by);
    }

    #[must_use]
    pub fn value(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }
}

/// A distribution of measures. Clones are the same cells.
#[derive(Clone, Debug)]
pub struct Histogram(Arc<Buckets>);

#[derive(Debug)]
struct Buckets {
    /// The upper bounds, inclusive, rising; one more bucket has no bound.
    bounds: &'static [f64],
    counts: Box<[AtomicU64]>,
    /// The bits of a float.
    sum: AtomicU64,
}

impl Histogram {
    pub(super) fn new(bounds: &'static [f64]) -> Self {
        let counts = std::iter::repeat_with(AtomicU64::default)
            .take(bounds.len() + 1)
            .collect();
        Self(Arc::new(Buckets {
            bounds,
            counts,
            sum: AtomicU64::default(),
        }))
    }

    /// Observes a measure, in the metric's unit.
    pub fn observe(&self, measure: f64) {
        let bucket = self.0.bounds.partition_point(|bound| *bound < measure);
        if let Some(count) = self.0.counts.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        add_float(&self.0.sum, measure);
    }

    /// Observes a duration, in seconds.
    pub(crate) fn observe_time(&self, time: Duration) {
        self.observe(time.as_secs_f64());
    }

    /// Upper bounds with cumulative counts, and the sum of all measures. The last bucket is infinite.
    pub(super) fn read(&self) -> (Vec<(f64, u64)>, f64) {
        let bounds = self.0.bounds.iter().copied().chain([f64::INFINITY]);
        let mut below = 0;
        let buckets = bounds.zip(&self.0.counts).map(|(bound, count)| {
            below += count.load(Ordering::Relaxed);
            (bound, below)
        });
        (buckets.collect(), f64::from_bits(self.0.sum.load(Ordering::Relaxed)))
    }
}

fn add_float(cell: &AtomicU64, by: f64) {
    let sum = |bits| Some((f64::from_bits(bits) + by).to_bits());
    // It never fails: the function always returns a value.
    let _ = cell.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum);
}

/// Cells of one name, by the values of labels.
#[derive(Debug)]
pub(super) struct Family<C> {
    pub name: &'static str,
    pub help: &'static str,
    /// In alphabetical order, as in the exposition.
    pub labels: &'static [&'static str],
    make: fn() -> C,
    /// Sorted by the values.
    cells: RwLock<Vec<(Labels, C)>>,
}

pub(super) type Labels = Box<[Box<str>]>;

impl<C: Clone> Family<C> {
    pub fn new(name: &'static str, help: &'static str, labels: &'static [&'static str], make: fn() -> C) -> Self {
        Self {
            name,
            help,
            labels,
            make,
            cells: RwLock::default(),
        }
    }

    /// Returns the cell for these values, in the order of the labels, or creates it. An existing cell is
    /// found without allocation.
    pub fn with(&self, values: &[&str]) -> C {
        debug_assert_eq!(values.len(), self.labels.len(), "{}", self.name);
        if let Some(cell) = self.find(values) {
            return cell;
        }
        let mut cells = self.cells.write();
        match place(&cells, values) {
            // Another thread was faster.
            Ok(at) => cells.get(at).map_or_else(self.make, |(_, cell)| cell.clone()),
            Err(at) => {
                let cell = (self.make)();
                let values = values.iter().map(|value| Box::from(*value)).collect();
                cells.insert(at, (values, cell.clone()));
                cell
            }
        }
    }

    fn find(&self, values: &[&str]) -> Option<C> {
        let cells = self.cells.read();
        let at = place(&cells, values).ok()?;
        cells.get(at).map(|(_, cell)| cell.clone())
    }

    /// Removes all cells with such values.
    pub fn remove(&self, goes: impl Fn(&[Box<str>]) -> bool) {
        let mut cells = self.cells.write();
        cells.retain(|(values, _)| !goes(values));
    }

    /// All cells, sorted by their values.
    pub fn cells(&self) -> Vec<(Labels, C)> {
        self.cells.read().clone()
    }
}

fn place<C>(cells: &[(Labels, C)], values: &[&str]) -> Result<usize, usize> {
    cells.binary_search_by(|(known, _)| known.iter().map(AsRef::as_ref).cmp(values.iter().copied()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn buckets_include_their_upper_end() {
        let histogram = Histogram::new(&[1.0, 2.0]);
        for measure in [0.5, 1.0, 1.5, 2.0, 7.0] {
            histogram.observe(measure);
        }
        assert_eq!(histogram.read(), (vec![(1.0, 2), (2.0, 4), (f64::INFINITY, 5)], 12.0));
    }

    #[test]
    fn no_change_is_lost_between_threads() {
        let family = Family::new("x_total", "", &["a"], Counter::default);
        let gauge = Gauge::default();
        thread::scope(|scope| {
            for thread in 0..4 {
                let (family, gauge) = (&family, &gauge);
                scope.spawn(move || {
                    for turn in 0..1_000 {
                        family
                            .with(&[if (turn + thread) % 2 == 0 { "even" } else { "odd" }])
                            .increment();
                        gauge.add(0.5);
                    }
                });
            }
        });
        let counted: Vec<u64> = family.cells().iter().map(|(_, cell)| cell.value()).collect();
        assert_eq!(counted, [2_000, 2_000]);
        assert_eq!(gauge.value(), 2_000.0);
    }

    #[test]
    fn cells_are_found_again_and_forgotten() {
        let family = Family::new("x", "", &["a", "b"], Gauge::default);
        family.with(&["1", "x"]).set(1.0);
        family.with(&["0", "y"]).set(2.0);
        family.with(&["1", "x"]).add(3.0);
        let shown = |family: &Family<Gauge>| -> Vec<(String, f64)> {
            let cells = family.cells().into_iter();
            cells.map(|(values, cell)| (values.join("/"), cell.value())).collect()
        };
        assert_eq!(shown(&family), [("0/y".to_owned(), 2.0), ("1/x".to_owned(), 4.0)]);
        family.remove(|values| values.first().is_some_and(|value| &**value == "1"));
        assert_eq!(shown(&family), [("0/y".to_owned(), 2.0)]);
    }
}
