//! Builds that fail, and objects that are refused.

use std::collections::BTreeSet;

use serde_json::Value;

use super::cluster::{Cluster, HELM_GROUP, Placed as _, name_of, title};
use super::places::{Part, split};
use super::values::{self, VERSION, chart_field};
use crate::build::view::{BuildFailure, FleetObject, Node, Problem, Product};
use crate::release::failure::ReleaseFault;
use crate::source::files::{clean, shown_folder};
use crate::source::meant::Source;
use bumpwright_api::ObjectName;
use bumpwright_findings::{Finding, Origin, Place, Rule, Severity};
use bumpwright_json::Texts;
use bumpwright_overlay::{BUILD_FAILED, FaultKind};

/// Findings about builds, and about the bounds of the walk.
pub(super) fn check(cluster: &Cluster<'_>, found: &mut Vec<Finding>) {
    let problems = cluster.fleet.problems.iter();
    found.extend(problems.map(|problem| Finding::new(Rule::Limit, problem.clone())));
    for node in &cluster.fleet.nodes {
        let before = found.len();
        match &node.product {
            Ok(product) => {
                refused(node, product, found);
                not_texts(node, product, found);
                left_out(node, product, found);
                itself(cluster, node, found);
                let schemas = product.unfetched_schemas.iter();
                found.extend(schemas.map(|url| about(node, Rule::UnknownChart, &unfetched_schema(url))));
                let elsewhere = elsewhere(node);
                found.extend(elsewhere.map(|message| about(node, Rule::UnknownChart, &message)));
            }
            Err(Problem::Build(failure)) => {
                let (sealed, others): (Vec<Line>, Vec<Line>) = faults(failure).into_iter().partition(Line::is_sealed);
                match sealed.as_slice() {
                    [] => failed(cluster, node, others, found),
                    [first, rest @ ..] => unfetched(node, (first, rest.len()), &others, found),
                }
            }
            Err(problem @ (Problem::Late | Problem::TooManyObjects { .. })) => {
                found.push(about(node, Rule::Limit, &problem.to_string()))
            }
            Err(Problem::Chart(text)) => found.push(missing_chart(cluster, node, text)),
            Err(Problem::ChartUnavailable(text)) => {
                // `sources` has releases that name no chart.
                let is_named = release(cluster, node).is_none_or(|object| names_chart(&object.value));
                found.extend(is_named.then(|| about(node, Rule::UnknownChart, text)));
            }
            Err(Problem::Release(failure)) => {
                let faults = failure.0.iter();
                found.extend(faults.map(|fault| not_rendered(cluster, node, fault)));
            }
            // `sources` and `schemas` have these.
            Err(Problem::Source(_) | Problem::Invalid(_)) => {}
        }
        if node.release.is_some()
            && let Some(name) = cluster.kustomization_of(node)
        {
            let own = found.iter_mut().skip(before).filter(|one| one.origins.is_empty());
            own.for_each(|one| one.origins = vec![origin(&name)]);
        }
    }
    sealed(cluster, found);
}

/// A release is of the Kustomization that gives it.
fn origin(kustomization: &ObjectName) -> Origin {
    Origin {
        kustomization: Some(kustomization.to_string()),
        ..Origin::default()
    }
}

/// What is said of releases that are not rendered, since they are for another cluster.
fn elsewhere(node: &Node) -> Option<String> {
    match node.releases_elsewhere() {
        0 => None,
        1 => Some("its HelmRelease is in another cluster (spec.kubeConfig) and is not rendered".to_owned()),
        count => Some(format!(
            "its {count} HelmReleases are in another cluster (spec.kubeConfig) and are not rendered"
        )),
    }
}

fn unfetched_schema(url: &str) -> String {
    format!("values are not compared with the chart's schema, which refers to {url}: that is not fetched")
}

/// A finding about a node, at its Kustomization.
fn about(node: &Node, rule: Rule, message: &str) -> Finding {
    let message = message.trim_end_matches('.');
    let finding = match node.name() {
        None if node.release.is_some() => Finding::new(rule, message).object(node.title()),
        Some(name) => Finding::new(rule, message)
            .object(format!("Kustomization {name}"))
            .kustomization(name.to_string()),
        None => Finding::new(rule, format!("{}: {message}", shown_folder(&node.path))),
    };
    finding.placed(node.origin.as_deref().and_then(split))
}

/// The object of a node that is a release.
fn release<'c>(cluster: &Cluster<'c>, node: &Node) -> Option<&'c FleetObject> {
    let name = &node.release.as_ref()?.name;
    cluster.fleet.object(HELM_GROUP, "HelmRelease", name)
}

/// Whether a release says which chart it is of.
fn names_chart(release: &Value) -> bool {
    let fields = ["/spec/chart", "/spec/chartRef"];
    fields
        .iter()
        .any(|field| release.pointer(field).is_some_and(|value| !value.is_null()))
}

/// A chart that is not there, at the field that names it: the version where the message is about that, in the release
/// or in the source that it refers to.
fn missing_chart(cluster: &Cluster<'_>, node: &Node, text: &str) -> Finding {
    let finding = about(node, Rule::MissingChart, text);
    let Some(object) = release(cluster, node) else {
        return finding;
    };
    let is_meant = |version: &str| !version.is_empty() && text.contains(version);
    let source = values::chart_source(cluster, &object.value);
    let of_source = source.and_then(|(giver, source)| {
        let field = values::version_field(&source.value)?;
        let place = || cluster.exact_place(giver, source, field, Part::Value);
        is_meant(source.value.text_at(field)).then(place).flatten()
    });
    let of_release = || {
        let field = chart_field(&object.value, is_meant(object.value.text_at(VERSION)))?;
        cluster.place(cluster.giver(node), object, field, Part::Value)
    };
    let finding = finding.placed(of_source.or_else(of_release));
    Cluster::suggesting(finding, near_folder(cluster, &object.value))
}

/// The folder of a chart that may be meant by a release, if its source is the repository itself.
fn near_folder(cluster: &Cluster<'_>, release: &Value) -> Option<String> {
    let reference = release.value_at("/spec/chart/spec/sourceRef");
    let (kind, namespace) = (reference.text_of("kind"), reference.text_of("namespace"));
    let own = name_of(release).namespace;
    let source = ObjectName::referred_from(&own, Some(namespace), reference.text_of("name"));
    let folder = clean(release.text_at("/spec/chart/spec/chart"));
    if kind != "GitRepository" || folder.is_empty() || !cluster.is_repository(kind, &source) {
        return None;
    }
    cluster.near_path(&folder).filter(|near| *near != folder)
}

/// A fault of a release, at the part of it to correct.
fn not_rendered(cluster: &Cluster<'_>, node: &Node, fault: &ReleaseFault) -> Finding {
    let giver = cluster.giver(node);
    let place = release(cluster, node).and_then(|object| values::place_of((cluster, giver), object, &fault.part));
    about(node, Rule::RenderFailed, &fault.text).placed(place)
}

fn failed(cluster: &Cluster<'_>, node: &Node, lines: Vec<Line>, found: &mut Vec<Finding>) {
    let each_has_a_place = lines.iter().all(|line| place_in(&line.text).is_some());
    let messages = if each_has_a_place { lines } else { joined(lines) };
    for line in messages {
        let place = place_in(&line.text).or_else(|| file_in(cluster, &line.text));
        let rule = rule(line.kind);
        let message = without_place(line.text.trim_start_matches(BUILD_FAILED), place.as_ref());
        let is_ours = place.as_ref().is_some_and(|place| place.path == RULES);
        let finding = about(node, rule, message).placed(place);
        found.push(if is_ours {
            finding.help(IGNORE_RULES)
        } else if line.text.contains(NO_PATH) {
            missing_path(cluster, node, finding)
        } else if NO_OBJECT.iter().any(|words| line.text.contains(words)) {
            finding.help(EVERY_FILE)
        } else {
            finding
        });
    }
}

/// What the controller says of a YAML file that is not a manifest, in a folder that no kustomization.yaml describes.
const NO_OBJECT: [&str; 3] = [
    "missing kind in object ",
    "missing metadata.name in object ",
    "missing Resource metadata",
];
const EVERY_FILE: &str = "without a kustomization.yaml each YAML file below spec.path is applied: let it name a folder of manifests alone, or \
                          exclude the file by .sourceignore";

/// How the controller begins when the source does not have `spec.path`.
const NO_PATH: &str = "kustomization path not found: ";

/// A build without its folder: at the field that names it, with the folder of the repository that may be meant.
fn missing_path(cluster: &Cluster<'_>, node: &Node, finding: Finding) -> Finding {
    let finding = finding.placed(cluster.place_in_kustomization(node, "/spec/path"));
    let near = (node.source == Source::This).then(|| cluster.near_path(&node.path));
    Cluster::suggesting(finding, near.flatten())
}

/// The file of rules at the root of a repository, which a Kustomization of the root would apply.
const RULES: &str = ".bumpwright.yaml";
const IGNORE_RULES: &str =
    "add the line .bumpwright.yaml to .sourceignore at the root: a Kustomization of the root applies each YAML file";

/// A build that needs files of other servers: one finding for all of them, and its other faults.
fn unfetched(node: &Node, (first, rest): (&Line, usize), others: &[Line], found: &mut Vec<Finding>) {
    let first = first.text.trim_start_matches(BUILD_FAILED);
    let place = place_in(first);
    let words = first.split([' ', ',']).map(|word| word.trim_end_matches([':', '.']));
    let address = words
        .filter(|word| word.contains("://") || word.contains("?ref="))
        .max_by_key(|word| word.len());
    let more = match rest {
        0 => String::new(),
        more => format!(" and {more} more of other servers"),
    };
    let message = match address {
        Some(address) => format!("not built without a network: {address}{more} was not fetched"),
        None => without_place(first, place.as_ref()).to_owned(),
    };
    let mut finding = about(node, Rule::UnknownSource, &message).placed(place.clone());
    // Of several Kustomizations with this file it is reported once.
    finding.object = finding.object.filter(|_| place.is_none());
    found.push(finding);
    for other in others {
        let place = place_in(&other.text);
        let message = without_place(other.text.trim_start_matches(BUILD_FAILED), place.as_ref());
        found.push(about(node, rule(other.kind), message).placed(place));
    }
}

/// Objects that are encrypted as a whole were not checked. Where nothing decrypts them they are refused, too.
fn sealed(cluster: &Cluster<'_>, found: &mut Vec<Finding>) {
    let mut reported = BTreeSet::new();
    for (node, object) in cluster.sealed() {
        let place = object.origin.as_deref().and_then(split);
        let is_refused = node
            .kustomization
            .as_ref()
            .is_some_and(|one| one.spec.decryption.is_none());
        if is_refused || !reported.insert((node.shown(), place.as_ref().map(|place| place.path.clone()))) {
            continue;
        }
        let message = "the file is encrypted as a whole, so its objects were not checked";
        let finding = about(node, Rule::UnknownKind, message).severity(Severity::Note);
        let help = "give the key by --age-key-file, or encrypt the values only (encrypted_regex: ^(data|stringData)$)";
        found.push(finding.help(help).placed(place));
    }
}

/// A fault in one line.
struct Line {
    kind: FaultKind,
    text: String,
}

impl Line {
    fn is_sealed(&self) -> bool {
        self.kind == FaultKind::Sealed
    }
}

/// The faults of a build, each in one line: those below it that are indented say how it was come upon.
fn faults(failure: &BuildFailure) -> Vec<Line> {
    let mut all: Vec<Line> = Vec::new();
    for fault in &failure.0 {
        for line in fault.text.lines().filter(|line| !line.trim().is_empty()) {
            match all.last_mut().filter(|_| line.starts_with([' ', '\t'])) {
                Some(last) => {
                    last.text.push_str(", ");
                    last.text.push_str(line.trim());
                }
                None => all.push(Line {
                    kind: fault.kind,
                    text: line.to_owned(),
                }),
            }
        }
    }
    all
}

/// All of them as one, of the kind that says most.
fn joined(lines: Vec<Line>) -> Vec<Line> {
    let kind = lines.iter().map(|line| line.kind).max();
    let texts: Vec<String> = lines.into_iter().map(|line| line.text).collect();
    let text = texts.join("; ");
    kind.map(|kind| Line { kind, text }).into_iter().collect()
}

/// A message without the place that it begins with.
fn without_place<'m>(message: &'m str, place: Option<&Place>) -> &'m str {
    let begins = |(start, rest): (&'m str, &'m str)| (split(start).as_ref() == place).then_some(rest);
    place
        .and_then(|_| message.split_once(": ").and_then(begins))
        .unwrap_or(message)
}

/// The rule that a failed build breaks.
fn rule(kind: FaultKind) -> Rule {
    match kind {
        FaultKind::Sealed => Rule::UnknownSource,
        FaultKind::Cycle => Rule::IncludeCycle,
        FaultKind::Manifest => Rule::InvalidManifest,
        FaultKind::Other => Rule::BuildFailed,
    }
}

/// The first `path:line:column` (or `path:line`) of a message.
fn place_in(message: &str) -> Option<Place> {
    let words = message.split(|c: char| c.is_whitespace() || "()'\"`,;".contains(c));
    let mut places = words.filter_map(|word| {
        let word = word.trim_end_matches([':', '.']);
        let (path, numbers) = word.split_once(':')?;
        let is_file = path.contains('.') && !path.contains("//") && !path.ends_with("http") && !path.ends_with("https");
        let are_numbers = numbers.split(':').all(|number| number.parse::<usize>().is_ok());
        (is_file && are_numbers).then(|| split(word)).flatten()
    });
    places.next()
}

/// The first file that a message names, with the place where it stops being YAML if it does.
fn file_in(cluster: &Cluster<'_>, message: &str) -> Option<Place> {
    let words = message.split(|c: char| c.is_whitespace() || "()'\"`,;".contains(c));
    let paths = words.map(|word| word.trim_end_matches([':', '.']).trim_start_matches("./"));
    let mut paths = paths.filter(|path| path.contains('.'));
    paths.find_map(|path| {
        let error = cluster.places.syntax_error(path)?;
        Some(error.unwrap_or_else(|| Place {
            path: path.to_owned(),
            line: 1,
            column: 1,
        }))
    })
}

/// Encrypted Secrets that nothing decrypts: the Kustomization is not applied.
fn refused(node: &Node, product: &Product, found: &mut Vec<Finding>) {
    for text in &product.refused {
        let place = place_in(text);
        let message = without_place(text, place.as_ref());
        let finding = about(node, Rule::BuildFailed, message).placed(place);
        let decrypts = |one: &bumpwright_api::Kustomization| one.spec.decryption.is_some();
        found.push(match &node.kustomization {
            Some(one) if decrypts(one) => finding,
            Some(_) => {
                finding.help("set spec.decryption of the Kustomization: provider sops, and the Secret with the keys")
            }
            // Nothing is known of what reconciles the entry.
            None => finding
                .severity(Severity::Note)
                .help("what reconciles this folder has to decrypt it"),
        });
    }
}

/// Labels, annotations and namespaces that are not texts.
fn not_texts(node: &Node, product: &Product, found: &mut Vec<Finding>) {
    for one in &product.not_texts {
        let finding = about(node, Rule::Schema, &one.problem()).object(&one.object);
        found.push(finding.placed(one.place.as_deref().and_then(split)));
    }
}

/// Objects that variables have made invalid: Flux leaves them out, and deletes what they were before.
fn left_out(node: &Node, product: &Product, found: &mut Vec<Finding>) {
    for one in &product.left_out {
        let text = one.to_string();
        let place = place_in(&text);
        let message = without_place(&text, place.as_ref());
        let finding = about(node, Rule::UndefinedVariable, message).placed(place);
        found.push(finding.severity(Severity::Error));
    }
}

/// A Kustomization that builds another version of itself.
fn itself(cluster: &Cluster<'_>, node: &Node, found: &mut Vec<Finding>) {
    let Some(kustomization) = &node.kustomization else {
        return;
    };
    let own = kustomization.metadata.object_name();
    for object in node
        .objects()
        .iter()
        .filter(|object| crate::build::entry::is_kustomization(&object.value))
    {
        let Ok(built) = crate::build::entry::parse(&object.value) else {
            continue;
        };
        let (before, after) = (crate::clean(&kustomization.spec.path), crate::clean(&built.spec.path));
        let is_same = before == after && built.source() == kustomization.source();
        if built.metadata.object_name() != own || is_same {
            continue;
        }
        let message = format!(
            "{} builds itself with another source or path: {}",
            title(&object.value),
            shown_folder(&after)
        );
        found.push(cluster.at(Rule::IncludeCycle, node, object, "/spec", message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_place_of_a_message_is_found() {
        for (text, wanted) in [
            (
                "kustomize build failed: yaml: did not find expected node content (./apps/a.yaml:3:7)",
                Some(("apps/a.yaml", 3, 7)),
            ),
            (
                "error: ./apps/kustomization.yaml:5: no such file",
                Some(("apps/kustomization.yaml", 5, 1)),
            ),
            ("get https://example.com:443/x: no", None),
            ("image podinfo:6 is not there", None),
        ] {
            let wanted = wanted.map(|(path, line, column)| Place {
                path: path.to_owned(),
                line,
                column,
            });
            assert_eq!(place_in(text), wanted, "{text}");
        }
    }
}
