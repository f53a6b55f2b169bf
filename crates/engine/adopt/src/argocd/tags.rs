//! Strategies, allowed and ignored tags as policies (argocd-image-updater 1.3, update strategies and images).

use std::collections::BTreeMap;

use super::settings::{Image, Settings};
use crate::adopted::Rule;
use crate::draft::Draft;
use crate::glob;
use crate::image::Named;
use crate::objects::Wanted;
use crate::remarks::{At, Told, Weight};
use bumpwright_policy::ANNOTATION_PREFIX;
use bumpwright_re2::{Budget, Regexp};
use bumpwright_semver::Constraint;
use bumpwright_text::between;

/// Steps of a search in a tag; tags have 128 characters at most.
const SEARCH_STEPS: u64 = 10_000_000;

const TWO_NUMBERS: &str = "semver: only tags of three numbers count here, as in Flux; argocd-image-updater took 1.4 for 1.4.0, too: for an \
    image with such tags change the policy, see docs/guides/policies.md";

/// A reason why there can be no policy.
pub(super) struct Refusal {
    pub(super) at: At,
    pub(super) why: String,
}

type Refused<T> = Result<T, Refusal>;

fn refuse<T>(at: At, why: impl Into<String>) -> Refused<T> {
    let why = why.into();
    Err(Refusal { at, why })
}

/// The policy for an image in this namespace.
pub(super) fn wanted(draft: &mut Draft<'_>, image: &Image, namespace: &str, subject: &str) -> Refused<Wanted> {
    let named = Named::split(&image.name.value);
    let settings = &image.settings;
    let (rule, filter, digest) = rule(draft, image, &named, subject)?;
    let mut wanted = Wanted {
        image: named.name,
        exclusions: Vec::new(),
        secret: None,
        filter,
        rule,
        digest,
        annotations: BTreeMap::new(),
        labels: BTreeMap::new(),
    };
    if let Some(platforms) = &settings.platforms {
        needed(draft, platforms, digest, subject)?;
    }
    ignore(draft, settings, &mut wanted, subject);
    if let Some(secret) = &settings.secret {
        wanted.secret = Some(login(draft, secret, namespace, subject)?);
    }
    if let Some(key) = &image.verify {
        verify(draft, key, &mut wanted, subject)?;
    }
    Ok(wanted)
}

/// Platforms that an image has to be built for. argocd-image-updater asks for them where it reads manifests: not
/// to choose by names.
fn needed(draft: &mut Draft<'_>, told: &Told<Vec<String>>, digest: bool, subject: &str) -> Refused<()> {
    let platforms = told.value.join(", ");
    if digest {
        return refuse(
            told.at,
            format!(
                "{}: with the strategy digest only an image that is built for {platforms} is taken, which no policy asks; if the tag always \
                 is, remove the annotation, and run again",
                told.name
            ),
        );
    }
    let text = format!(
        "{}: {platforms} had no effect, since argocd-image-updater asks for platforms only with the strategies newest-build and digest",
        told.name
    );
    draft.tell(Weight::Note, told.at, subject, text);
    Ok(())
}

/// How the tag is chosen, which tags count, and whether the digest is written.
fn rule(draft: &mut Draft<'_>, image: &Image, named: &Named, subject: &str) -> Refused<(Rule, Option<String>, bool)> {
    let settings = &image.settings;
    let strategy = settings.strategy.as_ref().map(|told| told.value.to_ascii_lowercase());
    match strategy.as_deref() {
        Some("newest-build" | "latest") => refuse(
            settings.strategy.as_ref().map_or(image.name.at, |told| told.at),
            format!(
                "policies choose by the names of tags, not by when an image was built: have the time in the tag, and choose by it \
                 (docs/guides/policies.md, builds){}",
                between(
                    "; its allow-tags have one, for filterTags.extract: $",
                    number(settings),
                    " with policy.numerical"
                )
            ),
        ),
        Some("alphabetical" | "name") => {
            if let Some(constraint) = &named.constraint {
                let text = format!("the constraint {constraint:?} has no effect with this strategy, and is dropped");
                draft.tell(Weight::Note, image.name.at, subject, text);
            }
            Ok((Rule::Alphabetical, allowed(settings)?, false))
        }
        Some("digest") => Ok((Rule::Alphabetical, Some(one_tag(image, named)?), true)),
        other => {
            if let (Some(told), Some(name)) = (&settings.strategy, other.filter(|name| *name != "semver")) {
                let text = format!(
                    "{}: {name:?} is no strategy; argocd-image-updater takes semver then",
                    told.name
                );
                draft.tell(Weight::Note, told.at, subject, text);
            }
            let range = named.constraint.clone().unwrap_or_else(|| "*".to_owned());
            if Constraint::parse(&range).is_err() {
                return refuse(
                    image.name.at,
                    format!(
                        "{range:?} is no range of versions, so argocd-image-updater updates nothing; write a range such as 1.x, or \
                         for a tag that moves the strategy digest"
                    ),
                );
            }
            draft.tell_once(image.name.at, "", TWO_NUMBERS);
            Ok((Rule::Semver(range), allowed(settings)?, false))
        }
    }
}

/// The group of the allowed tags that is a number, as of the time of a build: `(?P<ts>[0-9]+)`.
fn number(settings: &Settings) -> Option<&str> {
    let (_, group) = settings.allow.as_ref()?.value.split_once("(?P<")?;
    let (name, pattern) = group.split_once('>')?;
    let is_number = ["[0-9]", r"\d"].iter().any(|digit| pattern.starts_with(digit));
    is_number.then_some(name)
}

/// The pattern of tags that count.
fn allowed(settings: &Settings) -> Refused<Option<String>> {
    let Some(told) = &settings.allow else { return Ok(None) };
    if told.value.eq_ignore_ascii_case("any") {
        return Ok(None);
    }
    let pattern = match told.value.split_once(':') {
        Some((function, pattern)) if function.eq_ignore_ascii_case("regexp") => pattern,
        _ => {
            return refuse(
                told.at,
                format!(
                    "{}: {:?} is neither regexp:PATTERN nor any, so argocd-image-updater finds no tag",
                    told.name, told.value
                ),
            );
        }
    };
    match Regexp::new(pattern) {
        Ok(_) => Ok(Some(pattern.to_owned())),
        Err(error) => refuse(
            told.at,
            format!(
                "{}: {error}, so argocd-image-updater finds no tag; correct the pattern",
                told.name
            ),
        ),
    }
}

/// The pattern of the one tag whose digest is followed.
fn one_tag(image: &Image, named: &Named) -> Refused<String> {
    let Some(tag) = &named.constraint else {
        return refuse(
            image.name.at,
            "the strategy digest follows one tag, and the image names none: write it behind the image, as in name:latest",
        );
    };
    if let (Some(pattern), Some(told)) = (allowed(&image.settings)?, &image.settings.allow) {
        let mut budget = Budget::new(SEARCH_STEPS, 1 << 20);
        let fits = Regexp::new(&pattern).ok().is_some_and(|regexp| {
            let is_match = regexp.is_match(tag.as_bytes(), &mut budget);
            is_match.is_ok_and(|is_match| is_match)
        });
        if !fits {
            let why = format!(
                "{}: the tag {tag:?} does not fit, so argocd-image-updater finds none",
                told.name
            );
            return refuse(told.at, why);
        }
    }
    Ok(glob::exactly(tag))
}

fn ignore(draft: &mut Draft<'_>, settings: &Settings, wanted: &mut Wanted, subject: &str) {
    let Some(told) = &settings.ignore else { return };
    for glob in &told.value {
        if glob == "*" {
            let reason = format!("{} was *", told.name);
            wanted.annotations.insert(format!("{ANNOTATION_PREFIX}hold"), reason);
            continue;
        }
        match glob::pattern(glob) {
            Some(pattern) => wanted.exclusions.push(pattern),
            None => {
                let text = format!(
                    "{}: {glob:?} is no glob, so it ignores nothing, and is dropped",
                    told.name
                );
                draft.tell(Weight::Note, told.at, subject, text);
            }
        }
    }
    wanted.exclusions.sort();
    wanted.exclusions.dedup();
}

/// The Secret with the login to the registry.
fn login(draft: &mut Draft<'_>, told: &Told<String>, namespace: &str, subject: &str) -> Refused<String> {
    let name = &told.name;
    let instead =
        "make a Secret of the kind kubernetes.io/dockerconfigjson, name it here as pullsecret:NAME, and run again";
    let (kind, reference) = told.value.split_once(':').unwrap_or(("", told.value.as_str()));
    if kind != "pullsecret" {
        let why = match kind {
            "secret" => format!("{name}: a Secret with user:password in an entry is not read; {instead}"),
            "env" => format!("{name}: logins in variables of the environment are not read; {instead}"),
            "ext" => format!("{name}: no scripts are run for logins; {instead}"),
            _ => format!("{name}: {:?} is no login that is known; {instead}", told.value),
        };
        return refuse(told.at, why);
    }
    let (from, secret) = reference.split_once('/').unwrap_or((namespace, reference));
    if from != namespace {
        let text = format!(
            "{name}: the Secret is in the namespace {from}, and an ImageRepository reads those of its own: copy it to {namespace}"
        );
        draft.tell(Weight::Note, told.at, subject, text);
    }
    Ok(secret.to_owned())
}

/// Signatures by a key.
fn verify(draft: &mut Draft<'_>, told: &Told<(String, String)>, wanted: &mut Wanted, subject: &str) -> Refused<()> {
    let (secret, key) = &told.value;
    if !key.ends_with(".pub") {
        return refuse(
            told.at,
            format!(
                "{}: the entry {key} of the Secret {secret} is not read; have the key in one such as cosign.pub",
                told.name
            ),
        );
    }
    let mut annotate = |key: &str, value: &str| {
        let key = format!("{ANNOTATION_PREFIX}{key}");
        wanted.annotations.insert(key, value.to_owned());
    };
    annotate("verify-provider", "cosign");
    annotate("verify-secret", secret);
    let text = format!(
        "{}: every entry of the Secret {secret} whose name ends in .pub counts as a key",
        told.name
    );
    draft.tell(Weight::Note, told.at, subject, text);
    Ok(())
}
