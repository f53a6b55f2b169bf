//! The metrics of a controller process, from what registers them.

use bumpwright_runtime::{MetricDescription, Metrics};

use super::markdown::{generated, item, names, sentence};

/// `metrics.md`.
pub fn page() -> String {
    let all = Metrics::new().describe();
    let mut page = "# Metrics\n\n".to_owned();
    page.push_str(&generated("the metrics of the program"));
    page.push_str(
        "`bumpwright controller` serves them at `/metrics` of `--metrics-addr`; [monitoring](../guides/monitoring.md) has alerts and a dashboard.\n\
         `gotk_reconcile_condition` and `gotk_suspend_status` are left out: Flux's controllers no longer record them.\n",
    );
    for (title, prefix) in [
        ("Of bumpwright", "bumpwright_"),
        ("Of Flux's controllers", "gotk_"),
        ("Of controller-runtime", "controller_runtime_"),
        ("Of work queues", "workqueue_"),
        ("Of the process", "process_"),
        ("Others", ""),
    ] {
        let prefixes = ["bumpwright_", "gotk_", "controller_runtime_", "workqueue_", "process_"];
        let is_here = |metric: &&MetricDescription| match prefix {
            "" => !prefixes.iter().any(|prefix| metric.name.starts_with(prefix)),
            prefix => metric.name.starts_with(prefix),
        };
        page.push_str(&format!("\n## {title}\n\n"));
        page.extend(all.iter().filter(is_here).map(entry));
    }
    page
}

fn entry(metric: &MetricDescription) -> String {
    let labels = match metric.labels {
        [] => String::new(),
        labels => format!(" by {}", names(labels.iter().copied())),
    };
    item(
        metric.name,
        &format!("{}{labels}. {}", metric.kind, sentence(metric.help)),
    )
}

/// What a scrape shows of a metric is what its description says.
#[test]
fn a_scrape_has_the_described_names() {
    let metrics = Metrics::new();
    let _of_kind = metrics.controller("imagepolicy", 4);
    metrics.token_cache().requested(true);
    let described = metrics.describe();
    let page = metrics.page();
    let mut seen = 0;
    for line in page.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').unwrap();
        let metric = described.iter().find(|metric| metric.name == name);
        assert_eq!(metric.map(|metric| metric.kind), Some(kind), "{name}");
        seen += 1;
    }
    assert!(seen > 10, "{page}");
}
