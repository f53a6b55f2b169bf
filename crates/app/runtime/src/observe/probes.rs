//! The pages of `--metrics-addr` and `--health-addr`: `/metrics`, `/healthz`, `/readyz`, as in controller-runtime
//! (`pkg/metrics/server`, `pkg/healthz`).

use std::fmt::{self, Write};
use std::sync::Arc;

use parking_lot::RwLock;

use super::exposition::MEDIA_TYPE;
use super::metrics::Metrics;
use super::server_request::{Page, PageRequest};

/// Answers requests at `--metrics-addr`.
#[must_use]
pub fn metrics_page(metrics: &Metrics, request: &PageRequest) -> Page {
    match request.path.as_str() {
        "/metrics" => Page {
            status: 200,
            media_type: MEDIA_TYPE,
            body: metrics.page(),
        },
        _ => Page::not_found(),
    }
}

/// Why a check fails, as the checked part says.
pub type CheckError = Box<dyn std::error::Error + Send + Sync>;

type Check = dyn Fn() -> Result<(), CheckError> + Send + Sync;

/// The checks of `/healthz` and `/readyz`. A clone has the same checks; they may be added at any
/// time, and run in the order of their names.
///
/// Without any, the answer is `ok`.
#[derive(Clone, Default)]
pub struct Checks(Arc<RwLock<NamedChecks>>);

#[derive(Default)]
struct NamedChecks {
    health: Vec<(String, Arc<Check>)>,
    readiness: Vec<(String, Arc<Check>)>,
}

impl Checks {
    /// Creates an empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a check to `/healthz`, which decides whether the process is restarted. It must be fast; its error
    /// must not hold a secret, since `/healthz/NAME` shows it.
    pub fn health(&self, name: &str, check: impl Fn() -> Result<(), CheckError> + Send + Sync + 'static) {
        add(&mut self.0.write().health, name, Arc::new(check));
    }

    /// Adds a check to `/readyz`, which decides whether the process counts as available.
    pub fn readiness(&self, name: &str, check: impl Fn() -> Result<(), CheckError> + Send + Sync + 'static) {
        add(&mut self.0.write().readiness, name, Arc::new(check));
    }

    /// Answers requests at `--health-addr`.
    #[must_use]
    pub fn page(&self, request: &PageRequest) -> Page {
        let Some(path) = request.path.strip_prefix('/') else {
            return Page::not_found();
        };
        let (which, name) = path.split_once('/').unwrap_or((path, ""));
        let checks = {
            let all = self.0.read();
            match which {
                "healthz" => all.health.clone(),
                "readyz" => all.readiness.clone(),
                _ => return Page::not_found(),
            }
        };
        match name.trim_end_matches('/') {
            "" => summary(&checks, request),
            name => one(&checks, name),
        }
    }
}

impl fmt::Debug for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let probes = self.0.read();
        let names = |checks: &[(String, Arc<Check>)]| checks.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        f.debug_struct("Checks")
            .field("health", &names(&probes.health))
            .field("readiness", &names(&probes.readiness))
            .finish()
    }
}

fn add(checks: &mut Vec<(String, Arc<Check>)>, name: &str, check: Arc<Check>) {
    checks.retain(|(known, _)| known != name);
    checks.push((name.to_owned(), check));
    checks.sort_by(|(one, _), (other, _)| one.cmp(other));
}

fn one(checks: &[(String, Arc<Check>)], name: &str) -> Page {
    match checks.iter().find(|(known, _)| known == name) {
        None if checks.is_empty() && name == "ping" => Page::text(200, "ok"),
        None => Page::not_found(),
        Some((_, check)) => match check() {
            Ok(()) => Page::text(200, "ok"),
            Err(what) => Page::text(500, format!("internal server error: {what}\n")),
        },
    }
}

/// `ok`, or a line for each check after a failure or with `?verbose`. The error is not shown, since the page is
/// public; `?exclude=NAME` leaves a check out.
fn summary(checks: &[(String, Arc<Check>)], request: &PageRequest) -> Page {
    let parameters = |key: &'static str| request.query.iter().filter(move |(name, _)| name == key);
    let mut excluded: Vec<&str> = parameters("exclude").map(|(_, name)| name.as_str()).collect();
    let (mut lines, mut failed) = (String::new(), false);
    for (name, check) in checks {
        let result = match excluded.iter().position(|excluded| excluded == name) {
            Some(at) => {
                excluded.remove(at);
                "excluded: ok"
            }
            None if check().is_ok() => "ok",
            None => {
                failed = true;
                "failed: reason withheld"
            }
        };
        let sign = if result.starts_with("failed") { '-' } else { '+' };
        let _ = writeln!(lines, "[{sign}]{name} {result}");
    }
    if checks.is_empty() {
        lines.push_str("[+]ping ok\n");
    }
    if !excluded.is_empty() {
        let names: Vec<String> = excluded.iter().map(|name| bumpwright_gostd::quote(name)).collect();
        let _ = writeln!(
            lines,
            "warn: some health checks cannot be excluded: no matches for {}",
            names.join(",")
        );
    }
    match (failed, parameters("verbose").next()) {
        (true, _) => Page::text(500, format!("{lines}healthz check failed\n")),
        (false, Some(_)) => Page::text(200, format!("{lines}healthz check passed\n")),
        (false, None) => Page::text(200, "ok"),
    }
}
