//! argocd-image-updater: its annotations on Applications and ApplicationSets (versions 0.x, and `useAnnotations` of
//! 1.x), its `ImageUpdater` objects (1.x), and its ConfigMap.

mod application;
mod by_hand;
mod config;
mod conflicts;
mod error;
mod groups;
mod markers;
mod plan;
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
use super::files::{Files, SourceFile};
use super::known::Standing;
use super::objects::Wanted;
use super::remarks::{At, STAYS, Weight};
use application::{Application, Source, is_template};
use conflicts::Field;
use error::NoCommit;
use groups::Groups;
use settings::{Annotations, Image, PREFIX, WriteBack};
use unlisted::{meant, tell_unlisted};
use updater::{ApplicationRule, Updater};
use write_back::{Author, CREDENTIALS, Context};

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
    adopter.join();
    for job in std::mem::take(&mut adopter.jobs) {
        adopter.plan(&mut draft, &job);
    }
    adopter.keep_apart(&mut draft);
    adopter.apply(&mut draft);
    adopter.tell_old_markers(&mut draft);
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

    /// Gives jobs the group whose automation commits for them; one that has a Secret is not told to name one.
    fn join(&mut self) {
        for job in &mut self.jobs {
            if let Ok(group) = &mut job.group {
                *group = self.groups.joined(*group);
                if self.groups.has_secret(*group) {
                    job.told.retain(|(.., text)| text != CREDENTIALS);
                }
            }
        }
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
        let sources = application.sources();
        let folders = sources.iter().filter_map(Source::path);
        let group = commit.map(|commit| self.groups.add(&namespace, commit, folders));
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
            let group = commit.unwrap_or(Err(NoCommit::Application));
            let group = group.map(|commit| self.groups.add(&namespace, commit, []));
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
                if wish.application.is_some() {
                    draft.count(&wish.subject, unit.stays);
                }
                let Some(policy) = &wish.policy else { continue };
                if let Some(group) = wish.group {
                    let own = wish.application.into_iter().flat_map(Application::sources);
                    let paths = own.filter_map(|source| source.path());
                    let paths = paths.filter(|path| !is_template(path));
                    match (unit.stays && wish.application.is_some(), wish.folders.is_empty()) {
                        (true, _) => self.groups.wait(group, paths),
                        (false, true) => self.groups.extend(group, paths),
                        (false, false) => self.groups.extend(group, wish.folders.iter().cloned()),
                    }
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
                let group = wish.group.and_then(|group| self.groups.get(group));
                if let Some(note) = group.and_then(|group| group.note.clone()) {
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

    /// Markers of earlier, as after a way back: what stays is written by both programs then.
    fn tell_old_markers(&self, draft: &mut Draft<'n>) {
        let stays = self.units.iter().filter(|unit| unit.stays);
        let wishes = stays
            .flat_map(|unit| &unit.wishes)
            .filter_map(|wish| Some((wish, wish.policy.as_ref()?)));
        // Without a group no automation takes the policy.
        let is_written = |wish: &Wish<'_>| wish.application.is_some() && wish.group.is_some();
        let wishes: Vec<_> = wishes.filter(|(wish, _)| is_written(wish)).collect();
        if wishes.is_empty() {
            return;
        }
        let places = markers::first_places(draft);
        for (wish, policy) in wishes {
            let Some(place) = places.get(policy) else { continue };
            let text = format!(
                "{place} has a marker of ImagePolicy {policy}, so argocd-image-updater and the automation both write that field: take its \
                 markers out, or correct what keeps the annotations"
            );
            draft.tell(Weight::Left, wish.at, &wish.subject, text);
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
                "what its rules for {} say is said by the new objects: take them out with the commit of the markers, or both write the \
                 same fields; those for {} have to stay",
                names(moved),
                names(stay)
            ),
        };
        draft.tell(Weight::Note, updater.at(), &updater.subject(), text);
    }
}
