//! argocd-image-updater: its annotations on Applications and ApplicationSets (versions 0.x, and `useAnnotations` of
//! 1.x), its `ImageUpdater` objects (1.x), and its ConfigMap.

mod application;
mod config;
mod conflicts;
mod error;
mod groups;
mod settings;
mod spots;
mod tags;
mod target;
mod unlisted;
mod updater;
mod write_back;

use bumpwright_edit::Setter;
use bumpwright_policy::PolicyName;

use super::draft::{Adoption, Draft, Options};
use super::error::{NotMarked, Obstacle};
use super::files::{Files, SourceFile, parent};
use super::image::{Named, object_name};
use super::known::Standing;
use super::objects::Wanted;
use super::remarks::{At, STAYS, Weight};
use application::{Application, is_template};
use conflicts::Field;
use error::{Intruder, NoCommit, NoMarkers};
use groups::Groups;
use settings::{Annotations, Image, PREFIX, WriteBack};
use spots::{Spot, Taker, choose};
use target::{Found, Target};
use unlisted::{meant, tell_unlisted};
use updater::{ApplicationRule, Updater};
use write_back::{Author, Context};

const MADE_BY: &str = "bumpwright migrate --from argocd-image-updater";

/// As often as argocd-image-updater looks by default.
const INTERVAL: &str = "2m";

/// What becomes of the Applications of these files.
#[must_use]
pub fn argocd_image_updater(sources: &[SourceFile], options: &Options) -> Adoption {
    let files = Files::read(sources);
    let mut draft = Draft::of(&files, options);
    draft.tell_unreadable(|file| String::from_utf8_lossy(&file.source.bytes).contains(PREFIX));
    let objects = files.objects();
    let author = config::author(&mut draft, &objects);
    let applications: Vec<Application<'_>> = objects
        .iter()
        .filter_map(|(file, node)| Application::read(*file, node))
        .collect();
    let updaters: Vec<Updater<'_>> = objects
        .iter()
        .filter_map(|(file, node)| Updater::read(*file, node))
        .collect();
    let mut adopter = Adopter {
        options,
        author,
        groups: Groups::beside(Standing::all(&files)),
        units: Vec::new(),
        jobs: Vec::new(),
    };
    for application in &applications {
        adopter.read(&mut draft, application, &updaters);
    }
    for updater in &updaters {
        adopter.read_unmatched(&mut draft, updater, &applications);
    }
    adopter.groups.settle(&draft);
    for job in std::mem::take(&mut adopter.jobs) {
        adopter.plan(&mut draft, &job);
    }
    adopter.keep_apart(&mut draft);
    adopter.apply(&mut draft);
    for updater in &updaters {
        adopter.tell_updater(&mut draft, updater);
    }
    adopter.groups.finish(&mut draft);
    draft.finish(MADE_BY, INTERVAL)
}

/// What moves as a whole or stays as a whole: the annotations of an Application, or a rule of an `ImageUpdater`.
struct Unit<'n> {
    subject: String,
    at: At,
    wishes: Vec<Wish<'n>>,
    /// Whether it stays with argocd-image-updater.
    stays: bool,
    /// The Application whose annotations say it.
    annotated: Option<&'n Application<'n>>,
    rule: Option<&'n ApplicationRule<'n>>,
}

/// An image of an Application.
struct Wish<'n> {
    at: At,
    subject: String,
    image: String,
    /// What is chosen; none if no policy can be for it.
    choice: Option<Wanted>,
    policy: Option<PolicyName>,
    group: Option<usize>,
    /// The fields that it is written to, as far as they were found.
    fields: Vec<Field>,
    /// What to tell if it moves.
    notes: Vec<(At, String)>,
    folders: Vec<String>,
    application: Option<&'n Application<'n>>,
}

/// The images of an Application that are committed alike.
struct Job<'n> {
    unit: usize,
    application: Option<&'n Application<'n>>,
    images: Vec<Image>,
    write_back: WriteBack,
    owner: String,
    namespace: String,
    subject: String,
    at: At,
    group: Result<usize, NoCommit>,
    /// Of the write-back.
    told: Vec<(Weight, At, String)>,
}

struct Adopter<'o, 'n> {
    options: &'o Options,
    author: Author,
    groups: Groups,
    units: Vec<Unit<'n>>,
    jobs: Vec<Job<'n>>,
}

impl<'n> Adopter<'_, 'n> {
    fn namespace(&self, own: Option<&String>) -> String {
        let given = self.options.namespace.as_ref().or(own);
        given.map_or_else(|| "argocd".to_owned(), Clone::clone)
    }

    fn read(&mut self, draft: &mut Draft<'n>, application: &'n Application<'n>, updaters: &'n [Updater<'n>]) {
        if application.sources().is_empty() {
            if Annotations::of(application).get("image-list").is_some() {
                let text = "it has no source: if it is a patch of a kustomization, write its annotations into the Application that it patches";
                draft.tell(Weight::Left, application.at(), &application.subject(), text);
            }
            return;
        }
        let rule = updaters.iter().find_map(|updater| updater.rule_for(application));
        let annotations = Annotations::of(application);
        match rule.filter(|rule| !rule.annotated) {
            Some(rule) => {
                let unit = self.unit_of(rule, application);
                self.job(draft, unit, application, rule.images.clone(), rule.write_back.clone());
                if !annotations.keys().is_empty() {
                    let text = "its annotations have no effect beside the ImageUpdater, and stay: remove them";
                    draft.tell(Weight::Note, application.at(), &application.subject(), text);
                }
            }
            None if annotations.get("image-list").is_none() => tell_unlisted(draft, application, &annotations),
            None => {
                let mut images = annotations.images();
                for image in &mut images {
                    image.verify = rule.and_then(|rule| rule.verify.clone());
                }
                for told in annotations.idle(&images) {
                    let text = format!(
                        "{} has no effect: no image of image-list has that alias, or it is not known{}",
                        told.name,
                        meant(&told.name)
                    );
                    draft.tell(Weight::Note, told.at, &application.subject(), text);
                }
                self.units.push(Unit {
                    subject: application.subject(),
                    at: application.at(),
                    wishes: Vec::new(),
                    stays: false,
                    annotated: Some(application),
                    rule: None,
                });
                let unit = self.units.len() - 1;
                self.job(draft, unit, application, images, annotations.write_back());
            }
        }
    }

    /// The unit of a rule, which is one for all of its Applications.
    fn unit_of(&mut self, rule: &'n ApplicationRule<'n>, application: &Application<'n>) -> usize {
        let is_it = |unit: &Unit<'_>| unit.rule.is_some_and(|own| std::ptr::eq(own, rule));
        if let Some(known) = self.units.iter().position(is_it) {
            return known;
        }
        self.units.push(Unit {
            subject: application.subject(),
            at: application.at(),
            wishes: Vec::new(),
            stays: false,
            annotated: None,
            rule: Some(rule),
        });
        self.units.len() - 1
    }

    fn job(
        &mut self,
        draft: &Draft<'n>,
        unit: usize,
        application: &'n Application<'n>,
        images: Vec<Image>,
        write_back: WriteBack,
    ) {
        let namespace = self.namespace(application.namespace.as_ref());
        let mut context = Context {
            application: Some(application),
            files: draft.files,
            author: &self.author,
            namespace: &namespace,
            at: application.at(),
            told: Vec::new(),
        };
        let commit = context.commit(&write_back);
        let settings = context.told;
        let group = commit.map(|commit| self.groups.add(&namespace, commit));
        self.jobs.push(Job {
            unit,
            application: Some(application),
            images,
            write_back,
            owner: application.name.clone(),
            namespace,
            subject: application.subject(),
            at: application.at(),
            group,
            told: settings,
        });
    }

    /// Rules that fit no Application of the files have policies, and nothing to mark.
    fn read_unmatched(&mut self, draft: &mut Draft<'n>, updater: &'n Updater<'n>, applications: &'n [Application<'n>]) {
        let namespace = self.namespace(updater.namespace.as_ref());
        for rule in &updater.rules {
            let fits = |application: &Application<'_>| {
                updater
                    .rule_for(application)
                    .is_some_and(|found| std::ptr::eq(found, rule))
            };
            if applications.iter().any(fits) {
                continue;
            }
            let at = At {
                file: updater.file,
                place: rule.node.place,
            };
            let text = format!(
                "no Application of the files is named {:?}, so no fields are marked for it",
                rule.pattern
            );
            draft.tell(Weight::Left, at, &updater.subject(), text);
            let mut context = Context {
                application: None,
                files: draft.files,
                author: &self.author,
                namespace: &namespace,
                at,
                told: Vec::new(),
            };
            let commit = rule
                .write_back
                .repository
                .is_some()
                .then(|| context.commit(&rule.write_back));
            let settings = context.told;
            let group = commit.unwrap_or(Err(NoCommit::NoApplication));
            let group = group.map(|commit| self.groups.add(&namespace, commit));
            self.units.push(Unit {
                subject: updater.subject(),
                at,
                wishes: Vec::new(),
                stays: true,
                annotated: None,
                rule: Some(rule),
            });
            self.jobs.push(Job {
                unit: self.units.len() - 1,
                application: None,
                images: rule.images.clone(),
                write_back: rule.write_back.clone(),
                owner: updater.name.clone(),
                namespace: namespace.clone(),
                subject: updater.subject(),
                at,
                group,
                told: settings,
            });
        }
    }

    /// Plans the images of a job: their policies and fields.
    fn plan(&mut self, draft: &mut Draft<'n>, job: &Job<'n>) {
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

    /// Leaves what would write to a field of others.
    fn keep_apart(&mut self, draft: &mut Draft<'n>) {
        for (unit, wish, why) in conflicts::find(&self.units, &self.groups) {
            let Some(unit) = self.units.get_mut(unit) else { continue };
            unit.stays = true;
            if let Some(wish) = unit.wishes.get(wish) {
                draft.tell(Weight::Left, wish.at, &wish.subject, why);
            }
        }
    }

    /// Puts the markers of all that moves, and takes its annotations out.
    fn apply(&mut self, draft: &mut Draft<'n>) {
        for unit in &self.units {
            for wish in &unit.wishes {
                let (Some(group), Some(policy)) = (wish.group, &wish.policy) else {
                    continue;
                };
                let own = wish.application.into_iter().flat_map(Application::sources);
                let paths = own.filter_map(|source| source.path());
                if wish.folders.is_empty() || unit.stays {
                    self.groups.extend(group, paths.filter(|path| !is_template(path)))
                } else {
                    self.groups.extend(group, wish.folders.iter().cloned())
                }
                if unit.stays {
                    continue;
                }
                for field in &wish.fields {
                    let setter = Setter {
                        policy: policy.clone(),
                        part: field.part,
                    };
                    draft.mark(field.file, field.start, setter);
                }
                for (at, text) in &wish.notes {
                    draft.tell(Weight::Note, *at, &wish.subject, text.clone());
                }
                if let Some(note) = self.groups.get(group).and_then(|group| group.note.clone()) {
                    draft.tell(Weight::Note, wish.at, &wish.subject, note);
                }
            }
            let Some(application) = unit.annotated else { continue };
            match application.metadata.filter(|_| !unit.stays) {
                Some(metadata) => {
                    let keys = Annotations::of(application).keys();
                    draft.remove(application.file, metadata, keys);
                }
                None => {
                    draft.tell(Weight::Note, unit.at, &unit.subject, STAYS);
                }
            }
        }
    }

    /// An `ImageUpdater` stays, and has to go by hand: as far as its rules moved.
    fn tell_updater(&self, draft: &mut Draft<'n>, updater: &Updater<'n>) {
        let of_rule = |rule: &ApplicationRule<'n>| {
            let is_it = |unit: &&Unit<'_>| unit.rule.is_some_and(|own| std::ptr::eq(own, rule));
            self.units.iter().find(is_it)
        };
        let (moved, stay): (Vec<_>, Vec<_>) = updater.rules.iter().partition(|rule| {
            let unit = of_rule(rule);
            !rule.annotated && unit.is_some_and(|unit| !unit.stays)
        });
        let names = |rules: &[&ApplicationRule<'n>]| {
            let names: Vec<String> = rules.iter().map(|rule| format!("{:?}", rule.pattern)).collect();
            names.join(", ")
        };
        let text = match (moved.as_slice(), stay.as_slice()) {
            ([], _) => return,
            (_, []) => {
                "what it says is said by the new objects: delete it with the commit of the markers, or both write the same fields".to_owned()
            }
            (moved, stay) => format!(
                "what its rules for {} say is said by the new objects: take them out with the commit of the markers, or both write the same                  fields; those for {} have to stay",
                names(moved),
                names(stay)
            ),
        };
        draft.tell(Weight::Note, updater.at(), &updater.subject(), text);
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

fn fields(
    draft: &Draft<'_>,
    spot: &Spot<'_>,
    parts: &[(&bumpwright_api::tree::Node, bumpwright_edit::Part)],
) -> Vec<Field> {
    let field = |(node, part): &(&bumpwright_api::tree::Node, bumpwright_edit::Part)| Field {
        file: spot.file,
        start: node.span.start,
        part: *part,
        place: draft.place(spot.file, node),
    };
    parts.iter().map(field).collect()
}
