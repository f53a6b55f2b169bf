//! Reads rule files.

use std::sync::Arc;

use bumpwright_artifact::ignore::IgnoreRules;
use bumpwright_edit::{ImageKeys, Part};
use bumpwright_nearest::meant;
use bumpwright_policy::PolicyName;
use bumpwright_yaml::{Entry, FileId, Mapping, Node, Place, ReadOptions, read_first};
use sha2::{Digest, Sha256};

use crate::path::Path;
use crate::pattern::Pattern;
use crate::{Accepted, FILE, Fields, LONGEST, MOST, Rule, Rules, RulesError, Work};

/// The fields of a rule.
const KEYS: [&str; 7] = ["files", "images", "part", "path", "pattern", "policy", "values"];

/// A place, and what is wrong there.
type Fault = (Place, String);

impl Rules {
    /// Reads a rule file; `source` names it in messages.
    ///
    /// # Errors
    /// It is not YAML, too long, or a rule is not valid: all of it is refused then.
    pub fn read(source: &str, bytes: &[u8]) -> Result<Self, RulesError> {
        let failed = |(place, message): Fault| RulesError {
            source_name: source.to_owned(),
            line: place.line.max(1) as usize,
            column: place.column.max(1) as usize,
            message,
        };
        if bytes.len() > LONGEST {
            let message = format!(
                "the file has {} bytes, more than the {LONGEST} that are read",
                bytes.len()
            );
            return Err(failed((Place::NONE, message)));
        }
        let options = ReadOptions::sigs_strict(FileId::NONE);
        let node = read_first(bytes, &options).map_err(|error| failed((error.place, error.problem)))?;
        let (rules, accepted) = match node.filter(|node| !node.is_null()) {
            Some(node) => {
                let rules = rules(&node, &source.into()).map_err(failed)?;
                (rules, accepted(&node).map_err(failed)?)
            }
            None => (Vec::new(), Vec::new()),
        };
        Ok(Self {
            rules: rules.into(),
            accepted: accepted.into(),
            base: "".into(),
            digest: Sha256::digest(bytes).into(),
            work: Work::default(),
        })
    }
}

/// A ConfigMap has no rules.
#[derive(Debug, thiserror::Error)]
pub enum ConfigMapError {
    /// It has no such entry.
    #[error("ConfigMap {0} has no entry {FILE} with rules")]
    NoEntry(String),
    /// They are not valid.
    #[error(transparent)]
    Invalid(#[from] RulesError),
}

/// The rules in an entry of a ConfigMap, `namespace/name`.
///
/// # Errors
/// The entry does not exist, or as [`Rules::read`].
pub fn of_config_map(name: &str, entry: Option<&String>) -> Result<Rules, ConfigMapError> {
    let text = entry.ok_or_else(|| ConfigMapError::NoEntry(name.to_owned()))?;
    Ok(Rules::read(&format!("ConfigMap {name}"), text.as_bytes())?)
}

fn rules(node: &Node, source: &Arc<str>) -> Result<Vec<Rule>, Fault> {
    let fault = |message: &str| Err((node.place, message.to_owned()));
    let Some(mapping) = node.as_mapping() else {
        return fault("this is not a rule file: it has a list `rules`, or `accept`");
    };
    for entry in &mapping.entries {
        known(entry, &["rules", "accept"])?;
    }
    let Some(list) = mapping.get("rules").filter(|list| !list.is_null()) else {
        return Ok(Vec::new());
    };
    match list.as_items() {
        Some(items) if items.len() <= MOST => items.iter().map(|item| rule(item, source)).collect(),
        Some(_) => Err((
            list.place,
            format!("there are more than {MOST} rules; one rule may be for many files"),
        )),
        None => Err((list.place, "rules: expected a list".to_owned())),
    }
}

fn accepted(node: &Node) -> Result<Vec<Accepted>, Fault> {
    let list = node.get("accept").filter(|list| !list.is_null());
    let Some(list) = list else { return Ok(Vec::new()) };
    match list.as_items() {
        Some(items) if items.len() <= MOST => items.iter().map(acceptance).collect(),
        Some(_) => Err((
            list.place,
            format!(
                "there are more than {MOST} entries; one may be for many files, and a baseline for what is there today"
            ),
        )),
        None => Err((list.place, "accept: expected a list".to_owned())),
    }
}

fn acceptance(node: &Node) -> Result<Accepted, Fault> {
    let Some(mapping) = node.as_mapping() else {
        return Err((
            node.place,
            "an entry of accept is a mapping with rule, reason, and files or object".to_owned(),
        ));
    };
    for entry in &mapping.entries {
        known(entry, &["files", "object", "reason", "rule"])?;
    }
    let required = |key: &str| {
        let missing = || (node.place, format!("the entry has no {key}"));
        mapping.get(key).ok_or_else(missing)
    };
    let rule = required("rule")?;
    let rules = rule.as_items().unwrap_or(std::slice::from_ref(rule)).iter();
    let rules = rules.map(|rule| {
        let id = string(rule, "rule")?.to_owned();
        Ok((id, rule.place.line.max(1) as usize, rule.place.column.max(1) as usize))
    });
    let files_of = mapping.get("files").map(files).transpose()?;
    let object = mapping
        .get("object")
        .map(|object| string(object, "object"))
        .transpose()?;
    if files_of.is_none() && object.is_none() {
        let message = "the entry needs files or object: what is accepted everywhere would never be found again";
        return Err((node.place, message.to_owned()));
    }
    Ok(Accepted {
        line: node.place.line.max(1) as usize,
        column: node.place.column.max(1) as usize,
        rules: rules.collect::<Result<_, Fault>>()?,
        object: object.map(str::to_owned),
        reason: string(required("reason")?, "reason")?.to_owned(),
        files: files_of,
    })
}

fn known(entry: &Entry, keys: &[&str]) -> Result<(), Fault> {
    let key = entry.key.text.as_str();
    if keys.contains(&key) {
        return Ok(());
    }
    let hint = meant(key, keys.iter().copied());
    Err((entry.place, format!("unknown field {key:?}{hint}")))
}

fn rule(node: &Node, source: &Arc<str>) -> Result<Rule, Fault> {
    let Some(mapping) = node.as_mapping() else {
        return Err((
            node.place,
            "a rule is a mapping with files, policy and one of path, pattern, images and values".to_owned(),
        ));
    };
    for entry in &mapping.entries {
        known(entry, &KEYS)?;
    }
    let policy = required(node, mapping, "policy")?;
    let policy_text = string(policy, "policy")?;
    let Some(name) = PolicyName::of_marker(policy_text) else {
        return Err((policy.place, format!("policy: {policy_text:?} is not NAMESPACE:NAME")));
    };
    let fields = fields(node, mapping)?;
    let part = match mapping.get("part") {
        None => Part::Reference,
        Some(part) if matches!(fields, Fields::Images | Fields::Values(_)) => {
            return Err((
                part.place,
                "part: images and values say it themselves; leave it out".to_owned(),
            ));
        }
        Some(node) => part(node)?,
    };
    let named = required(node, mapping, "files")?;
    Ok(Rule {
        source: Arc::clone(source),
        line: node.place.line.max(1) as usize,
        column: node.place.column.max(1) as usize,
        policy: name,
        part,
        files: files(named)?,
        globs: named.as_items().map_or(1, <[Node]>::len) as u64,
        fields,
    })
}

fn required<'n>(rule: &Node, mapping: &'n Mapping, key: &str) -> Result<&'n Node, Fault> {
    let missing = || (rule.place, format!("the rule has no {key}"));
    mapping.get(key).ok_or_else(missing)
}

fn string<'n>(node: &'n Node, key: &str) -> Result<&'n str, Fault> {
    node.as_str()
        .filter(|text| !text.is_empty())
        .ok_or_else(|| (node.place, format!("{key}: expected a string")))
}

fn part(node: &Node) -> Result<Part, Fault> {
    node.as_str()
        .and_then(Part::of_word)
        .ok_or_else(|| (node.place, "part is image, name, tag, digest or tag@digest".to_owned()))
}

/// Patterns of `.gitignore`, as one text.
fn files(node: &Node) -> Result<IgnoreRules, Fault> {
    let patterns: Vec<&str> = match node.as_items() {
        Some(items) => items
            .iter()
            .map(|item| string(item, "files"))
            .collect::<Result<_, _>>()?,
        None => vec![string(node, "files")?],
    };
    if patterns.is_empty() {
        return Err((node.place, "files names no file".to_owned()));
    }
    Ok(IgnoreRules::of_bucket(None, Some(&patterns.join("\n"))))
}

fn fields(rule: &Node, mapping: &Mapping) -> Result<Fields, Fault> {
    let mut given = ["path", "pattern", "images", "values"]
        .into_iter()
        .filter_map(|key| Some((key, mapping.get(key)?)));
    let (Some((key, node)), None) = (given.next(), given.next()) else {
        let message = "the rule needs one of path, pattern, images and values, which say where the fields are";
        return Err((rule.place, message.to_owned()));
    };
    let fault = |message: String| (node.place, message);
    Ok(match key {
        "path" => Fields::Path(Path::read(string(node, key)?).map_err(|error| fault(error.to_string()))?),
        "pattern" => Fields::Pattern(Pattern::read(string(node, key)?).map_err(|error| fault(error.to_string()))?),
        _ if node.as_str() == Some("auto") && key == "images" => Fields::Images,
        _ if node.as_str() == Some("auto") => Fields::Values(ImageKeys::default()),
        "values" if node.as_mapping().is_some() => Fields::Values(keys(node)?),
        "images" => return Err(fault("images is `auto`".to_owned())),
        _ => return Err(fault("values is `auto`, or {repository: KEY, tag: KEY}".to_owned())),
    })
}

fn keys(node: &Node) -> Result<ImageKeys, Fault> {
    let mut keys = ImageKeys::default();
    for entry in node.entries() {
        known(entry, &["registry", "repository", "tag", "digest"])?;
        let place = match entry.key.text.as_str() {
            "registry" => &mut keys.registry,
            "repository" => &mut keys.repository,
            "tag" => &mut keys.tag,
            _ => &mut keys.digest,
        };
        string(&entry.value, "the name of a key")?.clone_into(place);
    }
    Ok(keys)
}
