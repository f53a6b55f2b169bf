//! The settings of argocd-image-updater for an image, in annotations of an Application or fields of an `ImageUpdater`.

use std::collections::BTreeSet;

use bumpwright_api::tree::{Entry, Node};

use super::application::Application;
use crate::remarks::{At, Told};
use bumpwright_nearest::nearest;

/// How the annotations begin.
pub(super) const PREFIX: &str = "argocd-image-updater.argoproj.io/";

/// Settings of an image, behind its alias; the first ones also without, for all of an Application.
const OF_IMAGES: [&str; 11] = [
    "update-strategy",
    "allow-tags",
    "tag-match",
    "ignore-tags",
    "pull-secret",
    "platforms",
    "force-update",
    "helm.image-name",
    "helm.image-tag",
    "helm.image-spec",
    "kustomize.image-name",
];

/// Settings of an Application.
const OF_ALL: [&str; 5] = [
    "image-list",
    "write-back-method",
    "write-back-target",
    "git-branch",
    "git-repository",
];

/// How the newest image is found.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    pub(super) strategy: Option<Told<String>>,
    pub(super) allow: Option<Told<String>>,
    pub(super) ignore: Option<Told<Vec<String>>>,
    pub(super) secret: Option<Told<String>>,
    pub(super) platforms: Option<Told<Vec<String>>>,
}

impl Settings {
    /// These settings, and of others what they do not say.
    pub(super) fn or(self, other: &Self) -> Self {
        Self {
            strategy: self.strategy.or_else(|| other.strategy.clone()),
            allow: self.allow.or_else(|| other.allow.clone()),
            ignore: self.ignore.or_else(|| other.ignore.clone()),
            secret: self.secret.or_else(|| other.secret.clone()),
            platforms: self.platforms.or_else(|| other.platforms.clone()),
        }
    }
}

/// An image, and where it is written.
#[derive(Clone, Debug)]
pub(super) struct Image {
    /// Empty for an image of annotations without one.
    pub(super) alias: String,
    /// The image with its constraint.
    pub(super) name: Told<String>,
    pub(super) settings: Settings,
    pub(super) helm_name: Option<Told<String>>,
    pub(super) helm_tag: Option<Told<String>>,
    pub(super) helm_spec: Option<Told<String>>,
    pub(super) kustomize: Option<Told<String>>,
    pub(super) plugin_name: Option<Told<String>>,
    pub(super) plugin_tag: Option<Told<String>>,
    pub(super) plugin_spec: Option<Told<String>>,
    /// The key that signatures are verified with: a Secret and an entry of it.
    pub(super) verify: Option<Told<(String, String)>>,
}

/// A forge where requests are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Forge {
    GitHub,
    GitLab,
}

/// How changes are written back.
#[derive(Clone, Debug, Default)]
pub(super) struct WriteBack {
    pub(super) method: Option<Told<String>>,
    pub(super) target: Option<Told<String>>,
    pub(super) branch: Option<Told<String>>,
    pub(super) repository: Option<Told<String>>,
    pub(super) request: Option<Told<Forge>>,
    pub(super) labels: Option<Told<()>>,
}

impl WriteBack {
    pub(super) fn or(self, other: &Self) -> Self {
        let labels = match self.request {
            Some(_) => self.labels,
            None => other.labels.clone(),
        };
        Self {
            method: self.method.or_else(|| other.method.clone()),
            target: self.target.or_else(|| other.target.clone()),
            branch: self.branch.or_else(|| other.branch.clone()),
            repository: self.repository.or_else(|| other.repository.clone()),
            request: self.request.or_else(|| other.request.clone()),
            labels,
        }
    }
}

/// The annotations of an Application.
pub(super) struct Annotations<'n> {
    file: usize,
    entries: Vec<&'n Entry>,
}

impl<'n> Annotations<'n> {
    pub(super) fn of(application: &Application<'n>) -> Self {
        let entries = application.annotations().into_iter().flat_map(Node::entries);
        Self {
            file: application.file,
            entries: entries.filter(|entry| entry.name().starts_with(PREFIX)).collect(),
        }
    }

    pub(super) fn keys(&self) -> Vec<String> {
        self.entries.iter().map(|entry| entry.name().to_owned()).collect()
    }

    /// The value of an annotation, unless it is empty.
    pub(super) fn get(&self, key: &str) -> Option<Told<String>> {
        let entry = self
            .entries
            .iter()
            .find(|entry| entry.name().strip_prefix(PREFIX) == Some(key))?;
        let value = entry.node.text()?.trim();
        (!value.is_empty()).then(|| Told {
            value: value.to_owned(),
            at: self.at(entry),
            name: key.to_owned(),
        })
    }

    fn at(&self, entry: &Entry) -> At {
        At {
            file: self.file,
            place: entry.key.place,
        }
    }

    fn list(&self, key: &str) -> Option<Told<Vec<String>>> {
        let setting = self.get(key)?;
        let parts = setting.value.split(',').map(|part| part.trim().to_owned());
        Some(Told {
            value: parts.filter(|part| !part.is_empty()).collect(),
            at: setting.at,
            name: setting.name,
        })
    }

    /// Those of an alias (`web.`), or of the whole Application (nothing).
    fn settings(&self, alias: &str) -> Settings {
        let key = |key: &str| format!("{alias}{key}");
        let old = self.get(&key("tag-match")).map(|told| Told {
            value: if told.value.contains(':') || told.value == "any" {
                told.value
            } else {
                format!("regexp:{}", told.value)
            },
            ..told
        });
        Settings {
            strategy: self.get(&key("update-strategy")),
            allow: self.get(&key("allow-tags")).or(old),
            ignore: self.list(&key("ignore-tags")),
            secret: self.get(&key("pull-secret")),
            platforms: self.list(&key("platforms")),
        }
    }

    /// The images of the list.
    pub(super) fn images(&self) -> Vec<Image> {
        let Some(list) = self.get("image-list") else {
            return Vec::new();
        };
        let settings = self.settings("");
        let parts = list.value.split(',').map(str::trim).filter(|part| !part.is_empty());
        let image = |part: &str| {
            let (alias, name) = part.split_once('=').unwrap_or(("", part));
            let (alias, name) = (alias.trim(), name.trim());
            let setting = Told {
                value: name.to_owned(),
                at: list.at,
                name: list.name.clone(),
            };
            self.image(alias, setting, &settings)
        };
        parts.map(image).collect()
    }

    fn image(&self, alias: &str, name: Told<String>, all: &Settings) -> Image {
        // A slash cannot be in the name of an annotation.
        let prefix = if alias.is_empty() {
            String::new()
        } else {
            format!("{}.", alias.replace('/', "_"))
        };
        let own = |key: &str| {
            if prefix.is_empty() {
                None
            } else {
                self.get(&format!("{prefix}{key}"))
            }
        };
        Image {
            alias: alias.to_owned(),
            settings: self.settings(&prefix).or(all),
            helm_name: own("helm.image-name"),
            helm_tag: own("helm.image-tag"),
            helm_spec: own("helm.image-spec"),
            kustomize: own("kustomize.image-name"),
            plugin_name: None,
            plugin_tag: None,
            plugin_spec: None,
            verify: None,
            name,
        }
    }

    pub(super) fn write_back(&self) -> WriteBack {
        WriteBack {
            method: self.get("write-back-method"),
            target: self.get("write-back-target"),
            branch: self.get("git-branch"),
            repository: self.get("git-repository"),
            request: None,
            labels: None,
        }
    }

    /// The annotation that was probably meant by one that is not read.
    pub(super) fn meant(key: &str) -> Option<String> {
        // Some settings have a dot of their own: `web.helm.image-tag`.
        let (before, _) = key.rsplit_once('.').unwrap_or(("", key));
        let alias = ["helm", "kustomize"]
            .iter()
            .find_map(|own| {
                before
                    .strip_suffix(own)?
                    .strip_suffix('.')
                    .or_else(|| (before == *own).then_some(""))
            })
            .unwrap_or(before);
        let setting = key.strip_prefix(alias).map_or(key, |rest| rest.trim_start_matches('.'));
        let alias = if alias.is_empty() {
            String::new()
        } else {
            format!("{alias}.")
        };
        let of_all = OF_ALL.iter().filter(|_| alias.is_empty());
        let near = nearest(setting, of_all.chain(&OF_IMAGES).copied())?;
        (near != setting).then(|| format!("{alias}{near}"))
    }

    /// The annotations, of which none counts without a list of images.
    pub(super) fn all(&self) -> Vec<Told<()>> {
        let own = self.entries.iter().filter_map(|entry| {
            let name = entry.name().strip_prefix(PREFIX)?.to_owned();
            let at = self.at(entry);
            Some(Told { value: (), at, name })
        });
        own.collect()
    }

    /// Annotations that the updater does not read, as of an alias that no image has.
    pub(super) fn idle(&self, images: &[Image]) -> Vec<Told<()>> {
        let aliases: BTreeSet<String> = images.iter().map(|image| image.alias.replace('/', "_")).collect();
        let is_read = |key: &str| {
            let of_image = aliases
                .iter()
                .filter_map(|alias| key.strip_prefix(alias.as_str())?.strip_prefix('.'))
                .any(|setting| OF_IMAGES.contains(&setting));
            // What the whole Application can say, too.
            of_image || OF_ALL.contains(&key) || OF_IMAGES.iter().take(7).any(|setting| *setting == key)
        };
        let idle = self.entries.iter().filter_map(|entry| {
            let key = entry.name().strip_prefix(PREFIX)?;
            let at = self.at(entry);
            let name = key.to_owned();
            (!is_read(key)).then_some(Told { value: (), at, name })
        });
        idle.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_in_an_annotation_has_the_one_that_is_meant() {
        for (key, expected) in [
            ("web.update-stratgy", Some("web.update-strategy")),
            ("web.helm.image-tga", Some("web.helm.image-tag")),
            ("helm.image-tga", Some("helm.image-tag")),
            ("a/b.kustomize.image-nam", Some("a/b.kustomize.image-name")),
            ("image-lst", Some("image-list")),
            ("web.image-lst", None),
            ("web.helm.image-tag", None),
        ] {
            assert_eq!(Annotations::meant(key).as_deref(), expected, "{key}");
        }
    }
}
