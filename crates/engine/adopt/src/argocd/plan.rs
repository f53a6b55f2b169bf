//! The images of an Application as policies and the fields that they are written to.

use bumpwright_api::tree::Node;
use bumpwright_edit::{Part, Setter};
use bumpwright_policy::PolicyName;

use super::application::is_template;
use super::conflicts::Field;
use super::error::{Intruder, NoMarkers};
use super::settings::Image;
use super::spots::{Spot, Taker, choose};
use super::target::{Found, Target};
use super::{Adopter, Job, Wish, tags};
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
        let choices: Vec<Option<Wanted>> = job
            .images
            .iter()
            .map(|image| {
                let mut wanted = wanted(draft, image, job)?;
                if let Some(labels) = &labels {
                    wanted.labels.clone_from(labels);
                }
                Some(wanted)
            })
            .collect();
        let chosen = choices.iter().any(Option::is_some);
        let mut stays = choices.iter().any(Option::is_none);
        if let (Err(why), true) = (&job.group, chosen && job.application.is_some()) {
            draft.tell(Weight::Left, job.at, &job.subject, why.to_string());
            stays = true;
        }
        if chosen {
            for (weight, at, text) in &job.told {
                draft.tell(*weight, *at, &job.subject, text.clone());
            }
        }
        for (n, image) in job.images.iter().enumerate() {
            let (wish, is_whole) = self.wish(draft, job, (n, image), &choices);
            stays |= !is_whole;
            if let Some(unit) = self.units.get_mut(job.unit) {
                unit.wishes.push(wish);
            }
        }
        if let Some(unit) = self.units.get_mut(job.unit) {
            unit.stays |= stays;
        }
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
        let mut result = Ok(());
        for spot in &chosen.own {
            match spot.written(target.digest) {
                Ok(parts) => marks.push((*spot, parts)),
                Err((node, why)) if result.is_ok() => {
                    let (place, problem) = (draft.place(spot.file, node), Obstacle::Pinned(why));
                    result = Err(NotMarked { place, problem });
                }
                Err(_) => {}
            }
        }
        wish.fields = chosen
            .own
            .iter()
            .flat_map(|spot| fields(draft, spot, &spot.fields))
            .collect();
        result?;
        for (spot, parts) in &marks {
            for (node, part) in parts {
                let policy = wish.policy.clone().unwrap_or_else(|| target.policy.clone());
                draft.check(spot.file, node, &Setter { policy, part: *part })?;
            }
        }
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

/// What is chosen of an image; none if it is left.
fn wanted(draft: &mut Draft<'_>, image: &Image, job: &Job<'_>) -> Option<Wanted> {
    let name = &image.name;
    if is_template(&name.value) {
        let text = format!(
            "{:?} depends on the generator of the ApplicationSet: write a policy for each image",
            name.value
        );
        draft.tell(Weight::Left, name.at, &job.subject, text);
        return None;
    }
    match tags::wanted(draft, image, &job.namespace, &job.subject) {
        Ok(wanted) => Some(wanted),
        Err(refusal) => {
            let text = format!("{} has no policy: {}", name.value, refusal.why);
            draft.tell(Weight::Left, refusal.at, &job.subject, text);
            None
        }
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
