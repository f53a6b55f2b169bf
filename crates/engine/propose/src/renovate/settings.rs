//! The settings of a repository, and what they say of one use.

use std::rc::Rc;

use super::matching::{Pattern, PatternError, is_any};
use super::plain::plain;
use super::terms::Terms;
use crate::error::LeftAlone;
use crate::listed::Listing;
use bumpwright_adopt::SourceFile;
use bumpwright_api::tree::{self, Node};
use bumpwright_api::{Place, RepositoryKind};
use bumpwright_text::Cuts;

/// Where Renovate looks for its settings, in this order; those of `package.json` are in a field of it.
pub const SETTINGS_FILES: [&str; 9] = [
    "renovate.json",
    "renovate.json5",
    ".github/renovate.json",
    ".github/renovate.json5",
    ".gitlab/renovate.json",
    ".gitlab/renovate.json5",
    ".renovaterc",
    ".renovaterc.json",
    ".renovaterc.json5",
];

/// Presets without a meaning for images.
const HARMLESS: [&str; 6] = [
    "config:base",
    "config:recommended",
    "config:best-practices",
    ":semantic",
    ":dependencyDashboard",
    ":timezone",
];

/// Fields of a rule that say which dependencies it is for.
const MATCHERS: [&str; 11] = [
    "matchManagers",
    "matchDatasources",
    "matchPackageNames",
    "matchDepNames",
    "matchPackagePatterns",
    "matchDepPatterns",
    "matchPackagePrefixes",
    "excludePackageNames",
    "matchFileNames",
    "matchPaths",
    "matchUpdateTypes",
];

/// Fields that are about how a request looks and when it is made, with what there is here.
const REQUESTS: [(&str, &str); 6] = [
    (
        "automerge",
        "bumpwright commits to the branch, or merges by bumpwright.dev/pull-request-automerge",
    ),
    (
        "schedule",
        "the interval of the automation, or bumpwright.dev/window on a policy",
    ),
    ("groupName", "all images of an automation are one commit"),
    ("labels", "bumpwright.dev/pull-request-labels on the automation"),
    ("reviewers", "bumpwright.dev/pull-request-reviewers on the automation"),
    ("assignees", "bumpwright.dev/pull-request-assignees on the automation"),
];

/// Renovate's settings in a repository.
#[derive(Clone, Debug, Default)]
pub struct Renovate {
    rules: Vec<PackageRule>,
    ignored: Vec<Pattern>,
    terms: Terms,
    /// What has to be reported: where, what, and whether the proposal does not express it.
    pub told: Vec<(Place, String, bool)>,
}

#[derive(Clone, Debug, Default)]
struct PackageRule {
    names: Vec<Pattern>,
    excluded: Vec<Pattern>,
    paths: Vec<Pattern>,
    datasources: Vec<String>,
    managers: Vec<String>,
    update_types: Vec<String>,
    is_off: Option<bool>,
    range: Option<String>,
    age: Option<u64>,
    pins: Option<bool>,
}

impl Renovate {
    /// Reads the settings of a file.
    ///
    /// # Errors
    /// It is not JSON5: the place, and why.
    pub fn read(source: &SourceFile) -> Result<Self, (Place, String)> {
        let start = Place { line: 1, column: 1 };
        let text = std::str::from_utf8(&source.bytes).map_err(|_| (start, "it is not UTF-8 text".to_owned()))?;
        let (documents, error) = tree::parse(&plain(text));
        if let Some(error) = error {
            return Err((error.place, format!("the file does not parse: {}", error.message)));
        }
        let mut own = Self::default();
        if let Some(document) = documents.first() {
            own.take(document);
        }
        Ok(own)
    }

    fn take(&mut self, document: &Node) {
        for preset in texts(document, "extends") {
            self.preset(document, &preset);
        }
        self.ignored = texts(document, "ignorePaths")
            .iter()
            .filter_map(|text| Pattern::new(text).ok())
            .collect();
        self.terms.pins |= truth(document, "pinDigests") == Some(true);
        self.terms.age = age(document).or(self.terms.age);
        self.tell_requests(document);
        for key in ["customManagers", "regexManagers"] {
            let Some(node) = document.field(key) else { continue };
            let text = format!(
                "{key}: what their expressions find is not looked for; comments `# renovate:` above a field are"
            );
            self.told.push((node.place, text, true));
        }
        let rules = document.field("packageRules").map_or(&[][..], Node::items);
        for rule in rules {
            self.rule(rule);
        }
    }

    fn preset(&mut self, document: &Node, preset: &str) {
        let place = document.field("extends").map_or(document.place, |node| node.place);
        match preset {
            "docker:pinDigests" | "config:best-practices" => self.terms.pins = true,
            "docker:disable" => self.rules.push(PackageRule {
                datasources: vec!["docker".to_owned()],
                is_off: Some(true),
                ..PackageRule::default()
            }),
            preset if HARMLESS.iter().any(|known| preset.starts_with(known)) => {}
            preset if preset.contains('>') => {
                let text = format!(
                    "the preset {preset} is elsewhere and was not read: put what it says of images into packageRules of this file"
                );
                self.told.push((place, text, true));
            }
            _ => {}
        }
    }

    fn rule(&mut self, node: &Rc<Node>) {
        let unknown = node
            .entries()
            .iter()
            .map(|entry| entry.name())
            .find(|name| (name.starts_with("match") || name.starts_with("exclude")) && !MATCHERS.contains(name));
        if let Some(name) = unknown {
            let text = format!(
                "a rule with {name} is not applied, since that is not known here: write what it says into the policy"
            );
            return self.told.push((node.place, text, true));
        }
        match PackageRule::read(node) {
            Ok(rule) => self.rules.push(rule),
            Err(why) => self
                .told
                .push((node.place, format!("a rule is not applied: {why}"), true)),
        }
        self.tell_requests(node);
    }

    /// What is about requests is reported once for each field.
    fn tell_requests(&mut self, node: &Node) {
        for (key, instead) in REQUESTS {
            let Some(field) = node.field(key) else { continue };
            let text = format!("{key} is about Renovate's requests: here {instead}");
            if !self.told.iter().any(|(_, told, _)| *told == text) {
                self.told.push((field.place, text, false));
            }
        }
    }

    /// What a policy has to keep to for a use in a file.
    ///
    /// # Errors
    /// Renovate leaves it alone.
    pub(crate) fn terms(&self, listing: &Listing, path: &str) -> Result<Terms, LeftAlone> {
        if !self.ignored.is_empty() && is_any(&self.ignored, path) {
            return Err(LeftAlone::File);
        }
        let mut terms = self.terms.clone();
        let mut is_off = false;
        for rule in self.rules.iter().filter(|rule| rule.is_for(listing, path)) {
            match (rule.is_off, rule.update_types.is_empty()) {
                (Some(off), true) => is_off = off,
                (Some(off), false) => {
                    let has_minor = rule.update_types.iter().any(|kind| kind == "minor");
                    terms.is_patch_only = if has_minor { off } else { terms.is_patch_only };
                }
                (None, _) => {}
            }
            if rule.update_types.is_empty() {
                terms.range = rule.range.clone().or(terms.range);
                terms.age = rule.age.or(terms.age);
                terms.pins = rule.pins.unwrap_or(terms.pins);
            }
        }
        if is_off { Err(LeftAlone::Rule) } else { Ok(terms) }
    }
}

/// Why a rule is not applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum RuleError {
    /// A pattern is not valid.
    #[error("{key}: {problem}")]
    Pattern {
        key: &'static str,
        #[source]
        problem: PatternError,
    },
    /// `allowedVersions` are not a range.
    #[error("allowedVersions {0:?} is a regular expression: write it as filterTags.pattern of the policy")]
    Range(String),
}

impl PackageRule {
    fn read(node: &Node) -> Result<Self, RuleError> {
        let patterns = |key: &'static str, make: fn(&str) -> Result<Pattern, PatternError>| {
            let patterns = texts(node, key)
                .iter()
                .map(|text| make(text))
                .collect::<Result<Vec<_>, _>>();
            patterns.map_err(|problem| RuleError::Pattern { key, problem })
        };
        let mut names = patterns("matchPackageNames", Pattern::new)?;
        names.extend(patterns("matchDepNames", Pattern::new)?);
        names.extend(patterns("matchPackagePatterns", Pattern::of_regexp)?);
        names.extend(patterns("matchDepPatterns", Pattern::of_regexp)?);
        names.extend(patterns("matchPackagePrefixes", Pattern::of_prefix)?);
        let mut paths = patterns("matchFileNames", Pattern::new)?;
        paths.extend(patterns("matchPaths", Pattern::new)?);
        let range = node.field_text("allowedVersions").map(range).transpose()?;
        Ok(Self {
            names,
            excluded: patterns("excludePackageNames", Pattern::new)?,
            paths,
            datasources: texts(node, "matchDatasources"),
            managers: texts(node, "matchManagers"),
            update_types: texts(node, "matchUpdateTypes"),
            is_off: truth(node, "enabled").map(|is_on| !is_on),
            range,
            age: age(node),
            pins: truth(node, "pinDigests"),
        })
    }

    fn is_for(&self, listing: &Listing, path: &str) -> bool {
        let name = listing.image.as_str();
        let datasources: &[&str] = match listing.kind {
            RepositoryKind::Oci => &["docker"],
            RepositoryKind::Helm => &["helm"],
            RepositoryKind::GitTags => &[
                "git-tags",
                "github-tags",
                "github-releases",
                "gitlab-tags",
                "gitlab-releases",
            ],
        };
        let is_one =
            |wanted: &[String], own: &[&str]| wanted.is_empty() || wanted.iter().any(|one| own.contains(&one.as_str()));
        let is_named = self.names.is_empty() || is_any(&self.names, name);
        let is_excluded = !self.excluded.is_empty() && is_any(&self.excluded, name);
        let is_there = self.paths.is_empty() || is_any(&self.paths, path);
        is_named
            && !is_excluded
            && is_there
            && is_one(&self.datasources, datasources)
            && is_one(&self.managers, managers(path))
    }
}

/// The managers that may have found a use in a file of this name.
fn managers(path: &str) -> &'static [&'static str] {
    match path.behind_last('/') {
        "kustomization.yaml" | "kustomization.yml" => &["kustomize", "custom.regex", "regex"],
        "values.yaml" | "values.yml" => &["helm-values", "custom.regex", "regex"],
        name if name.starts_with("docker-compose") || name.starts_with("compose") => {
            &["docker-compose", "custom.regex", "regex"]
        }
        _ => &["kubernetes", "flux", "argocd", "helm-values", "custom.regex", "regex"],
    }
}

/// `allowedVersions` as a range.
fn range(text: &str) -> Result<String, RuleError> {
    if text.trim_start_matches('!').starts_with('/') {
        Err(RuleError::Range(text.to_owned()))
    } else {
        Ok(text.replace("==", "="))
    }
}

/// `minimumReleaseAge` (`stabilityDays` of older versions) in hours.
fn age(node: &Node) -> Option<u64> {
    if let Some(days) = node.field_text("stabilityDays") {
        return days.parse::<u64>().ok()?.checked_mul(24);
    }
    let text = node.field_text("minimumReleaseAge")?;
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(split);
    let hours = match unit.trim() {
        "hour" | "hours" | "h" => 1,
        "day" | "days" | "d" => 24,
        "week" | "weeks" | "w" => 7 * 24,
        "month" | "months" => 30 * 24,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(hours)
}

fn texts(node: &Node, key: &str) -> Vec<String> {
    let Some(field) = node.field(key) else {
        return Vec::new();
    };
    let text = field.text().into_iter();
    text.chain(field.items().iter().filter_map(|item| item.text()))
        .map(str::to_owned)
        .collect()
}

fn truth(node: &Node, key: &str) -> Option<bool> {
    match node.field_text(key)? {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}
