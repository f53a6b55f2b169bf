//! Flux v1: annotations of workloads and HelmReleases, by either of their prefixes, and the arguments of its daemon.

mod daemon;
mod pattern;
mod workload;

use std::collections::{BTreeMap, BTreeSet};

use workload::{Container, Workload};

use super::draft::{Adoption, Draft, Options};
use super::files::{Files, SourceFile, parent};
use super::image::Named;
use super::known::{Standing, place};
use super::objects::Wanted;
use super::remarks::{At, STAYS, Weight};
use crate::adopted::Rule;
use bumpwright_edit::Setter;
use bumpwright_policy::ANNOTATION_PREFIX;
use bumpwright_text::between;

const MADE_BY: &str = "bumpwright migrate --from flux-v1";

/// As often as the daemon looked by default.
const INTERVAL: &str = "5m";

/// The namespace of images and automations, as Flux installs them.
const NAMESPACE: &str = "flux-system";

const TWO_NUMBERS: &str = "semver: only tags of three numbers count now; Flux v1 took 1.4 for 1.4.0, too: for an image with such tags \
    change the policy, see docs/guides/policies.md";

/// What becomes of the workloads of these files.
#[must_use]
pub fn flux_v1(sources: &[SourceFile], options: &Options) -> Adoption {
    let files = Files::read(sources);
    let mut draft = Draft::of(&files, options);
    let objects = files.objects();
    draft.tell_unreadable(|file| workload::mentioned(file.text));
    let namespace = options.namespace.clone().unwrap_or_else(|| NAMESPACE.to_owned());
    let mut adopter = Adopter {
        namespace,
        folders: BTreeSet::new(),
        first: None,
    };
    for (file, node) in &objects {
        if let Some(workload) = Workload::read(*file, node) {
            adopter.workload(&mut draft, &workload);
        }
    }
    adopter.automation(&mut draft, &objects);
    draft.finish(MADE_BY, INTERVAL)
}

struct Adopter {
    namespace: String,
    /// Folders with marked fields.
    folders: BTreeSet<String>,
    /// The first workload that has a policy.
    first: Option<At>,
}

impl Adopter {
    fn workload(&mut self, draft: &mut Draft<'_>, workload: &Workload<'_>) {
        let subject = workload.subject();
        let mut left = false;
        if let Some((value, at)) = workload.get("ignore")
            && matches!(value, "true" | "sync_only")
        {
            let text = "ignore: an object is left out of what is applied by kustomize.toolkit.fluxcd.io/reconcile: disabled; write that";
            draft.tell(Weight::Left, at, &subject, text);
            left = true;
        }
        if !workload.is("automated") {
            let text = "it is not automated, so nothing is made of its annotations; remove them if it shall stay so";
            return draft.tell(Weight::Note, workload.at(), &subject, text);
        }
        let containers = workload.containers();
        for name in workload.patterns() {
            if !containers.iter().any(|container| container.name == name) {
                let at = workload.get(&format!("tag.{name}")).map_or(workload.at(), |(_, at)| at);
                draft.tell(
                    Weight::Note,
                    at,
                    &subject,
                    format!("there is no container {name}, so its pattern is dropped"),
                );
            }
        }
        if containers.is_empty() {
            let text = "no image was found in it: mark the fields by hand";
            draft.tell(Weight::Left, workload.at(), &subject, text);
            left = true;
        }
        let mut marks = Vec::new();
        for container in &containers {
            match self.container(draft, workload, container, &subject) {
                Some(found) => marks.extend(found),
                None => left = true,
            }
        }
        // The daemon either continues to write all of them, or writes none.
        if left {
            draft.tell(Weight::Note, workload.at(), &subject, STAYS);
        } else {
            for (start, setter) in marks {
                draft.mark(workload.file, start, setter);
                let path = draft
                    .files
                    .get(workload.file)
                    .map(|file| parent(&file.source.path).to_owned());
                self.folders.extend(path);
            }
            draft.remove(workload.file, workload.metadata, workload.keys());
        }
    }

    /// The markers of a container; none if it is left.
    fn container(
        &mut self,
        draft: &mut Draft<'_>,
        workload: &Workload<'_>,
        container: &Container<'_>,
        subject: &str,
    ) -> Option<Vec<(usize, Setter)>> {
        let key = format!("tag.{}", container.name);
        let pattern = workload.get(&key);
        let place = At {
            file: workload.file,
            place: container.node.place,
        };
        let at = pattern.map_or(place, |(_, at)| at);
        let chosen = pattern::choice(pattern.map(|(pattern, _)| pattern));
        let chosen = chosen.and_then(|choice| Ok((choice, container.fields.as_ref().map_err(Clone::clone)?)));
        let ((rule, filter), fields) = match chosen {
            Ok(chosen) => chosen,
            Err(why) => {
                let text = format!("container {} has no policy: {why}", container.name);
                draft.tell(Weight::Left, at, subject, text);
                return None;
            }
        };
        if matches!(rule, Rule::Semver(_)) {
            draft.tell_once(at, "", TWO_NUMBERS);
        }
        let wanted = Wanted {
            image: container.image.clone(),
            exclusions: Vec::new(),
            secret: None,
            filter,
            rule,
            digest: false,
            annotations: hold(workload),
            labels: BTreeMap::new(),
        };
        let short = Named::split(&container.image).short().to_owned();
        let longer = format!("{}-{}", workload.name(), container.name);
        let policy = draft.objects.policy(&self.namespace, &[&short, &longer], wanted);
        self.first = self.first.or(Some(workload.at()));
        let mut marks = Vec::new();
        for (node, part) in fields {
            let setter = Setter {
                policy: policy.clone(),
                part: *part,
            };
            if let Err(why) = draft.check(workload.file, node, &setter) {
                let text = format!("there is the policy {policy}, and no marker: {why}");
                draft.tell(Weight::Left, at, subject, text);
                return None;
            }
            marks.push((node.span.start, setter));
        }
        Some(marks)
    }

    fn automation(&self, draft: &mut Draft<'_>, objects: &[(usize, &bumpwright_api::tree::Node)]) {
        let Some(first) = self.first else { return };
        match daemon::find(draft, objects) {
            Some(daemon) => {
                let folders = if daemon.folders.iter().any(|folder| !folder.is_empty()) {
                    daemon.folders
                } else {
                    self.folders.clone()
                };
                let git = &daemon.write_back.git;
                let is_it = |one: &Standing| {
                    one.name.namespace == self.namespace
                        && one.url.as_deref().map(place) == Some(place(&git.url))
                        && one.branch.as_ref() == Some(&git.branch)
                        && one.push.is_none()
                };
                match Standing::all(draft.files).into_iter().find(is_it) {
                    Some(there) if there.is_ours(draft) => there.widen(draft, &folders),
                    Some(there) => {
                        let text = format!(
                            "ImageUpdateAutomation {} is there already, and looks at ./{}: see that it has the marked files",
                            there.name, there.path
                        );
                        draft.tell(Weight::Note, first, "", text);
                    }
                    None => {
                        draft
                            .objects
                            .automation(&self.namespace, &daemon.write_back, &BTreeMap::new(), folders, false)
                    }
                }
            }
            None => {
                let text = "the daemon of Flux v1 is not among the files (a Deployment with --git-url), so there is no automation: write a \
                            GitRepository and an ImageUpdateAutomation (docs/start/cluster.md)";
                draft.tell(Weight::Note, first, "", text);
            }
        }
    }
}

/// A locked workload changes nothing: a hold, with its reason.
fn hold(workload: &Workload<'_>) -> BTreeMap<String, String> {
    if !workload.is("locked") {
        return BTreeMap::new();
    }
    let text = |key| workload.get(key).map(|(text, _)| text);
    let (by, why) = (
        between(" by ", text("locked_user"), ""),
        between(": ", text("locked_msg"), ""),
    );
    let reason = format!("locked{by}{why}");
    BTreeMap::from([(format!("{ANNOTATION_PREFIX}hold"), reason)])
}
