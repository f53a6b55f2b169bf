//! argocd-image-updater: its annotations on Applications and ApplicationSets (versions 0.x, and `useAnnotations` of 1.x), its
//! `ImageUpdater` objects (1.x), and its ConfigMap.

mod application;
mod settings;
mod tags;
mod target;
mod updater;
mod write_back;

use std::collections::BTreeSet;

use bumpwright_policy::PolicyName;

use super::draft::{Adoption, Draft, Options};
use super::fields::text_below;
use super::files::{Files, SourceFile};
use super::image::Named;
use super::remarks::{At, Weight};
use application::{Application, is_template};
use settings::{Annotations, Image, PREFIX, WriteBack};
use target::Target;
use updater::Updater;
use write_back::{Author, Context};

const MADE_BY: &str = "bumpwright migrate --from argocd-image-updater";

/// As often as argocd-image-updater looks by default.
const INTERVAL: &str = "2m";

const CONFIG: &str = "argocd-image-updater-config";

/// What becomes of the Applications of these files.
#[must_use]
pub fn argocd_image_updater(sources: &[SourceFile], options: &Options) -> Adoption {
    let files = Files::read(sources);
    let mut draft = Draft::of(&files);
    draft.tell_unreadable(|file| String::from_utf8_lossy(&file.source.bytes).contains(PREFIX));
    let objects = files.objects();
    let author = config(&mut draft, &objects);
    let applications: Vec<Application<'_>> = objects
        .iter()
        .filter_map(|(file, node)| Application::read(*file, node))
        .collect();
    let updaters: Vec<Updater<'_>> = objects
        .iter()
        .filter_map(|(file, node)| Updater::read(*file, node))
        .collect();
    let adopter = Adopter { options, author };
    for application in &applications {
        adopter.application(&mut draft, application, &updaters);
    }
    for updater in &updaters {
        adopter.updater(&mut draft, updater, &applications);
    }
    draft.finish(MADE_BY, INTERVAL)
}

/// The author of commits; and what else the updater's configuration says.
fn config(draft: &mut Draft<'_>, objects: &[(usize, &bumpwright_api::tree::Node)]) -> Author {
    let mut author = ("argocd-image-updater".to_owned(), "noreply@argoproj.io".to_owned());
    for (file, node) in objects {
        let is_it =
            node.field_text("kind") == Some("ConfigMap") && text_below(node, &["metadata", "name"]) == Some(CONFIG);
        let Some(data) = node.field("data").filter(|_| is_it) else {
            continue;
        };
        for entry in data.entries() {
            let value = entry.node.text().unwrap_or_default().to_owned();
            let instead = match entry.name() {
                "git.user" => {
                    author.0 = value;
                    continue;
                }
                "git.email" => {
                    author.1 = value;
                    continue;
                }
                "git.commit-message-template" => {
                    "write spec.git.commit.messageTemplate, which has other data (docs/guides/messages.md)"
                }
                "git.commit-signing-key" | "git.commit-signing-method" => {
                    "set spec.git.commit.signingKey (docs/guides/signing.md)"
                }
                "git.commit-sign-off" => "write the line Signed-off-by into spec.git.commit.messageTemplate",
                "registries.conf" => {
                    "logins, addresses and limits of registries are of each ImageRepository (docs/guides/registries.md)"
                }
                _ => continue,
            };
            let at = At {
                file: *file,
                place: entry.key.place,
            };
            draft.tell(Weight::Left, at, "", format!("{}: {instead}", entry.name()));
        }
    }
    author
}

struct Adopter<'o> {
    options: &'o Options,
    author: Author,
}

impl Adopter<'_> {
    fn namespace(&self, own: Option<&String>) -> String {
        let given = self.options.namespace.as_ref().or(own);
        given.map_or_else(|| "argocd".to_owned(), Clone::clone)
    }

    fn application(&self, draft: &mut Draft<'_>, application: &Application<'_>, updaters: &[Updater<'_>]) {
        if application.sources().is_empty() {
            if Annotations::of(application).get("image-list").is_some() {
                let text = "it has no source: if it is a patch of a kustomization, write its annotations into the Application that it patches";
                draft.tell(Weight::Left, application.at(), &application.subject(), text);
            }
            return;
        }
        let rule = updaters.iter().find_map(|updater| updater.rule_for(application));
        let annotations = Annotations::of(application);
        let before = draft.left();
        match rule.filter(|rule| !rule.annotated) {
            Some(rule) => {
                self.images(draft, application, &rule.images, &rule.write_back);
                if !annotations.keys().is_empty() {
                    let text = "its annotations have no effect beside the ImageUpdater, and stay: remove them";
                    draft.tell(Weight::Note, application.at(), &application.subject(), text);
                }
            }
            None if annotations.get("image-list").is_none() => {}
            None => {
                let mut images = annotations.images();
                for image in &mut images {
                    image.verify = rule.and_then(|rule| rule.verify.clone());
                }
                for told in annotations.idle(&images) {
                    let text = format!(
                        "{} has no effect: no image of image-list has that alias, or it is not known",
                        told.name
                    );
                    draft.tell(Weight::Note, told.at, &application.subject(), text);
                }
                self.images(draft, application, &images, &annotations.write_back());
                self.annotations(draft, application, annotations.keys(), before);
            }
        }
    }

    /// Annotations that have said all go; what was left is still there to be read.
    fn annotations(&self, draft: &mut Draft<'_>, application: &Application<'_>, keys: Vec<String>, before: usize) {
        let Some(metadata) = application.metadata.filter(|_| draft.left() == before) else {
            let text = "its annotations stay, since not all of them could be said otherwise";
            return draft.tell(Weight::Note, application.at(), &application.subject(), text);
        };
        draft.remove(application.file, metadata, keys);
    }

    fn images(&self, draft: &mut Draft<'_>, application: &Application<'_>, images: &[Image], write_back: &WriteBack) {
        let namespace = self.namespace(application.namespace.as_ref());
        let subject = application.subject();
        let mut folders = BTreeSet::new();
        let mut chosen = false;
        for image in images {
            let Some((policy, digest)) = self.policy(draft, image, &application.name, &namespace, &subject) else {
                continue;
            };
            chosen = true;
            let target = Target {
                application,
                image,
                write_back,
                policy: &policy,
                digest,
                subject: &subject,
            };
            match target.mark(draft) {
                Ok(marked) => folders.extend(marked.folders),
                Err(why) => {
                    let text = format!(
                        "{}: there is the policy {policy}, and no marker: {why}",
                        image.name.value
                    );
                    draft.tell(Weight::Left, image.name.at, &subject, text);
                }
            }
        }
        if !chosen {
            return;
        }
        if folders.is_empty() {
            let paths = application.sources().into_iter().filter_map(|source| source.path());
            folders.extend(paths.filter(|path| !is_template(path)));
        }
        let context = Context {
            application: Some(application),
            author: &self.author,
            namespace: &namespace,
            at: application.at(),
            subject: &subject,
        };
        context.automate(draft, write_back, folders);
    }

    /// The policy of an image, and whether it writes digests.
    fn policy(
        &self,
        draft: &mut Draft<'_>,
        image: &Image,
        owner: &str,
        namespace: &str,
        subject: &str,
    ) -> Option<(PolicyName, bool)> {
        let told = &image.name;
        if is_template(&told.value) {
            let text = format!(
                "{:?} depends on the generator of the ApplicationSet: write a policy for each image",
                told.value
            );
            draft.tell(Weight::Left, told.at, subject, text);
            return None;
        }
        match tags::wanted(draft, image, namespace, subject) {
            Ok(wanted) => {
                let short = Named::split(&told.value).short().to_owned();
                let name = if image.alias.is_empty() {
                    short
                } else {
                    image.alias.clone()
                };
                let longer = format!("{owner}-{name}");
                let digest = wanted.digest;
                Some((draft.objects.policy(namespace, &[&name, &longer], wanted), digest))
            }
            Err(refusal) => {
                let text = format!("{} has no policy: {}", told.value, refusal.why);
                draft.tell(Weight::Left, refusal.at, subject, text);
                None
            }
        }
    }

    /// Rules that fit no Application of the files have policies, and nothing to mark.
    fn updater(&self, draft: &mut Draft<'_>, updater: &Updater<'_>, applications: &[Application<'_>]) {
        let namespace = self.namespace(updater.namespace.as_ref());
        let subject = updater.subject();
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
            draft.tell(Weight::Left, at, &subject, text);
            let mut chosen = false;
            for image in &rule.images {
                chosen |= self.policy(draft, image, &updater.name, &namespace, &subject).is_some();
            }
            if chosen && rule.write_back.repository.is_some() {
                let context = Context {
                    application: None,
                    author: &self.author,
                    namespace: &namespace,
                    at,
                    subject: &subject,
                };
                context.automate(draft, &rule.write_back, BTreeSet::new());
            }
        }
        let text = "what it says is said by the new objects: delete it when they are in use";
        draft.tell(Weight::Note, updater.at(), &subject, text);
    }
}
