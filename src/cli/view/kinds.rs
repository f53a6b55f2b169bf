//! Kinds as people spell them: as kubectl does, by the names of the definitions, or as flux does, by its commands.

use crate::cli::error::CliError;
use bumpwright_kube::{
    BUCKET, EXTERNAL_ARTIFACT, GIT_REPOSITORY, HELM_CHART, HELM_RELEASE, HELM_REPOSITORY, IMAGE_POLICY,
    IMAGE_REPOSITORY, IMAGE_UPDATE_AUTOMATION, KUSTOMIZATION, Kind, OCI_REPOSITORY,
};
use bumpwright_nearest::nearest;
use bumpwright_text::{Cuts, Parts};

/// A kind with its spellings besides its name and its plural; those of flux have two words.
struct Spelled {
    kind: &'static Kind,
    others: &'static [&'static str],
}

const KINDS: [Spelled; 11] = [
    Spelled {
        kind: &GIT_REPOSITORY,
        others: &["gitrepo", "source git", "sources git"],
    },
    Spelled {
        kind: &OCI_REPOSITORY,
        others: &["ocirepo", "source oci", "sources oci"],
    },
    Spelled {
        kind: &BUCKET,
        others: &["source bucket", "sources bucket"],
    },
    Spelled {
        kind: &EXTERNAL_ARTIFACT,
        others: &["ea", "source external", "sources external"],
    },
    Spelled {
        kind: &IMAGE_REPOSITORY,
        others: &["imgrepo", "imagerepo", "image repository", "images repository"],
    },
    Spelled {
        kind: &IMAGE_POLICY,
        others: &["imgpol", "imagepol", "policy", "image policy", "images policy"],
    },
    Spelled {
        kind: &IMAGE_UPDATE_AUTOMATION,
        others: &[
            "iua",
            "imgupd",
            "imgauto",
            "automation",
            "automations",
            "image update",
            "images update",
        ],
    },
    Spelled {
        kind: &KUSTOMIZATION,
        others: &["ks"],
    },
    Spelled {
        kind: &HELM_REPOSITORY,
        others: &["helmrepo", "source helm", "sources helm"],
    },
    Spelled {
        kind: &HELM_CHART,
        others: &["hc", "source chart", "sources chart"],
    },
    Spelled {
        kind: &HELM_RELEASE,
        others: &["hr"],
    },
];

/// All kinds that views read.
pub(in crate::cli) fn all() -> impl Iterator<Item = &'static Kind> {
    KINDS.iter().map(|spelled| spelled.kind)
}

/// A kind by its name.
pub(in crate::cli) fn named(name: &str) -> Option<&'static Kind> {
    all().find(|kind| kind.kind == name)
}

/// What a kind is called when a command about it is suggested: `kustomization`.
pub(in crate::cli) fn word(kind: &str) -> String {
    match kind {
        "ImageUpdateAutomation" => "automation".to_owned(),
        kind => kind.to_lowercase(),
    }
}

/// Objects as typed: `KIND NAME...`, `KIND/NAME...`, or a kind alone.
#[derive(Debug)]
pub(in crate::cli) struct Typed {
    /// The kind, of the first one.
    pub kind: &'static Kind,
    pub objects: Vec<(&'static Kind, String)>,
}

/// Reads objects as typed.
///
/// # Errors
/// The kind is unknown.
pub(in crate::cli) fn typed(words: &[String]) -> Result<Typed, CliError> {
    let [first, rest @ ..] = words else {
        return Err(CliError::new("no kind is given"));
    };
    if first.contains('/') {
        let objects = words.iter().map(|word| {
            let (kind, name) = word.split_once('/').unwrap_or((word, ""));
            Ok((kind_of(kind)?, named_object(name, word)?))
        });
        let objects: Vec<_> = objects.collect::<Result<_, CliError>>()?;
        let kind = kind_of(first.before('/'))?;
        return Ok(Typed { kind, objects });
    }
    let two = rest.first().and_then(|second| find(&format!("{first} {second}")));
    let (kind, names) = match two {
        Some(kind) => (kind, rest.tail(1)),
        None => (kind_of(first)?, rest),
    };
    Ok(Typed {
        kind,
        objects: names.iter().map(|name| (kind, name.clone())).collect(),
    })
}

fn named_object(name: &str, word: &str) -> Result<String, CliError> {
    if name.is_empty() || name.contains('/') {
        Err(CliError::new(format!("{word:?} is not KIND/NAME")))
    } else {
        Ok(name.to_owned())
    }
}

/// The kind that a word means.
///
/// # Errors
/// The word does not name a kind.
pub(in crate::cli) fn kind_of(word: &str) -> Result<&'static Kind, CliError> {
    find(word).ok_or_else(|| {
        let by_flux = ["source", "image"].map(|first| format!("{first} {word}"));
        if let Some(words) = by_flux.iter().find(|words| find(words).is_some()) {
            return CliError::new(format!("unknown kind {word:?}")).meant(Some(words.as_str()));
        }
        let known_words: Vec<String> = all()
            .flat_map(|kind| [kind.kind.to_lowercase(), kind.plural.to_owned()])
            .collect();
        let near = nearest(&word.to_lowercase(), known_words.iter().map(String::as_str));
        if near.is_some() {
            return CliError::new(format!("unknown kind {word:?}")).meant(near);
        }
        let names: Vec<String> = all().map(|kind| kind.kind.to_lowercase()).collect();
        CliError::new(format!("unknown kind {word:?}; the kinds are {}", names.join(", ")))
    })
}

/// By its name, its plural, either with its group, or another spelling; case does not matter.
fn find(word: &str) -> Option<&'static Kind> {
    let word = word.to_lowercase();
    let is_meant = |spelled: &&Spelled| {
        let Spelled { kind, others } = spelled;
        let bare = match word.split_once('.') {
            Some((bare, group)) if group == kind.group || group == format!("{}.{}", kind.version, kind.group) => bare,
            Some(_) => return false,
            None => word.as_str(),
        };
        bare == kind.kind.to_lowercase() || bare == kind.plural || others.contains(&bare)
    };
    KINDS.iter().find(is_meant).map(|spelled| spelled.kind)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<String>, String> {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        let typed = typed(&words).map_err(|error| error.to_string())?;
        let mut all = vec![typed.kind.kind.to_owned()];
        all.extend(typed.objects.iter().map(|(kind, name)| format!("{}/{name}", kind.kind)));
        Ok(all)
    }

    #[test]
    fn kinds_as_kubectl_and_flux_spell_them() {
        for (text, kind) in [
            ("ks", "Kustomization"),
            ("Kustomizations", "Kustomization"),
            ("kustomizations.kustomize.toolkit.fluxcd.io", "Kustomization"),
            ("image update", "ImageUpdateAutomation"),
            ("iua", "ImageUpdateAutomation"),
            ("automation", "ImageUpdateAutomation"),
            ("source git", "GitRepository"),
            ("gitrepo", "GitRepository"),
            ("image repository", "ImageRepository"),
            ("policy", "ImagePolicy"),
            ("hr", "HelmRelease"),
            ("helmreleases.v2.helm.toolkit.fluxcd.io", "HelmRelease"),
            ("source chart", "HelmChart"),
            ("source helm", "HelmRepository"),
        ] {
            assert_eq!(read(text).unwrap(), [kind], "{text}");
            let object = format!("{kind}/apps");
            assert_eq!(
                read(&format!("{text} apps")).unwrap(),
                [kind, object.as_str()],
                "{text}"
            );
        }
    }

    #[test]
    fn objects_with_a_slash() {
        let both = ["Kustomization", "Kustomization/a", "GitRepository/b"];
        assert_eq!(read("ks/a gitrepo/b").unwrap(), both);
        assert_eq!(read("ks/").unwrap_err(), "\"ks/\" is not KIND/NAME");
    }

    #[test]
    fn an_unknown_kind_is_told_with_what_is_near() {
        let near = "unknown kind \"kustomisation\"; did you mean kustomization?";
        assert_eq!(read("kustomisation apps").unwrap_err(), near);
        for (text, meant) in [
            ("git fleet", "source git"),
            ("update all", "image update"),
            ("oci/web", "source oci"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.ends_with(&format!("; did you mean {meant}?")), "{error}");
        }
        assert!(read("kustomizations.example.com a").is_err());
    }
}
