//! Metrics of this process from `/proc`, as in Prometheus' Go client (`collectors/process_collector.go`). Unavailable
//! numbers are left out.

use std::fs;

use super::exposition::{Exposed, MetricDescription, write_single};

/// Ticks per second in `/proc/self/stat`, the same on every machine (proc(5), `USER_HZ`).
const TICKS: f64 = 100.0;

/// One number of the process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measure {
    name: &'static str,
    help: &'static str,
    kind: &'static str,
    value: f64,
}

impl Exposed for Measure {
    fn describe(&self) -> MetricDescription {
        MetricDescription {
            name: self.name,
            kind: self.kind,
            labels: &[],
            help: self.help,
        }
    }

    fn write(&self, page: &mut String) {
        write_single(page, self.name, self.help, self.kind, self.value);
    }
}

/// The sources of the numbers.
#[derive(Default)]
pub(super) struct Measures {
    /// `/proc/self/stat`.
    stat: String,
    /// `/proc/self/status`.
    status: String,
    /// `/proc/self/limits`.
    limits: String,
    /// `/proc/stat`, of the machine.
    machine: String,
    /// The number of entries in `/proc/self/fd`.
    descriptors: Option<usize>,
}

impl Measures {
    /// Reads `/proc`.
    pub fn read() -> Vec<Measure> {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let measures = Self {
            stat: text("/proc/self/stat"),
            status: text("/proc/self/status"),
            limits: text("/proc/self/limits"),
            machine: text("/proc/stat"),
            // The folder itself is open while it is read.
            descriptors: fs::read_dir("/proc/self/fd")
                .ok()
                .map(|fds| fds.count().saturating_sub(1)),
        };
        measures.all()
    }

    fn all(&self) -> Vec<Measure> {
        let gauge = |name, help, value: Option<f64>| {
            value.map(|value| Measure {
                name,
                help,
                kind: "gauge",
                value,
            })
        };
        let cpu = self.ticks(14).zip(self.ticks(15)).map(|(user, system)| user + system);
        [
            cpu.map(|value| Measure {
                name: "process_cpu_seconds_total",
                help: "Total user and system CPU time spent in seconds.",
                kind: "counter",
                value,
            }),
            gauge(
                "process_open_fds",
                "Number of open file descriptors.",
                self.descriptors.map(|number| number as f64),
            ),
            gauge(
                "process_max_fds",
                "Maximum number of open file descriptors.",
                self.limit("Max open files"),
            ),
            gauge(
                "process_virtual_memory_bytes",
                "Virtual memory size in bytes.",
                self.kilobytes("VmSize:"),
            ),
            gauge(
                "process_virtual_memory_max_bytes",
                "Maximum amount of virtual memory available in bytes.",
                self.limit("Max address space"),
            ),
            gauge(
                "process_resident_memory_bytes",
                "Resident memory size in bytes.",
                self.kilobytes("VmRSS:"),
            ),
            gauge(
                "process_start_time_seconds",
                "Start time of the process since unix epoch in seconds.",
                self.start(),
            ),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// A field of `stat` in seconds, counted from 1 as in proc(5). The second one is a name in parentheses, which may
    /// contain anything.
    fn ticks(&self, field: usize) -> Option<f64> {
        let (_, behind_name) = self.stat.rsplit_once(')')?;
        let text = behind_name.split_whitespace().nth(field.checked_sub(3)?)?;
        Some(text.parse::<f64>().ok()? / TICKS)
    }

    fn start(&self) -> Option<f64> {
        let mut lines = self.machine.lines();
        let boot: f64 = lines
            .find_map(|line| line.strip_prefix("btime "))?
            .trim()
            .parse()
            .ok()?;
        Some(boot + self.ticks(22)?)
    }

    /// Go's client shows no limit as the largest number.
    fn limit(&self, name: &str) -> Option<f64> {
        let line = self.limits.lines().find_map(|line| line.strip_prefix(name))?;
        match line.split_whitespace().next()? {
            "unlimited" => Some(u64::MAX as f64),
            number => number.parse().ok(),
        }
    }

    fn kilobytes(&self, name: &str) -> Option<f64> {
        let line = self.status.lines().find_map(|line| line.strip_prefix(name))?;
        let kilobytes: f64 = line.split_whitespace().next()?.parse().ok()?;
        Some(kilobytes * 1024.0)
    }
}

/// The machine's name, which in a cluster is the pod's: `reportingInstance` of events.
#[must_use]
pub fn host_name() -> Option<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_proc() {
        let fields: Vec<String> = (4..=52).map(|field| (field * 100).to_string()).collect();
        let measures = Measures {
            stat: format!("7 (a ) b) S {}", fields.join(" ")),
            status: "Name:\tx\nVmSize:\t  2048 kB\nVmRSS:\t 3 kB\n".to_owned(),
            limits: "Limit  Soft Limit  Hard Limit  Units\nMax open files   1024   4096   files\nMax address space  unlimited  unlimited  bytes\n".to_owned(),
            machine: "cpu 1 2\nbtime 1000\n".to_owned(),
            descriptors: Some(9),
        };
        let all = measures.all();
        let values: Vec<(&str, f64)> = all.iter().map(|measure| (measure.name, measure.value)).collect();
        let expected = [
            ("process_cpu_seconds_total", 29.0),
            ("process_open_fds", 9.0),
            ("process_max_fds", 1024.0),
            ("process_virtual_memory_bytes", 2_097_152.0),
            ("process_virtual_memory_max_bytes", 1.844_674_407_370_955_2e19),
            ("process_resident_memory_bytes", 3072.0),
            ("process_start_time_seconds", 1022.0),
        ];
        assert_eq!(values, expected);
        assert_eq!(Measures::default().all(), []);
    }

    #[test]
    fn finds_this_process() {
        let all = Measures::read();
        assert_eq!(all.len(), 7);
        assert!(all.iter().all(|measure| measure.value >= 0.0));
        let resident = all
            .iter()
            .find(|measure| measure.name == "process_resident_memory_bytes");
        assert!(resident.is_some_and(|measure| measure.value > 1e6), "{resident:?}");
    }
}
