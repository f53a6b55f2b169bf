//! Fields that somebody marked by hand: where no policy says what argocd-image-updater did, or a generator alone knows
//! the files. With such markers an Application moves like any other.

use std::collections::BTreeMap;

use bumpwright_edit::{FileKind, Part, Site, file_kind, is_same_image};
use bumpwright_policy::PolicyName;

use super::conflicts::Field;
use super::markers::sites;
use super::spots::Spot;
use crate::draft::Draft;

/// Fields with markers of one policy of the files.
pub(super) struct Marked {
    pub(super) policy: PolicyName,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) fields: Vec<Field>,
}

/// The markers of these fields of an image; none unless each tag has one, and all are of one policy.
pub(super) fn of_spots(draft: &Draft<'_>, spots: &[Spot<'_>], image: &str) -> Option<Marked> {
    let mut found = Vec::new();
    for spot in spots {
        let sites = sites(draft, spot.file);
        for (node, part) in &spot.fields {
            match sites.iter().find(|site| site.span.contains(&node.span.start)) {
                Some(site) => found.push((site.setter.policy.clone(), field(draft, spot.file, site))),
                None if *part == Part::Name => {}
                None => return None,
            }
        }
    }
    of_one_policy(draft, found, image)
}

/// The markers of policies for an image in the files that a generator may mean by a path with `{{…}}` in it.
pub(super) fn of_template(draft: &Draft<'_>, template: &str, image: &str) -> Option<Marked> {
    let mut found = Vec::new();
    for (n, parsed) in draft.files.parsed.iter().enumerate() {
        let path = parsed.source.path.as_str();
        if parsed.error.is_some() || file_kind(path) != FileKind::Yaml || !may_be(path, template) {
            continue;
        }
        for site in sites(draft, n) {
            let policy = site.setter.policy.clone();
            let known = draft.objects.known.chooser(&policy);
            if known.is_some_and(|(_, own)| own.is_some_and(|own| is_same_image(&own, image))) {
                let field = field(draft, n, &site);
                found.push((policy, field));
            }
        }
    }
    of_one_policy(draft, found, image)
}

/// That the marker of a field names a policy that is not among the files; none without such a marker.
pub(super) fn unknown_policy(draft: &Draft<'_>, field: &Field) -> Option<String> {
    let sites = sites(draft, field.file);
    let site = sites.iter().find(|site| site.span.contains(&field.start))?;
    let (policy, known) = (&site.setter.policy, &draft.objects.known);
    if known.chooser(policy).is_some() {
        return None;
    }
    let named: Vec<String> = known.policies().map(PolicyName::marker).collect();
    let meant = bumpwright_nearest::meant(&policy.marker(), named.iter().map(String::as_str));
    Some(format!(
        "the marker at {} names ImagePolicy {policy}, which is not among the files{meant}",
        field.place
    ))
}

fn of_one_policy(draft: &Draft<'_>, found: Vec<(PolicyName, Field)>, image: &str) -> Option<Marked> {
    let (policy, _) = found.first()?;
    let policy = policy.clone();
    let (labels, own) = draft.objects.known.chooser(&policy)?;
    let is_its = own.is_none_or(|own| is_same_image(&own, image)) && found.iter().all(|(other, _)| *other == policy);
    is_its.then(|| Marked {
        policy,
        labels,
        fields: found.into_iter().map(|(_, field)| field).collect(),
    })
}

fn field(draft: &Draft<'_>, file: usize, site: &Site) -> Field {
    Field {
        file,
        start: site.span.start,
        part: site.setter.part,
        place: format!("{}:{}:{}", draft.files.name(file), site.line, site.column),
    }
}

/// Whether a generator may make a path of a template, or one below it: `{{path}}/values.yaml` may
/// be of several folders.
fn may_be(path: &str, template: &str) -> bool {
    let mut parts = template.split("{{");
    let Some(mut rest) = parts.next().and_then(|first| path.strip_prefix(first)) else {
        return false;
    };
    let texts: Vec<&str> = parts
        .map(|part| part.split_once("}}").map_or("", |(_, text)| text))
        .collect();
    let Some((last, between)) = texts.split_last() else {
        return rest.is_empty();
    };
    for text in between {
        match rest.split_once(*text) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    match file_kind(template) {
        FileKind::Yaml => rest.ends_with(last),
        _ => rest.contains(&format!("{last}/")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_may_be_any_of_its_paths() {
        for (template, path, expected) in [
            ("teams/{{name}}/values.yaml", "teams/a/values.yaml", true),
            ("teams/{{name}}/values.yaml", "teams/a/other.yaml", false),
            ("teams/{{name}}/values.yaml", "apps/a/values.yaml", false),
            ("{{ .path.path }}/values.yaml", "teams/a/values.yaml", true),
            ("teams/{{name}}/values-{{stage}}.yaml", "teams/a/values-prod.yaml", true),
            ("teams/{{name}}/values-{{stage}}.yaml", "teams/a/values.yaml", false),
            ("teams/{{name}}", "teams/a/pod.yaml", true),
            ("teams/{{name}}", "teams/pod.yaml", false),
            ("teams/{{name}}/prod", "teams/a/prod/pod.yaml", true),
            ("teams/{{name}}/prod", "teams/a/dev/pod.yaml", false),
        ] {
            assert_eq!(may_be(path, template), expected, "{template} {path}");
        }
    }
}
