//! Metrics as text, identical to Prometheus' Go client (`prometheus/common/expfmt/text_create.go`,
//! text format 0.0.4): families by name, series by the values of their labels, labels by name.

use std::fmt::Write;

use super::metric::{Counter, Family, Gauge, Histogram};
use bumpwright_gostd::format_float;

/// The media type of the text.
pub(super) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What is known of a metric before it has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricDescription {
    pub name: &'static str,
    /// `counter`, `gauge` or `histogram`.
    pub kind: &'static str,
    /// The names of the labels.
    pub labels: &'static [&'static str],
    /// The meaning, as in `# HELP`.
    pub help: &'static str,
}

impl<C> Family<C> {
    fn described(&self, kind: &'static str) -> MetricDescription {
        MetricDescription {
            name: self.name,
            kind,
            labels: self.labels,
            help: self.help,
        }
    }
}

/// A family with a text form.
pub(super) trait Exposed {
    fn name(&self) -> &'static str {
        self.describe().name
    }

    fn describe(&self) -> MetricDescription;

    /// Appends the family to the page, if it has series.
    fn write(&self, page: &mut String);
}

impl Exposed for Family<Counter> {
    fn describe(&self) -> MetricDescription {
        self.described("counter")
    }

    fn write(&self, page: &mut String) {
        write_family(self, "counter", page, |page, labels, counter| {
            sample(page, self.name, labels, None, counter.value() as f64);
        });
    }
}

impl Exposed for Family<Gauge> {
    fn describe(&self) -> MetricDescription {
        self.described("gauge")
    }

    fn write(&self, page: &mut String) {
        write_family(self, "gauge", page, |page, labels, gauge| {
            sample(page, self.name, labels, None, gauge.value());
        });
    }
}

impl Exposed for Family<Histogram> {
    fn describe(&self) -> MetricDescription {
        self.described("histogram")
    }

    fn write(&self, page: &mut String) {
        let [bucket, sum, count] = ["bucket", "sum", "count"].map(|part| format!("{}_{part}", self.name));
        write_family(self, "histogram", page, |page, labels, histogram| {
            let (buckets, total) = histogram.read();
            for (bound, below) in &buckets {
                sample(page, &bucket, labels, Some(*bound), *below as f64);
            }
            sample(page, &sum, labels, None, total);
            sample(
                page,
                &count,
                labels,
                None,
                buckets.last().map_or(0.0, |(_, all)| *all as f64),
            );
        });
    }
}

/// Appends one number without labels, such as those of the process.
pub(super) fn write_single(page: &mut String, name: &str, help: &str, kind: &str, value: f64) {
    head(page, name, help, kind);
    sample(page, name, "", None, value);
}

fn write_family<C: Clone>(family: &Family<C>, kind: &str, page: &mut String, write: impl Fn(&mut String, &str, &C)) {
    let cells = family.cells();
    if cells.is_empty() {
        return;
    }
    head(page, family.name, family.help, kind);
    for (values, cell) in &cells {
        let mut labels = String::new();
        for (name, value) in family.labels.iter().zip(values) {
            let comma = if labels.is_empty() { "" } else { "," };
            let _ = write!(labels, "{comma}{name}=\"{}\"", escaped(value).replace('"', "\\\""));
        }
        write(page, &labels, cell);
    }
}

fn head(page: &mut String, name: &str, help: &str, kind: &str) {
    let _ = writeln!(page, "# HELP {name} {}\n# TYPE {name} {kind}", escaped(help));
}

fn sample(page: &mut String, name: &str, labels: &str, bound: Option<f64>, value: f64) {
    page.push_str(name);
    let bound = bound.map(|bound| format!("le=\"{}\"", number(bound)));
    match (labels, bound) {
        ("", None) => {}
        (labels, None) => {
            let _ = write!(page, "{{{labels}}}");
        }
        ("", Some(bound)) => {
            let _ = write!(page, "{{{bound}}}");
        }
        (labels, Some(bound)) => {
            let _ = write!(page, "{{{labels},{bound}}}");
        }
    }
    let _ = writeln!(page, " {}", number(value));
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n")
}

fn number(value: f64) -> String {
    match value {
        value if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        value => format_float(value, b'g', None, 64),
    }
}
