//! Kinds of any group as people spell them.

use crate::cli::error::CliError;
use crate::cli::view::kinds;
use bumpwright_kube::GroupVersionKind;
use bumpwright_overview::Entry;

/// Kubernetes' own kinds with the short names of kubectl: group, kind, names.
const OWN: [(&str, &str, &str, &[&str]); 18] = [
    ("", "v1", "Pod", &["po"]),
    ("", "v1", "Service", &["svc"]),
    ("", "v1", "ConfigMap", &["cm"]),
    ("", "v1", "Secret", &[]),
    ("", "v1", "ServiceAccount", &["sa"]),
    ("", "v1", "Namespace", &["ns"]),
    ("", "v1", "PersistentVolumeClaim", &["pvc"]),
    ("apps", "v1", "Deployment", &["deploy"]),
    ("apps", "v1", "StatefulSet", &["sts"]),
    ("apps", "v1", "DaemonSet", &["ds"]),
    ("apps", "v1", "ReplicaSet", &["rs"]),
    ("batch", "v1", "Job", &[]),
    ("batch", "v1", "CronJob", &["cj"]),
    ("networking.k8s.io", "v1", "Ingress", &["ing"]),
    ("networking.k8s.io", "v1", "NetworkPolicy", &["netpol"]),
    ("autoscaling", "v2", "HorizontalPodAutoscaler", &["hpa"]),
    ("policy", "v1", "PodDisruptionBudget", &["pdb"]),
    ("apiextensions.k8s.io", "v1", "CustomResourceDefinition", &["crd"]),
];

/// A kind as typed.
#[derive(Debug)]
pub(super) struct Spelled {
    word: String,
    /// Where the word means a known kind.
    pub known: Option<GroupVersionKind>,
}

impl Spelled {
    fn of(word: &str) -> Self {
        let word = word.to_lowercase();
        let gvk = |group: &str, version: &str, kind: &str| GroupVersionKind {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
        };
        let ours = kinds::kind_of(&word)
            .ok()
            .map(|kind| gvk(kind.group, kind.version, kind.kind));
        let (bare, group) = word.split_once('.').unwrap_or((&word, ""));
        let own = OWN.iter().find(|(of, _, kind, short)| {
            (group.is_empty() || group == *of) && (is_name(bare, kind) || short.contains(&bare))
        });
        let own = own.map(|(group, version, kind, _)| gvk(group, version, kind));
        Self {
            known: ours.or(own),
            word,
        }
    }

    /// Whether an object is of this kind.
    pub(super) fn is_of(&self, entry: &Entry) -> bool {
        if let Some(known) = &self.known {
            return known.kind == entry.kind && known.group == entry.group;
        }
        let (bare, group) = self.word.split_once('.').unwrap_or((&self.word, ""));
        is_name(bare, &entry.kind) && (group.is_empty() || group == entry.group)
    }

    /// The word, for messages.
    pub(super) fn word(&self) -> &str {
        self.known.as_ref().map_or(&self.word, |known| &known.kind)
    }
}

/// The kind in lower case, or its plural in English.
fn is_name(word: &str, kind: &str) -> bool {
    let kind = kind.to_lowercase();
    let plural = match kind.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if kind.ends_with('s') => format!("{kind}es"),
        None => format!("{kind}s"),
    };
    word == kind || word == plural
}

/// The kind and the name of what is typed: `KIND NAME`, `KIND/NAME`, or two words of flux and a name.
///
/// # Errors
/// It is neither.
pub(super) fn typed(words: &[String]) -> Result<(Spelled, String), CliError> {
    let wrong = || CliError::new("give one object: KIND NAME, or KIND/NAME");
    let (kind, name) = match words {
        [one] => {
            let missing = || wrong().hint(format!("such as deploy/{one}"));
            let (kind, name) = one.split_once('/').ok_or_else(missing)?;
            (kind.to_owned(), name)
        }
        [kind, name] => (kind.clone(), name.as_str()),
        [first, second, name] => (format!("{first} {second}"), name.as_str()),
        _ => return Err(wrong()),
    };
    if kind.is_empty() || name.is_empty() || name.contains('/') {
        return Err(wrong());
    }
    Ok((Spelled::of(&kind), name.to_owned()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_any_group() {
        let entry = |group: &str, kind: &str| Entry {
            group: group.to_owned(),
            kind: kind.to_owned(),
            ..Entry::default()
        };
        for (text, group, kind) in [
            ("deploy/web", "apps", "Deployment"),
            ("deployments.apps web", "apps", "Deployment"),
            ("ingresses web", "networking.k8s.io", "Ingress"),
            ("image update all", "image.toolkit.fluxcd.io", "ImageUpdateAutomation"),
            ("certificates.cert-manager.io web", "cert-manager.io", "Certificate"),
            ("certificate/web", "cert-manager.io", "Certificate"),
        ] {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            assert!(typed(&words).unwrap().0.is_of(&entry(group, kind)), "{text}");
            assert!(
                !typed(&words).unwrap().0.is_of(&entry("example.com", "Other")),
                "{text}"
            );
        }
        let error = typed(&["web".to_owned()]).unwrap_err().to_string();
        assert_eq!(error, "give one object: KIND NAME, or KIND/NAME; such as deploy/web");
    }
}
