//! The paths of the pages.

use std::fmt::{self, Write as _};

use bumpwright_api::ObjectName;
use bumpwright_overview::{Entry, Id};

use super::assets::{script_path, style_path};
use super::subject::Subject;

/// The path of a page, or of something else that is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// The first page.
    Overview,
    /// All that needs attention.
    Attention,
    /// The board of images.
    Images,
    Policy(ObjectName),
    Automations,
    Automation(ObjectName),
    Kustomizations,
    Kustomization(ObjectName),
    Releases,
    Release(ObjectName),
    Sources,
    Source(Id),
    /// The changes that are reviewed.
    Reviews,
    /// A change of a GitRepository.
    Review(ObjectName, Subject),
    /// The last day.
    Timeline,
    /// Any object. Its version is not part of the path.
    Object(Entry),
    /// A search: GET with `q`.
    Search,
    /// Signing in: GET for the page, POST for the form.
    SignIn,
    /// Signing out: POST with `csrf`.
    SignOut,
    /// An [`crate::Action`]: POST.
    Act,
    /// Server-sent events: a message for each change of what is shown.
    Events,
    Style,
    Script,
}

/// In paths, the core group and the namespace of an object of the cluster: no group and no namespace has such a name.
const CORE: &str = "core";
const CLUSTER: &str = "-";

/// The kinds of sources.
const SOURCES: [&str; 6] = [
    "GitRepository",
    "OCIRepository",
    "Bucket",
    "ExternalArtifact",
    "HelmRepository",
    "HelmChart",
];

impl Route {
    /// The route of a path without its query; none of a path that is nowhere.
    #[must_use]
    pub fn parse(path: &str) -> Option<Self> {
        if path == style_path() {
            return Some(Self::Style);
        }
        if path == script_path() {
            return Some(Self::Script);
        }
        let parts: Vec<String> = path.strip_prefix('/')?.split('/').map(decoded).collect::<Option<_>>()?;
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        Some(match *parts.as_slice() {
            [""] => Self::Overview,
            ["attention"] => Self::Attention,
            ["images"] => Self::Images,
            ["images", namespace, name] => Self::Policy(named(namespace, name)?),
            ["automations"] => Self::Automations,
            ["automations", namespace, name] => Self::Automation(named(namespace, name)?),
            ["kustomizations"] => Self::Kustomizations,
            ["kustomizations", namespace, name] => Self::Kustomization(named(namespace, name)?),
            ["releases"] => Self::Releases,
            ["releases", namespace, name] => Self::Release(named(namespace, name)?),
            ["sources"] => Self::Sources,
            ["sources", kind, namespace, name] if SOURCES.contains(&kind) => {
                Self::Source(Id::new(kind, named(namespace, name)?))
            }
            ["reviews"] => Self::Reviews,
            ["reviews", namespace, name, subject] => Self::Review(named(namespace, name)?, Subject::parse(subject)?),
            ["timeline"] => Self::Timeline,
            ["objects", group, kind, namespace, name] if !(group.is_empty() || kind.is_empty() || name.is_empty()) => {
                Self::Object(Entry {
                    group: if group == CORE { "" } else { group }.to_owned(),
                    version: String::new(),
                    kind: kind.to_owned(),
                    namespace: if namespace == CLUSTER { "" } else { namespace }.to_owned(),
                    name: name.to_owned(),
                })
            }
            ["search"] => Self::Search,
            ["sign-in"] => Self::SignIn,
            ["sign-out"] => Self::SignOut,
            ["act"] => Self::Act,
            ["events"] => Self::Events,
            _ => return None,
        })
    }

    /// The page of an object of the model.
    #[must_use]
    pub fn of(id: &Id) -> Self {
        let name = id.name.clone();
        match id.kind.as_str() {
            "ImagePolicy" => Self::Policy(name),
            "ImageUpdateAutomation" => Self::Automation(name),
            "Kustomization" => Self::Kustomization(name),
            "HelmRelease" => Self::Release(name),
            kind if SOURCES.contains(&kind) => Self::Source(id.clone()),
            kind => Self::Object(Entry {
                group: match kind {
                    "ImageRepository" => "image.toolkit.fluxcd.io".to_owned(),
                    _ => String::new(),
                },
                version: String::new(),
                kind: kind.to_owned(),
                namespace: name.namespace,
                name: name.name,
            }),
        }
    }

    /// The page of an applied object: the one of the model where it has one.
    #[must_use]
    pub fn of_entry(entry: &Entry) -> Self {
        let is_known = match entry.group.as_str() {
            "kustomize.toolkit.fluxcd.io" => entry.kind == "Kustomization",
            "helm.toolkit.fluxcd.io" => entry.kind == "HelmRelease",
            "image.toolkit.fluxcd.io" => matches!(entry.kind.as_str(), "ImagePolicy" | "ImageUpdateAutomation"),
            "source.toolkit.fluxcd.io" => SOURCES.contains(&entry.kind.as_str()),
            _ => false,
        };
        if is_known {
            Self::of(&Id::new(&entry.kind, ObjectName::new(&entry.namespace, &entry.name)))
        } else {
            Self::Object(entry.clone())
        }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overview => f.write_str("/"),
            Self::Attention => f.write_str("/attention"),
            Self::Images => f.write_str("/images"),
            Self::Policy(name) => path(f, &["images", &name.namespace, &name.name]),
            Self::Automations => f.write_str("/automations"),
            Self::Automation(name) => path(f, &["automations", &name.namespace, &name.name]),
            Self::Kustomizations => f.write_str("/kustomizations"),
            Self::Kustomization(name) => path(f, &["kustomizations", &name.namespace, &name.name]),
            Self::Releases => f.write_str("/releases"),
            Self::Release(name) => path(f, &["releases", &name.namespace, &name.name]),
            Self::Sources => f.write_str("/sources"),
            Self::Source(id) => path(f, &["sources", &id.kind, &id.name.namespace, &id.name.name]),
            Self::Reviews => f.write_str("/reviews"),
            Self::Review(name, subject) => path(f, &["reviews", &name.namespace, &name.name, &subject.to_string()]),
            Self::Timeline => f.write_str("/timeline"),
            Self::Object(object) => {
                let or = |text: &str, other: &str| if text.is_empty() { other } else { text }.to_owned();
                let (group, namespace) = (or(&object.group, CORE), or(&object.namespace, CLUSTER));
                path(f, &["objects", &group, &object.kind, &namespace, &object.name])
            }
            Self::Search => f.write_str("/search"),
            Self::SignIn => f.write_str("/sign-in"),
            Self::SignOut => f.write_str("/sign-out"),
            Self::Act => f.write_str("/act"),
            Self::Events => f.write_str("/events"),
            Self::Style => f.write_str(style_path()),
            Self::Script => f.write_str(script_path()),
        }
    }
}

fn named(namespace: &str, name: &str) -> Option<ObjectName> {
    (!namespace.is_empty() && !name.is_empty()).then(|| ObjectName::new(namespace, name))
}

fn path(f: &mut fmt::Formatter<'_>, parts: &[&str]) -> fmt::Result {
    for part in parts {
        f.write_char('/')?;
        for byte in part.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                    f.write_char(char::from(byte))?
                }
                _ => write!(f, "%{byte:02X}")?,
            }
        }
    }
    Ok(())
}

/// A part of a path without `%XX`; none where that is not text.
fn decoded(part: &str) -> Option<String> {
    let mut out = Vec::with_capacity(part.len());
    let mut bytes = part.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                u8::try_from(digit(bytes.next())? * 16 + digit(bytes.next())?).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_as_they_are_written() {
        let name = || ObjectName::new("apps", "a/b <é>%");
        let object = |group: &str, namespace: &str| {
            Route::Object(Entry {
                group: group.to_owned(),
                version: String::new(),
                kind: "ClusterRole".to_owned(),
                namespace: namespace.to_owned(),
                name: "system:node".to_owned(),
            })
        };
        for route in [
            Route::Overview,
            Route::Attention,
            Route::Images,
            Route::Policy(name()),
            Route::Automations,
            Route::Automation(name()),
            Route::Kustomizations,
            Route::Kustomization(name()),
            Route::Releases,
            Route::Release(name()),
            Route::Sources,
            Route::Source(Id::new("GitRepository", name())),
            Route::Reviews,
            Route::Review(name(), Subject::Request(u64::MAX)),
            Route::Review(name(), Subject::parse("not-applied-0123456789ab").unwrap()),
            Route::Review(name(), Subject::parse("push-0123456789ab").unwrap()),
            Route::Timeline,
            object("", ""),
            object("apps", "a"),
            Route::Search,
            Route::SignIn,
            Route::SignOut,
            Route::Act,
            Route::Events,
            Route::Style,
            Route::Script,
        ] {
            assert_eq!(Route::parse(&route.to_string()), Some(route.clone()), "{route}");
        }
    }

    #[test]
    fn other_paths_are_nowhere() {
        for path in [
            "",
            "x",
            "/x",
            "/images/",
            "/images/a/",
            "/images/%ff/b",
            "/images/%4",
            "/objects//a/b/c",
            "/sources/Secret/a/b",
            "/reviews/a/b",
            "/reviews/a/b/x",
            "/reviews/a/b/07",
            "/reviews/a/b/+7",
            "/reviews/a/b/push-1",
        ] {
            assert_eq!(Route::parse(path), None, "{path}");
        }
    }
}
