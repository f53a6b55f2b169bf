//! Markers of policies that no cluster has.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

use super::automations::Automation;
use super::beside::{images_beside, is_other};
use super::policies::repository_of;
use crate::build::settings::is_over;
use crate::check::accept::{AcceptingComment, comments};
use crate::check::cluster::{Cluster, IMAGE_GROUP, meant, policies};
use crate::source::each_file::each_file;
use crate::source::meant::Source;
use crate::source::repository::Repository;
use bumpwright_api::ObjectName;
use bumpwright_edit::{FileKind, LocalSkip, Part, Reason, Setter, YAML_LIMIT, file_kind, looks_marked, scan};
use bumpwright_findings::{Finding, Rule, Severity};
use bumpwright_kustomize::tree::Tree;

/// Files that a thread takes at a time.
const HANDFUL: usize = 64;

/// A file with markers.
pub(crate) struct MarkedFile {
    pub(crate) path: String,
    /// Line, column and content of each marker.
    pub(crate) setters: Vec<(usize, usize, Setter)>,
    /// The images that marked tags are of, by line and column, where the fields beside them say it.
    images: BTreeMap<(usize, usize), String>,
    /// Comments that only look like markers.
    skips: Vec<LocalSkip>,
    /// Comments that accept findings.
    pub(crate) acceptances: Vec<AcceptingComment>,
}

/// The marked files of the repository that the clusters are built from, or that their automations look at: those that
/// are read before the deadline.
pub(crate) fn all(
    clusters: &[Cluster<'_>],
    automations: &[Automation<'_>],
    repository: &dyn Repository,
    (threads, deadline): (usize, Option<Instant>),
) -> Vec<MarkedFile> {
    let tree = repository.tree();
    let mut paths: BTreeSet<String> = BTreeSet::new();
    let tops: BTreeSet<&str> = automations.iter().map(|automation| automation.path.as_str()).collect();
    tops.iter()
        .for_each(|top| below(&*tree, &format!("/{top}"), &mut paths));
    for node in clusters.iter().flat_map(|cluster| &cluster.fleet.nodes) {
        if let (Source::This, Ok(product)) = (&node.source, &node.product) {
            paths.extend(
                product
                    .reads
                    .paths()
                    .filter(|path| file_kind(path) == FileKind::Yaml)
                    .map(str::to_owned),
            );
        }
    }
    let paths: Vec<String> = paths.into_iter().collect();
    let next = AtomicUsize::new(0);
    let files_with_markers = Mutex::new(Vec::new());
    let work = || {
        let tree = repository.tree();
        loop {
            let start = next.fetch_add(HANDFUL, Ordering::Relaxed);
            let rest = paths.get(start..).filter(|rest| !rest.is_empty());
            let Some(rest) = rest.filter(|_| !is_over(deadline)) else {
                return;
            };
            let some = rest.iter().take(HANDFUL).filter_map(|path| of_file(&*tree, path));
            let some: Vec<MarkedFile> = some.collect();
            files_with_markers.lock().extend(some);
        }
    };
    match threads.min(paths.len().div_ceil(HANDFUL)) {
        0 | 1 => work(),
        threads => std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(work);
            }
        }),
    }
    let mut files_with_markers = files_with_markers.into_inner();
    files_with_markers.sort_by(|one, other| one.path.cmp(&other.path));
    files_with_markers
}

/// The YAML files below a folder, or the file itself.
fn below(tree: &dyn Tree, top: &str, paths: &mut BTreeSet<String>) {
    each_file(tree, top, &mut |path| {
        if file_kind(path) == FileKind::Yaml {
            paths.insert(path.to_owned());
        }
        true
    });
}

fn of_file(tree: &dyn Tree, path: &str) -> Option<MarkedFile> {
    let bytes = tree.read(&format!("/{path}")).ok()?;
    if bytes.len() > YAML_LIMIT {
        return None;
    }
    let acceptances = comments(&bytes);
    let is_marked = looks_marked(&bytes);
    if acceptances.is_empty() && !is_marked {
        return None;
    }
    let mut file = MarkedFile {
        path: path.to_owned(),
        setters: Vec::new(),
        images: BTreeMap::new(),
        skips: Vec::new(),
        acceptances,
    };
    if is_marked {
        let scan = scan(FileKind::Yaml, &bytes);
        file.skips = scan.skips;
        file.skips.extend(scan.sites.iter().filter_map(LocalSkip::of_mismatch));
        let setters = scan.sites.into_iter().map(|site| (site.line, site.column, site.setter));
        file.setters = setters.collect();
        let is_tag = |(_, _, setter): &(usize, usize, Setter)| matches!(setter.part, Part::Tag | Part::TagDigest);
        if file.setters.iter().any(is_tag) {
            file.images = images_beside(path, &bytes);
        }
    }
    Some(file)
}

/// Findings about markers. Without policies and automations in any cluster, only malformed markers are reported:
/// another cluster, which was not given, may update the repository.
pub(crate) fn check(
    clusters: &[Cluster<'_>],
    automations: &[Automation<'_>],
    marked: &[MarkedFile],
    found: &mut Vec<Finding>,
) {
    let policies = policies(clusters);
    if policies.is_empty() && automations.is_empty() {
        for file in marked {
            let malformed = file.skips.iter().filter(|skip| skip.reason == Reason::MalformedMarker);
            found.extend(malformed.filter_map(|skip| of_skip(file, skip)));
        }
        return;
    }
    let is_whole = clusters.iter().all(Cluster::is_whole);
    let mut hints: BTreeMap<&Setter, Option<String>> = BTreeMap::new();
    let images = images(clusters);
    for file in marked {
        let covering: Vec<&Automation<'_>> = automations.iter().filter(|one| one.covers(&file.path)).collect();
        if covering.is_empty() && !automations.is_empty() {
            continue;
        }
        found.extend(file.skips.iter().filter_map(|skip| of_skip(file, skip)));
        for (line, column, setter) in &file.setters {
            let name = ObjectName::new(setter.policy.namespace.as_str(), setter.policy.name.as_str());
            let finding =
                |message: String| Finding::new(Rule::UnknownPolicy, message).at(file.path.clone(), *line, *column);
            if !policies.contains(&name) {
                let near = hints.entry(setter).or_insert_with(|| suggestion(&policies, &name));
                let finding = finding(format!(
                    "ImagePolicy {} of the marker is not in the fleet",
                    setter.policy
                ));
                found.push(unknown(finding, near.as_deref(), is_whole));
            } else if !covering.is_empty() && covering.iter().all(|one| one.name.namespace != name.namespace) {
                let finding = finding(format!(
                    "no ImageUpdateAutomation of namespace {} looks at this file, so ImagePolicy {} does not set the field",
                    name.namespace, setter.policy
                ));
                found.push(finding.severity(Severity::Warning));
            }
            let other = file.images.get(&(*line, *column));
            if let Some(message) = other.and_then(|beside| of_other_image(&images, &name, beside)) {
                let right = other.and_then(|beside| images.iter().find(|(_, image)| !is_other(beside, image)));
                let finding = finding(message);
                found.push(match right {
                    Some((right, _)) => finding
                        .severity(Severity::Warning)
                        .help(format!("did you mean {}:{}?", right.namespace, right.name)),
                    // Images may be released together.
                    None => finding.severity(Severity::Note),
                });
            }
        }
    }
}

/// The images of the policies whose repository is in the fleet.
fn images<'c>(clusters: &'c [Cluster<'_>]) -> BTreeMap<ObjectName, &'c str> {
    let mut images = BTreeMap::new();
    for cluster in clusters {
        for (_, policy) in cluster.of_kind(IMAGE_GROUP, "ImagePolicy") {
            let Some((own, repository)) = repository_of(policy) else {
                continue;
            };
            let repository = cluster.fleet.object(IMAGE_GROUP, "ImageRepository", &repository);
            let image = repository.and_then(|object| object.value.pointer("/spec/image")?.as_str());
            images.extend(image.map(|image| (own, image)));
        }
    }
    images
}

/// What is said of a tag of another image than the policy's.
fn of_other_image(images: &BTreeMap<ObjectName, &str>, policy: &ObjectName, beside: &str) -> Option<String> {
    let image = images.get(policy).filter(|image| is_other(beside, image))?;
    Some(format!(
        "ImagePolicy {policy} of the marker is for image {image}, and the tag is of {beside}"
    ))
}

/// A finding about a policy that is not there. It is a warning where not all of the fleet is known.
pub(crate) fn unknown(finding: Finding, near: Option<&str>, is_whole: bool) -> Finding {
    let finding = match near {
        Some(near) => finding.help(format!("did you mean {near}?")),
        None => finding,
    };
    if is_whole {
        finding
    } else {
        finding.severity(Severity::Warning)
    }
}

/// The policy that is meant.
pub(crate) fn suggestion(policies: &BTreeSet<ObjectName>, name: &ObjectName) -> Option<String> {
    let policy = meant(&policies.iter().collect(), name)?;
    Some(format!("{}:{}", policy.namespace, policy.name))
}

fn of_skip(file: &MarkedFile, skip: &LocalSkip) -> Option<Finding> {
    let (rule, severity) = match skip.reason {
        Reason::MalformedMarker | Reason::NotAScalar => (Rule::UnknownPolicy, Severity::Error),
        Reason::Mismatch => (Rule::UnknownPolicy, Severity::Warning),
        Reason::Unparsable => (Rule::InvalidManifest, Severity::Warning),
        _ => return None,
    };
    let message = format!("the marker is not followed: {}", skip.message);
    Some(
        Finding::new(rule, message)
            .at(file.path.clone(), skip.line, skip.column)
            .severity(severity),
    )
}
