//! Plans how the fields of a rollout are put back.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::files::{OurFile, Ours};
use super::put_back::PutBack;
use crate::find::facts::Marked;
use crate::find::index::Index;
use crate::plan::planned::Plan;
use crate::policy::policies::Policies;
use bumpwright_edit::{Change, Edit, Part, Plan as FilePlan, Site, restored, tag_and_digest};
use bumpwright_git::Objects;
use bumpwright_git::{GitError, ObjectId};
use bumpwright_policy::{LatestRef, PolicyName};
use bumpwright_rules::Rules;

/// The plan, and the images that the policies have then.
pub(crate) struct Planned {
    pub(crate) plan: Plan,
    pub(crate) policies: Arc<Policies>,
}

impl PutBack {
    /// Plans the edits in the files of a tip: fields that still have the value that was pushed get the spelling that
    /// they have in `good`. Fields of policies that the run may not use stay. `rules` are those of the job.
    pub(crate) fn plan(
        &self,
        objects: &Objects,
        (index, rules): (&Index, Option<&Rules>),
        may_use: &dyn Fn(&PolicyName) -> bool,
        files: &[Marked],
    ) -> Result<Planned, GitError> {
        let mut planned = Plan::default();
        let mut images: BTreeMap<PolicyName, LatestRef> = BTreeMap::new();
        let missing = || GitError::Invalid("the commits of the rollout are not in the repository any more".to_owned());
        let ours = Ours::of(objects, index, &self.commits, rules)?.ok_or_else(missing)?;
        if !objects.contains(self.good) {
            return Err(missing());
        }
        let good = objects.commit(self.good)?.tree;
        let is_meant =
            |policy: &PolicyName| may_use(policy) && self.only.as_ref().is_none_or(|only| only.contains(policy));
        for (path, known) in ours.files() {
            let Some((n, file)) = place(files, path, known) else {
                continue;
            };
            let found = objects.find(good, path)?.filter(|found| found.kind.is_file());
            let Some(found) = found else { continue };
            let plan = plan(&ours, (path, known), file, found.id, &is_meant)?;
            if plan.changes.is_empty() {
                continue;
            }
            for change in &plan.changes {
                remember(&mut images, change);
            }
            planned.changes.extend(plan.changes.iter().cloned());
            planned.files.push((n, plan));
        }
        planned.files.sort_by_key(|(n, _)| *n);
        let mut policies = Policies::default();
        for (name, image) in images {
            policies.set(name, image);
        }
        Ok(Planned {
            plan: planned,
            policies: Arc::new(policies),
        })
    }
}

/// The file at its path, or with its content at another one: it was renamed.
fn place<'f>(files: &'f [Marked], path: &[u8], known: &OurFile) -> Option<(usize, &'f Marked)> {
    let mut all = files.iter().enumerate();
    let renamed = || files.iter().enumerate().find(|(_, file)| file.place == known.latest);
    all.find(|(_, file)| file.path == path).or_else(renamed)
}

/// The edits of one file.
fn plan(
    ours: &Ours<'_>,
    (path, known): (&[u8], &OurFile),
    file: &Marked,
    good: ObjectId,
    is_meant: &dyn Fn(&PolicyName) -> bool,
) -> Result<FilePlan, GitError> {
    let (now, then) = (ours.file(file.place, path)?, ours.file(good, path)?);
    let mut fields: Vec<(&Site, &Site, Vec<Edit>)> = Vec::new();
    for field in &known.fields {
        let (site, was) = (ours.after(path, field, &now)?, ours.before(path, field, &then)?);
        let Some((site, was)) = site.zip(was) else { continue };
        let is_ours = site.value == field.value && was.value != site.value && was.setter == site.setter;
        if !is_ours || !is_meant(&site.setter.policy) {
            continue;
        }
        let wrote = ours.wrote(path, field)?;
        let edits = restored(site, &now.bytes, was, &then.bytes, wrote.as_ref().unwrap_or(site));
        if !edits.is_empty() && !fields.iter().any(|(known, ..)| known.span == site.span) {
            fields.push((site, was, edits));
        }
    }
    fields.sort_by_key(|(site, ..)| site.span.start);
    let mut plan = FilePlan::default();
    for (site, was, edits) in fields {
        plan.edits.extend(edits);
        plan.changes.push(Change {
            path: String::from_utf8_lossy(&file.path).into_owned(),
            line: site.line,
            column: site.column,
            old: site.value.clone(),
            new: was.value.clone(),
            policy: site.setter.policy.clone(),
            setter: site.setter.clone(),
            object: site.object.clone(),
        });
        plan.ends.push(plan.edits.len());
    }
    Ok(plan)
}

/// The image that a policy has by a field, for the data of the message.
fn remember(images: &mut BTreeMap<PolicyName, LatestRef>, change: &Change) {
    let image = images.entry(change.policy.clone()).or_insert_with(|| LatestRef {
        name: String::new(),
        tag: String::new(),
        digest: None,
    });
    let text = change.new.as_str();
    match change.setter.part {
        Part::Reference => {
            let (name, tag, digest) = LatestRef::split(text);
            *image = LatestRef {
                name: name.to_owned(),
                tag: tag.unwrap_or_default().to_owned(),
                digest: digest.map(str::to_owned),
            };
        }
        Part::Name => text.clone_into(&mut image.name),
        Part::Tag | Part::TagDigest => {
            let (tag, digest) = tag_and_digest(text);
            tag.clone_into(&mut image.tag);
            if let Some(digest) = digest {
                image.digest = Some(digest.to_owned());
            }
        }
        Part::Digest => image.digest = Some(text.to_owned()),
    }
}
