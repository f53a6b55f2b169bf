//! Puts the fields of a rollout back to what they held in an earlier commit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::files::{OurFile, Ours};
use super::{Place, places};
use crate::index::Index;
use crate::policies::Policies;
use crate::preview::Preview;
use crate::survey::{self, Marked};
use bumpwright_edit::{Change, Edit, Part, Plan, Site};
use bumpwright_git::{GitError, ObjectId, Objects};
use bumpwright_policy::{LatestRef, PolicyName};

/// What is to be put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutBack {
    /// The commits of the rollout, oldest first: parent and commit.
    pub commits: Vec<(ObjectId, ObjectId)>,
    /// The commit that the fields are put back to.
    pub good: ObjectId,
    /// Only fields of these policies; none for all.
    pub only: Option<BTreeSet<PolicyName>>,
    /// Lines for the end of the commit message: keys and values.
    pub trailers: Vec<(String, String)>,
}

/// The plan, and the images that the policies have then.
pub(crate) struct Planned {
    pub(crate) preview: Preview,
    pub(crate) policies: Arc<Policies>,
}

impl PutBack {
    /// Plans the edits in the files of a tip: fields that still have the value that was pushed get the spelling that they have in `good`.
    pub(crate) fn plan(&self, objects: &Objects, index: &Index, files: &[Marked]) -> Result<Planned, GitError> {
        let mut preview = Preview::default();
        let mut images: BTreeMap<PolicyName, LatestRef> = BTreeMap::new();
        let missing = || GitError::Invalid("the commits of the rollout are not in the repository any more".to_owned());
        let ours = Ours::of(objects, index, &self.commits)?.ok_or_else(missing)?;
        if !objects.contains(self.good) {
            return Err(missing());
        }
        let good = objects.commit(self.good)?.tree;
        for (n, file) in files.iter().enumerate() {
            let Some(known) = ours.files().get(&file.path) else {
                continue;
            };
            let found = objects.find(good, &file.path)?.filter(|found| found.kind.is_file());
            let Some(found) = found else { continue };
            let before = ours.facts(found.id, &file.path)?;
            let before: BTreeMap<Place, &Site> = places(before.scan.as_deref()).collect();
            let mut plan = self.fields(file, known, &before);
            if plan.changes.is_empty() {
                continue;
            }
            if self.only.is_none() && known.leads(found.id, file.place) {
                plan = whole(objects, file, found.id, plan)?;
            }
            for change in &plan.changes {
                remember(&mut images, change);
            }
            preview.changes.extend(plan.changes.iter().cloned());
            preview.files.push((n, plan));
        }
        let mut policies = Policies::default();
        for (name, image) in images {
            policies.set(name, image);
        }
        Ok(Planned {
            preview,
            policies: Arc::new(policies),
        })
    }

    fn fields(&self, file: &Marked, known: &OurFile, before: &BTreeMap<Place, &Site>) -> Plan {
        let mut plan = Plan::default();
        for (place, site) in places(file.facts.scan.as_deref()) {
            let is_meant = self
                .only
                .as_ref()
                .is_none_or(|only| only.contains(&place.setter.policy));
            if !is_meant || known.fields.get(&place) != Some(&site.value) {
                continue;
            }
            let Some(was) = before.get(&place).filter(|was| is_alike(was, site)) else {
                continue;
            };
            plan.edits.push(Edit {
                span: site.span.clone(),
                old: site.text.clone(),
                new: was.text.clone(),
            });
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
        plan
    }
}

/// Whether the text of one may stand in the place of the other.
fn is_alike(one: &Site, other: &Site) -> bool {
    std::mem::discriminant(&one.spelling) == std::mem::discriminant(&other.spelling)
}

/// Nobody else has touched the file: it becomes what it was, to the last byte.
fn whole(objects: &Objects, file: &Marked, good: ObjectId, plan: Plan) -> Result<Plan, GitError> {
    let limit = survey::size_limit(file.kind);
    let texts = (objects.blob(file.place, limit)?, objects.blob(good, limit)?);
    let (Ok(old), Ok(new)) = (String::from_utf8(texts.0), String::from_utf8(texts.1)) else {
        return Ok(plan);
    };
    let span = 0..old.len();
    Ok(Plan {
        edits: vec![Edit { span, old, new }],
        ends: vec![1; plan.changes.len()],
        ..plan
    })
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
        Part::Tag => text.clone_into(&mut image.tag),
        Part::Digest => image.digest = Some(text.to_owned()),
    }
}
