//! The images of an Application as policies and the fields that they are written to.

use std::collections::BTreeMap;

use bumpwright_api::tree::Node;
use bumpwright_edit::{Part, Setter};
use bumpwright_policy::PolicyName;

use super::application::is_template;
use super::by_hand::{self, Marked};
use super::conflicts::Field;
use super::error::{Intruder, NoCommit, NoMarkers, NoTarget};
use super::settings::Image;
use super::spots::{Spot, Taker, choose};
use super::tags::{self, Refusal};
use super::target::{Found, Target};
use super::{Adopter, Job, Wish};
use crate::draft::Draft;
use crate::error::{NotMarked, Obstacle};
use crate::files::parent;
use crate::image::{Named, object_name};
use crate::objects::Wanted;
use crate::remarks::Weight;

impl<'n> Adopter<'_, 'n> {
    /// Plans the images of a job: their policies and fields.
    pub(super) fn plan(&mut self, draft: &mut Draft<'n>, job: &Job<'n>) {
        let labels = job
            .group
            .as_ref()
            .ok()
            .and_then(|group| Some(self.groups.get(*group)?.labels.clone()));
        let (mut choices, mut refusals) = (Vec::new(), Vec::new());
        for image in &job.images {
            let (mut choice, refusal) = match wanted(draft, image, job) {
                Ok(wanted) => (Some(wanted), None),
                Err(refusal) => (None, Some(refusal)),
            };
            if let (Some(wanted), Some(labels)) = (&mut choice, &labels) {
                wanted.labels.clone_from(labels);
            }
            choices.push(choice);
            refusals.push(refusal);
        }
        let chosen = choices.iter().any(Option::is_some);
        let mut stays = false;
        if let (Err(why), true) = (&job.group, chosen && job.application.is_some()) {
            let method = job.write_back.method.as_ref();
            let at = match why {
                NoCommit::Method { .. } => method.map_or(job.at, |told| told.at),
                _ => job.at,
            };
            draft.tell(Weight::Left, at, &job.subject, why.to_string());
            stays = true;
        }
        if chosen {
            for (weight, at, text) in &job.told {
                match weight {
                    Weight::Note => draft.tell_once(*at, &job.subject, text.as_str()),
                    Weight::Left => draft.tell(*weight, *at, &job.subject, text.as_str()),
                }
            }
        }
        for (n, (image, refusal)) in job.images.iter().zip(refusals).enumerate() {
            let marked = self.by_hand(draft, job, image, choices.get(n).and_then(Option::as_ref));
            let (wish, is_whole) = match marked {
                Some(marked) => self.marked_wish(draft, job, image, marked),
                None => self.wish(draft, job, (n, image), &choices),
            };
            stays |= !is_whole;
            if let Some(refusal) = refusal.filter(|_| wish.policy.is_none()) {
                let text = format!("{}{}", refusal.why, own_policy(draft, &wish));
                draft.tell(Weight::Left, refusal.at, &job.subject, text);
            }
            if let Some(unit) = self.units.get_mut(job.unit) {
                unit.wishes.push(wish);
            }
        }
        if let Some(unit) = self.units.get_mut(job.unit) {
            unit.stays |= stays;
        }
    }

    /// The markers that somebody put where an image is written to: there is no policy for it, or the one that could be
    /// made would choose nothing, or a generator alone knows its files.
    fn by_hand(&self, draft: &Draft<'n>, job: &Job<'n>, image: &Image, choice: Option<&Wanted>) -> Option<Marked> {
        let nobody = PolicyName::new(job.namespace.clone(), "NAME");
        let target = Target {
            application: job.application?,
            image,
            write_back: &job.write_back,
            policy: &nobody,
            digest: choice.is_some_and(|wanted| wanted.digest),
        };
        let name = Named::split(&image.name.value).name;
        match target.find(draft) {
            Ok(found) => {
                let own = choice.map(Taker::of);
                let has_no_choice = own.is_none_or(|own| {
                    let mut tags = found.spots.iter().filter_map(Spot::tag);
                    tags.any(|tag| own.is_short_version(tag, false))
                });
                has_no_choice.then(|| by_hand::of_spots(draft, &found.spots, &name))?
            }
            Err(NoTarget::Generated { path, .. }) => by_hand::of_template(draft, &path, &name),
            Err(_) => None,
        }
    }

    /// An image whose fields were marked by hand, and whether they are committed.
    fn marked_wish(&self, draft: &mut Draft<'n>, job: &Job<'n>, image: &Image, marked: Marked) -> (Wish<'n>, bool) {
        let at = image.name.at;
        let first = marked.fields.first().map_or("", |field| field.place.as_str());
        let more = match marked.fields.len() {
            0 | 1 => String::new(),
            fields => format!(" and {} more", fields - 1),
        };
        let note = format!(
            "{}: ImagePolicy {} chooses for it from now on, whatever the annotations say: {first}{more} had its marker",
            image.name.value, marked.policy
        );
        let has_repository = draft
            .objects
            .known
            .chooser(&marked.policy)
            .is_some_and(|(_, own)| own.is_some());
        let missing = (!has_repository).then(|| {
            let text = format!(
                "{}: the ImageRepository of ImagePolicy {} is not among the files: nothing is chosen without it",
                image.name.value, marked.policy
            );
            (at, text)
        });
        let mut wish = Wish {
            at,
            subject: job.subject.clone(),
            image: image.name.value.clone(),
            choice: None,
            policy: Some(marked.policy),
            group: None,
            fields: marked.fields,
            notes: [(at, note)].into_iter().chain(missing).collect(),
            folders: Vec::new(),
            application: job.application,
        };
        let result = self.committed(draft, job, &mut wish, &marked.labels);
        if let Err(why) = &result {
            draft.tell(Weight::Left, at, &job.subject, format!("{}: {why}", image.name.value));
        }
        (wish, result.is_ok())
    }

    /// Finds the automation that commits fields which were marked by hand.
    ///
    /// # Errors
    /// There is none, or several.
    fn committed(
        &self,
        draft: &Draft<'_>,
        job: &Job<'n>,
        wish: &mut Wish<'n>,
        labels: &BTreeMap<String, String>,
    ) -> Result<(), NoMarkers> {
        let number = job.group.clone()?;
        let (Some(group), Some(policy)) = (self.groups.get(number), wish.policy.clone()) else {
            return Ok(());
        };
        let has_label = |(key, value): (&String, &String)| labels.get(key) == Some(value);
        if group.namespace == policy.namespace && group.labels.iter().all(has_label) {
            wish.group = Some(number);
            return self.intruders(draft, wish);
        }
        let files = wish.fields.iter().filter_map(|field| draft.files.get(field.file));
        let mut paths = files.map(|file| file.source.path.as_str());
        if paths.all(|path| self.groups.is_committed(&policy, labels, path)) {
            return Ok(());
        }
        let label = group.labels.iter().next();
        Err(NoMarkers::Unlabelled {
            policy,
            namespace: group.namespace.clone(),
            label: label.map(|(key, value)| format!("{key}: {value}")),
        })
    }

    /// An image with its policy and its fields, and whether nothing of it is left.
    fn wish(
        &mut self,
        draft: &mut Draft<'n>,
        job: &Job<'n>,
        (n, image): (usize, &Image),
        choices: &[Option<Wanted>],
    ) -> (Wish<'n>, bool) {
        let choice = choices.get(n).cloned().flatten();
        let has_group = job.group.is_ok() || job.application.is_none();
        let policy = choice
            .clone()
            .filter(|_| has_group)
            .map(|wanted| policy(draft, image, job, wanted));
        let mut wish = Wish {
            at: image.name.at,
            subject: job.subject.clone(),
            image: image.name.value.clone(),
            choice,
            policy,
            group: job.group.as_ref().ok().copied(),
            fields: Vec::new(),
            notes: Vec::new(),
            folders: Vec::new(),
            application: job.application,
        };
        let Some(application) = job.application else {
            return (wish, false);
        };
        let named = wish
            .policy
            .clone()
            .unwrap_or_else(|| PolicyName::new(job.namespace.clone(), "NAME"));
        let target = Target {
            application,
            image,
            write_back: &job.write_back,
            policy: &named,
            digest: wish.choice.as_ref().is_some_and(|wanted| wanted.digest),
        };
        let target_fields = target.find(draft);
        let result = match (target_fields, &wish.policy) {
            (Err(why), _) => Err(why.into()),
            // It stays, and is written where it was.
            (Ok(target_fields), None) => {
                wish.fields = target_fields
                    .spots
                    .iter()
                    .flat_map(|spot| fields(draft, spot, &spot.fields))
                    .collect();
                return (wish, false);
            }
            (Ok(target_fields), Some(_)) => self.fields(draft, &target, target_fields, (n, job, choices), &mut wish),
        };
        if let (Err(why), Some(policy)) = (&result, &wish.policy) {
            let text = format!(
                "{}: there is the policy {policy}, and no marker: {why}",
                image.name.value
            );
            draft.tell(Weight::Left, image.name.at, &job.subject, text);
        }
        (wish, result.is_ok())
    }

    /// The fields of an image that get markers.
    fn fields(
        &self,
        draft: &mut Draft<'n>,
        target: &Target<'_, 'n>,
        found: Found<'n>,
        (n, job, choices): (usize, &Job<'n>, &[Option<Wanted>]),
        wish: &mut Wish<'n>,
    ) -> Result<(), NoMarkers> {
        let name = |image: &Image| Named::split(&image.name.value).name;
        let own = choices.get(n).and_then(Option::as_ref).map(Taker::of);
        let rivals: Vec<Taker> = job
            .images
            .iter()
            .zip(choices)
            .enumerate()
            .filter(|(other, (image, choice))| {
                let is_same = bumpwright_edit::is_same_image(&name(image), &name(target.image));
                *other != n && is_same && choices.get(n) != Some(choice)
            })
            .filter_map(|(_, (_, choice))| choice.as_ref().map(Taker::of))
            .collect();
        let Some(own) = own else { return Ok(()) };
        // Whatever is found is what argocd-image-updater writes to, as long as it does.
        let claimed = |spots: &[Spot<'n>]| -> Vec<Field> {
            spots
                .iter()
                .flat_map(|spot| fields(draft, spot, &spot.fields))
                .collect()
        };
        let chosen = match choose(&found.spots, &own, &rivals) {
            Ok(chosen) => chosen,
            Err((spot, problem)) => {
                let place = spot.place(draft);
                wish.fields = claimed(&found.spots);
                return Err(NotMarked { place, problem }.into());
            }
        };
        let mut marks = Vec::new();
        let mut reasons: Vec<NoMarkers> = found.lacks.clone().map(NoMarkers::from).into_iter().collect();
        for spot in &chosen.own {
            match spot.written(target.digest) {
                Ok(parts) => marks.push((*spot, parts)),
                Err((node, why)) => {
                    let (place, problem) = (draft.place(spot.file, node), Obstacle::Pinned(why));
                    reasons.push(NotMarked { place, problem }.into());
                }
            }
        }
        wish.fields = chosen
            .own
            .iter()
            .flat_map(|spot| fields(draft, spot, &spot.fields))
            .collect();
        for (spot, parts) in &marks {
            for (node, part) in parts {
                let policy = wish.policy.clone().unwrap_or_else(|| target.policy.clone());
                let checked = draft.check(spot.file, node, &Setter { policy, part: *part });
                reasons.extend(checked.err().map(NoMarkers::from));
            }
        }
        NoMarkers::all(reasons)?;
        if rivals.is_empty() {
            for spot in &chosen.others {
                let (place, tag) = (spot.place(draft), spot.tag().unwrap_or_default());
                let text = format!("{place} holds {tag:?}, which is not one of its tags, and gets no marker");
                wish.notes.push((wish.at, text));
            }
        }
        wish.notes.extend(found.note.clone().map(|note| (wish.at, note)));
        self.intruders(draft, wish)?;
        for file in marks.iter().map(|(spot, _)| spot.file) {
            wish.notes
                .extend(target.concerned(draft, file).map(|note| (job.at, note)));
        }
        Ok(())
    }

    /// Remembers the folders of a wish's fields.
    ///
    /// # Errors
    /// Another automation writes one of them already.
    fn intruders(&self, draft: &Draft<'_>, wish: &mut Wish<'n>) -> Result<(), NoMarkers> {
        for field in &wish.fields {
            let Some(path) = draft.files.get(field.file).map(|file| file.source.path.as_str()) else {
                continue;
            };
            wish.folders.push(parent(path).to_owned());
            let Some((group, other)) = wish
                .group
                .and_then(|group| Some((group, self.groups.intruder(group, path)?)))
            else {
                continue;
            };
            let labels = self.groups.get(group).map(|group| &group.labels);
            let label = labels.and_then(|labels| labels.iter().next());
            return Err(Box::new(Intruder {
                place: field.place.clone(),
                name: other.name.clone(),
                path: other.path.clone(),
                label: label.map(|(key, value)| (key.clone(), value.clone())),
            })
            .into());
        }
        Ok(())
    }
}

/// What is chosen of an image.
fn wanted(draft: &mut Draft<'_>, image: &Image, job: &Job<'_>) -> Result<Wanted, Refusal> {
    let name = &image.name;
    if is_template(&name.value) {
        let why = format!(
            "{:?} depends on the generator of the ApplicationSet: write a policy for each image",
            name.value
        );
        return Err(Refusal { at: name.at, why });
    }
    tags::wanted(draft, image, &job.namespace, &job.subject).map_err(|refusal| Refusal {
        at: refusal.at,
        why: format!("{} has no policy: {}", name.value, refusal.why),
    })
}

/// The way out of an image without a policy: the field that counts, which may have the marker of another one; or why
/// the marker that it has does not count.
fn own_policy(draft: &Draft<'_>, wish: &Wish<'_>) -> String {
    let Some(field) = wish.fields.iter().find(|field| field.part != Part::Name) else {
        return String::new();
    };
    match by_hand::unknown_policy(draft, field) {
        Some(unknown) => format!("; {unknown}"),
        None => format!(
            "; or write a policy by hand, put its marker at {}, and run again",
            field.place
        ),
    }
}

/// The policy of an image.
fn policy(draft: &mut Draft<'_>, image: &Image, job: &Job<'_>, wanted: Wanted) -> PolicyName {
    let short = Named::split(&image.name.value).short().to_owned();
    let name = if image.alias.is_empty() {
        short
    } else {
        image.alias.clone()
    };
    let longer = object_name(&format!("{}-{name}", job.owner));
    draft.objects.policy(&job.namespace, &[&name, &longer], wanted)
}

fn fields(draft: &Draft<'_>, spot: &Spot<'_>, parts: &[(&Node, Part)]) -> Vec<Field> {
    let field = |(node, part): &(&Node, Part)| Field {
        file: spot.file,
        start: node.span.start,
        part: *part,
        place: draft.place(spot.file, node),
    };
    parts.iter().map(field).collect()
}
