//! `--output tree`: the Kustomizations of a fleet below those that give them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use crate::cli::words;
use bumpwright_api::ObjectName;
use bumpwright_fleet::{Fleet, Node, Source, shown_folder};
use bumpwright_json::Texts as _;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const BAD: Style = AnsiColor::Red.on_default();
const WARN: Style = AnsiColor::Yellow.on_default();

/// The most kinds in a line.
const KINDS: usize = 6;

/// The fleets as trees. Colours are always included: the output stream removes them.
pub(super) fn render(fleets: &[Fleet], is_wanted: &dyn Fn(&Node) -> bool) -> String {
    let mut out = String::new();
    for fleet in fleets {
        if !out.is_empty() {
            out.push('\n');
        }
        let tree = Tree {
            fleet,
            children: children(fleet),
            is_wanted,
        };
        tree.node(&mut out, 0, "", "");
        for problem in &fleet.problems {
            let _ = writeln!(out, "{BAD}error:{BAD:#} {}", words::printable(problem));
        }
        let _ = writeln!(out, "{DIM}{}{DIM:#}", summary(fleet));
    }
    for warning in super::patches(fleets, is_wanted) {
        let _ = writeln!(out, "{WARN}warning:{WARN:#} {}", words::printable(&warning));
    }
    out
}

/// The nodes below each node.
fn children(fleet: &Fleet) -> BTreeMap<usize, Vec<usize>> {
    let mut children: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, node) in fleet.nodes.iter().enumerate() {
        if let Some(parent) = node.parent {
            children.entry(parent).or_default().push(at);
        }
    }
    children
}

struct Tree<'f> {
    fleet: &'f Fleet,
    children: BTreeMap<usize, Vec<usize>>,
    is_wanted: &'f dyn Fn(&Node) -> bool,
}

impl Tree<'_> {
    /// A node and those below it. `first` and `rest` begin its first line and the others.
    fn node(&self, out: &mut String, at: usize, first: &str, rest: &str) {
        let Some(node) = self.fleet.nodes.get(at) else { return };
        let below = self.children.get(&at).map_or(&[][..], Vec::as_slice);
        if (self.is_wanted)(node) {
            let _ = writeln!(out, "{first}{}", headline(node, self.fleet));
            let bar = if below.is_empty() { "   " } else { "│  " };
            for line in details(node) {
                let _ = writeln!(out, "{rest}{bar}{line}");
            }
        }
        for (n, child) in below.iter().enumerate() {
            let (joint, bar) = if n + 1 == below.len() {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            self.node(out, *child, &format!("{rest}{joint}"), &format!("{rest}{bar}"));
        }
    }
}

fn headline(node: &Node, fleet: &Fleet) -> String {
    let mut line = format!("{BOLD}{}{BOLD:#}", words::printable(&node.shown()));
    let path = shown_folder(&node.path);
    let is_entry = node.parent.is_none();
    if node.name().is_some() {
        let _ = write!(line, " {DIM}{}{DIM:#}", words::printable(path));
    } else if is_entry {
        let _ = write!(line, " {DIM}(entry){DIM:#}");
    }
    let source = match &node.source {
        Source::Other(source) | Source::Unknown(source, _) => Some(source.shown()),
        Source::This => chart_source(node, fleet),
    };
    if let Some(source) = source {
        let _ = write!(line, " {DIM}from {}{DIM:#}", words::printable(&source));
    }
    if let Some(release) = node.release.as_ref().filter(|release| !release.chart.is_empty()) {
        let chart = format!("{} {}", release.chart, release.version);
        let _ = write!(line, " {DIM}{}{DIM:#}", words::printable(&chart));
    }
    if node.is_suspended() {
        let _ = write!(line, " {WARN}suspended{WARN:#}");
    }
    if node.is_elsewhere() {
        let _ = write!(line, " {DIM}in another cluster{DIM:#}");
    }
    let kinds = kinds(node);
    if !kinds.is_empty() {
        let _ = write!(line, "  {kinds}");
    }
    if node.took.as_millis() > 0 {
        let _ = write!(line, " {DIM}built in {} ms{DIM:#}", node.took.as_millis());
    }
    line
}

/// The source of a release's chart, as the HelmRelease names it.
fn chart_source(node: &Node, fleet: &Fleet) -> Option<String> {
    let own = &node.release.as_ref()?.name;
    let release = fleet.object("helm.toolkit.fluxcd.io", "HelmRelease", own)?;
    let mut references = ["/spec/chart/spec/sourceRef", "/spec/chartRef"].into_iter();
    let reference = references.find_map(|pointer| release.value.pointer(pointer))?;
    let [kind, namespace, name] = ["kind", "namespace", "name"].map(|field| reference.text_of(field));
    let source = ObjectName::referred_from(&own.namespace, Some(namespace), name);
    (!kind.is_empty()).then(|| format!("{kind}/{source}"))
}

/// `3 Deployment, 2 Service`: the most frequent kinds first.
fn kinds(node: &Node) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for object in node.objects() {
        *counts.entry(object.id().kind).or_default() += 1;
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by(|(kind, count), (other_kind, other)| other.cmp(count).then_with(|| kind.cmp(other_kind)));
    let others: usize = counts.iter().skip(KINDS).map(|(_, count)| count).sum();
    let mut shown: Vec<String> = counts
        .iter()
        .take(KINDS)
        .map(|(kind, count)| format!("{count} {}", words::printable(kind)))
        .collect();
    if others > 0 {
        shown.push(format!("{others} others"));
    }
    shown.join(", ")
}

/// Problems and warnings of a node.
fn details(node: &Node) -> Vec<String> {
    let mut lines = Vec::new();
    match &node.product {
        Ok(product) => {
            let warnings = super::warnings(product).cloned().chain(product.refusals());
            lines.extend(warnings.map(|warning| format!("{WARN}warning:{WARN:#} {}", words::printable(&warning))));
        }
        Err(problem) => {
            let text = problem.to_string();
            lines.extend(text.lines().enumerate().map(|(n, line)| match n {
                0 if !node.is_failed() => format!("{WARN}warning:{WARN:#} {}", words::printable(line)),
                0 => format!("{BAD}error:{BAD:#} {}", words::printable(line)),
                _ => format!("       {}", words::printable(line)),
            }));
        }
    }
    lines.extend(super::elsewhere(node).map(|note| format!("{DIM}note:{DIM:#} {note}")));
    let field = if node.release.is_some() {
        "valuesFrom"
    } else {
        "substituteFrom"
    };
    let needed = node.missing.iter().filter(|missing| !missing.optional);
    lines.extend(needed.map(|missing| {
        let missing = format!("{} {} of {} is not in the fleet", missing.kind, missing.name, field);
        format!("{WARN}warning:{WARN:#} {}", words::printable(&missing))
    }));
    lines
}

fn summary(fleet: &Fleet) -> String {
    let failed = fleet.nodes.iter().filter(|node| node.is_failed()).count();
    // What an operator makes of its own object does not count.
    let is_one = |node: &&Node| node.kustomization.is_some() || node.parent.is_none();
    let kustomizations = fleet.nodes.iter().filter(is_one).count();
    let mut summary = format!(
        "{} in {}",
        words::count(fleet.len(), "object"),
        words::count(kustomizations, "Kustomization")
    );
    let releases: Vec<&Node> = fleet.nodes.iter().filter(|node| node.release.is_some()).collect();
    if !releases.is_empty() {
        let _ = write!(summary, " and {}", words::count(releases.len(), "HelmRelease"));
    }
    let unknown = releases
        .iter()
        .filter(|node| node.product.is_err() && !node.is_failed());
    match unknown.count() {
        0 => {}
        unknown => drop(write!(summary, ", {unknown} not rendered")),
    }
    match failed {
        0 => summary,
        failed => format!("{summary}, {failed} not built"),
    }
}
