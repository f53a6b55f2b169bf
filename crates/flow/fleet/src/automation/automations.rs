//! Image update automations that write to this repository, and pairs of them that set the same fields.
//!
//! Two automations are in each other's way if both push to one branch and both follow a marker of the same file. In one
//! cluster, and in one namespace, they have the same policy: they race, and write the same. In two clusters each has a
//! policy of its own by that name: if these choose differently, each automation sets the field back.

use serde_json::Value;

use super::markers::MarkedFile;
use super::policies::repository_of;
use crate::build::view::{FleetObject, Node};
use crate::check::cluster::{Cluster, IMAGE_GROUP, SOURCE_GROUP, name_of};
use crate::source::files::shown_folder;
use bumpwright_api::{GitRef, ImageUpdateAutomation, ObjectName};
use bumpwright_edit::Setter;
use bumpwright_findings::{Finding, Rule, Severity};
use bumpwright_update::{CommitMessage, explained};

/// An automation of a cluster.
pub(crate) struct Automation<'c> {
    /// The position of its cluster.
    pub(crate) cluster: usize,
    pub(crate) node: &'c Node,
    pub(crate) object: &'c FleetObject,
    pub(crate) name: ObjectName,
    /// `spec.update.path`, cleaned.
    pub(crate) path: String,
    spec: ImageUpdateAutomation,
    /// Branches and references that it pushes to.
    pushes: Vec<String>,
}

impl Automation<'_> {
    /// Whether it reads a file.
    pub(crate) fn covers(&self, file: &str) -> bool {
        match self.path.as_str() {
            "" => true,
            path => file
                .strip_prefix(path)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
        }
    }

    /// Whether its selector takes a policy.
    fn selects(&self, policy: &FleetObject) -> bool {
        let selector = self.spec.spec.policy_selector.as_ref();
        selector.is_none_or(|selector| selector.matches(&policy.texts("labels")).unwrap_or(false))
    }
}

/// The automations that write to this repository.
pub(crate) fn all<'c>(clusters: &[Cluster<'c>]) -> Vec<Automation<'c>> {
    let mut all = Vec::new();
    for (at, cluster) in clusters.iter().enumerate() {
        for (node, object) in cluster.of_kind(IMAGE_GROUP, "ImageUpdateAutomation") {
            let Ok(spec) = serde_json::from_value::<ImageUpdateAutomation>(object.value.clone()) else {
                continue;
            };
            let source = spec.source_name();
            if !cluster.is_repository("GitRepository", &source) {
                continue;
            }
            all.push(Automation {
                cluster: at,
                node,
                object,
                name: name_of(&object.value),
                path: crate::clean(spec.path()),
                pushes: pushes(&spec, reference(cluster, &source).as_ref()),
                spec,
            });
        }
    }
    all
}

/// `spec.ref` of the GitRepository.
fn reference(cluster: &Cluster<'_>, source: &ObjectName) -> Option<GitRef> {
    let object = cluster.fleet.object(SOURCE_GROUP, "GitRepository", source)?;
    serde_json::from_value(object.value.pointer("/spec/ref")?.clone()).ok()
}

fn pushes(automation: &ImageUpdateAutomation, repository: Option<&GitRef>) -> Vec<String> {
    let push = automation.spec.git.as_ref().and_then(|git| git.push.as_ref());
    let refspec = push.and_then(|push| push.refspec.as_deref());
    let refspec = refspec
        .and_then(|refspec| refspec.split_once(':'))
        .map(|(_, to)| to.to_owned());
    let checkout = automation
        .checkout_ref(repository)
        .and_then(|reference| reference.branch.clone());
    let branch = push.and_then(|push| push.branch.clone());
    // With a refspec alone nothing goes to the branch of the checkout.
    let branch = match (&branch, &refspec) {
        (None, Some(_)) => None,
        _ => branch.or(checkout).or_else(|| Some("master".to_owned())),
    };
    let branch = branch.map(|branch| {
        if branch.starts_with("refs/") {
            branch
        } else {
            format!("refs/heads/{branch}")
        }
    });
    branch.into_iter().chain(refspec).collect()
}

/// The fields with templates of commit messages.
const TEMPLATES: [&str; 2] = [
    "/spec/git/commit/messageTemplate",
    "/metadata/annotations/bumpwright.dev~1revert-message",
];

/// Findings about templates that cannot become a message; what is still to be filled in by variables is not known.
pub(crate) fn templates(cluster: &Cluster<'_>, found: &mut Vec<Finding>) {
    for (node, object) in cluster.of_kind(IMAGE_GROUP, "ImageUpdateAutomation") {
        let Ok(automation) = serde_json::from_value::<ImageUpdateAutomation>(object.value.clone()) else {
            continue;
        };
        let text = |pointer: &&str| object.value.pointer(pointer).and_then(Value::as_str);
        for (pointer, template) in TEMPLATES.iter().filter_map(|pointer| Some((pointer, text(pointer)?))) {
            let message = CommitMessage {
                template: template.to_owned(),
                ..CommitMessage::of(&automation)
            };
            if let Err(error) = message.check()
                && !template.contains("${")
            {
                let finding = cluster.at(Rule::InvalidTemplate, node, object, pointer, error.to_string());
                found.push(finding.help(explained(&error)));
            }
        }
    }
}

/// Findings about paths that the repository does not have; one with a variable is not known.
pub(crate) fn paths(clusters: &[Cluster<'_>], automations: &[Automation<'_>], found: &mut Vec<Finding>) {
    for automation in automations.iter().filter(|automation| !automation.path.contains("${")) {
        let Some(cluster) = clusters.get(automation.cluster) else {
            continue;
        };
        let path = &automation.path;
        if cluster.places.tree().canonical(&format!("/{path}")).is_err() {
            let message = format!("the repository has no {path}");
            let (node, object) = (automation.node, automation.object);
            let finding = cluster.at(Rule::MissingPath, node, object, "/spec/update/path", message);
            let finding = Cluster::suggesting(finding, cluster.near_path(path));
            found.push(cluster.named(finding, clusters.len()));
        }
    }
}

/// Findings about pairs of automations.
pub(crate) fn check(
    clusters: &[Cluster<'_>],
    automations: &[Automation<'_>],
    marked: &[MarkedFile],
    found: &mut Vec<Finding>,
) {
    for (at, other) in automations.iter().enumerate() {
        for one in automations.iter().take(at) {
            let is_one_push = one.pushes.iter().any(|push| other.pushes.contains(push));
            let is_one_object = one.cluster != other.cluster && one.object.origin == other.object.origin && {
                one.object.value == other.object.value && one.object.origin.is_some()
            };
            if one.name.namespace == other.name.namespace && is_one_push {
                found.extend(pair(clusters, one, other, is_one_object, marked));
            }
        }
    }
}

fn pair(
    clusters: &[Cluster<'_>],
    one: &Automation<'_>,
    other: &Automation<'_>,
    is_one_object: bool,
    marked: &[MarkedFile],
) -> Option<Finding> {
    let (mut shared, mut fight) = (0_usize, None);
    let mut first = None;
    for file in marked
        .iter()
        .filter(|file| one.covers(&file.path) && other.covers(&file.path))
    {
        for (line, column, setter) in &file.setters {
            let Some(is_same) = both(clusters, one, other, setter) else {
                continue;
            };
            shared += 1;
            let place = format!("{}:{line}:{column}", file.path);
            first.get_or_insert_with(|| place.clone());
            if !is_same {
                fight.get_or_insert_with(|| (place, setter.policy.to_string()));
            }
        }
    }
    let place = first?;
    let cluster = clusters.get(other.cluster)?;
    let of = if one.cluster == other.cluster {
        String::new()
    } else {
        format!(" of {}", shown_folder(&clusters.get(one.cluster)?.fleet.entry))
    };
    let both = format!("ImageUpdateAutomation {}{of}", one.name);
    let fields = if shared == 1 { "field" } else { "fields" };
    let (message, severity) = match fight {
        Some((place, policy)) => (
            format!("{both} sets the same {shared} {fields}, and its policy {policy} is another: see {place}"),
            Severity::Error,
        ),
        None => (
            format!("{both} sets the same {shared} {fields} to the same values: see {place}"),
            Severity::Note,
        ),
    };
    let _ = is_one_object;
    let finding = cluster.at(Rule::ConflictingAutomations, other.node, other.object, "", message);
    Some(cluster.named(finding.severity(severity), clusters.len()))
}

/// Whether two automations that both follow a marker have the same policy for it; none if one of them does not.
fn both(clusters: &[Cluster<'_>], one: &Automation<'_>, other: &Automation<'_>, setter: &Setter) -> Option<bool> {
    let name = ObjectName::new(setter.policy.namespace.as_str(), setter.policy.name.as_str());
    let wish = |automation: &Automation<'_>| {
        let cluster = clusters.get(automation.cluster)?;
        let policy = cluster.fleet.object(IMAGE_GROUP, "ImagePolicy", &name)?;
        let follows = automation.name.namespace == name.namespace && automation.selects(policy);
        follows.then(|| wish(cluster, policy))
    };
    Some(wish(one)? == wish(other)?)
}

/// What decides about the image of a policy: its rules, and the image's name.
fn wish<'c>(cluster: &Cluster<'c>, policy: &'c FleetObject) -> (Option<&'c Value>, Option<&'c Value>) {
    let repository =
        repository_of(policy).and_then(|(_, name)| cluster.fleet.object(IMAGE_GROUP, "ImageRepository", &name));
    let image = repository.and_then(|object| object.value.pointer("/spec/image"));
    (policy.value.get("spec"), image)
}
