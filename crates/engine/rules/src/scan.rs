//! The fields of a file that rules name.

use std::ops::Range;

use bumpwright_edit::{
    self as edit, ByRule, Choice, FileKind, ImageField, LocalSkip, Part, Reason, Scan, Setter, Value,
};

use crate::conventions::{of_images, of_values};
use crate::path::json;
use crate::pattern::Stopped;
use crate::{Fields, Rule, Rules, Work};

/// The most fields of a file.
const MOST: usize = 10_000;

/// What rules have found in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The fields, and why others are left.
    pub scan: Scan,
    /// The numbers of the rules that are for this file.
    pub rules: Vec<usize>,
}

impl Rules {
    /// Whether any rule is for the file at a path (with `/`).
    #[must_use]
    pub fn are_for(&self, path: &str) -> bool {
        self.of(path).next().is_some()
    }

    /// The numbers of the rules that are for the file at a path.
    pub fn numbers(&self, path: &str) -> impl Iterator<Item = usize> {
        self.of(path).map(|(number, _)| number)
    }

    fn of(&self, path: &str) -> impl Iterator<Item = (usize, &Rule)> {
        let path = format!("{}{path}", self.base);
        let parts = path.bytes().filter(|byte| *byte == b'/').count() as u64 + 1;
        let rules = self.rules.iter().enumerate();
        rules.filter(move |(_, rule)| self.work.take(rule.globs * parts, rule, &path) && rule.is_for(&path))
    }

    /// What is found in a file that cannot be read.
    #[must_use]
    pub fn refused(&self, path: &str, skip: LocalSkip) -> Found {
        Found {
            scan: skip.into(),
            rules: self.numbers(path).collect(),
        }
    }

    /// Finds the fields of a file that rules name. [`Rules::check`] says whether these are all.
    #[must_use]
    pub fn scan(&self, path: &str, kind: FileKind, bytes: &[u8]) -> Found {
        let rules: Vec<(usize, &Rule)> = self.of(path).collect();
        let mut result = Found {
            rules: rules.iter().map(|(number, _)| *number).collect(),
            ..Found::default()
        };
        if rules.is_empty() {
            return result;
        }
        let (patterns, others): (Vec<_>, Vec<_>) = rules
            .into_iter()
            .partition(|(_, rule)| matches!(rule.fields, Fields::Pattern(_)));
        if !others.is_empty() {
            match edit::choose(kind, bytes, &|documents| chosen(&others, documents, (&self.work, path))) {
                Ok(scan) => result.scan = scan,
                Err(skip) => result.scan.skips.push(skip),
            }
        }
        if !patterns.is_empty() {
            matched(&patterns, bytes, (&self.work, path), &mut result.scan);
        }
        if result.scan.sites.len() > MOST {
            let message = format!("the rules name more than {MOST} fields of this file; name fewer");
            result.scan = LocalSkip {
                line: 1,
                column: 1,
                reason: Reason::TooLarge,
                message,
            }
            .into();
        }
        result.scan.sites.sort_by_key(|site| site.span.start);
        result.scan.is_signed = !result.scan.sites.is_empty() && edit::is_signed(bytes);
        result
    }
}

impl Fields {
    /// About how many steps they take in a document of a size; patterns are counted while they search.
    fn steps(&self, size: u64) -> u64 {
        match self {
            Self::Path(path) => path.steps(size),
            Self::Images | Self::Values(_) => size,
            Self::Pattern(_) => 0,
        }
    }
}

impl Rule {
    fn is_for(&self, path: &str) -> bool {
        let parts: Vec<&str> = path.split('/').collect();
        self.files.ignored(&parts, false)
    }
}

/// How many values are in one, with itself.
fn size(value: &Value) -> u64 {
    1 + match value {
        Value::List(items) => items.iter().map(size).sum::<u64>(),
        Value::Map(entries) => entries.iter().map(|(_, value)| size(value)).sum(),
        Value::Scalar { .. } | Value::Other => 0,
    }
}

fn chosen(rules: &[(usize, &Rule)], documents: &[Value], (work, path): (&Work, &str)) -> Choice {
    let mut choice = Choice::new();
    for document in documents {
        let (json, size) = (json(document), size(document));
        for (number, rule) in rules {
            if !work.take(rule.fields.steps(size), rule, path) {
                return Choice::new();
            }
            let mut fields: Vec<ImageField> = Vec::new();
            match &rule.fields {
                Fields::Path(path) => {
                    for scalar in path.numbers(document, &json) {
                        add(&mut choice, scalar, setter(rule, rule.part), (*number, None));
                    }
                }
                Fields::Images => of_images(document, &mut fields),
                Fields::Values(keys) => of_values(document, keys, &mut fields),
                Fields::Pattern(_) => {}
            }
            for ImageField {
                number: scalar,
                part,
                image,
            } in fields
            {
                add(&mut choice, scalar, setter(rule, part), (*number, Some(image)));
            }
        }
    }
    choice
}

/// A field may be named by several rules with a condition; of others the first one counts.
fn add(choice: &mut Choice, scalar: usize, setter: Setter, (number, image): (usize, Option<String>)) {
    // One more than may be: it is reported then.
    if choice.len() > MOST {
        return;
    }
    let named = choice.entry(scalar).or_default();
    if image.is_some() || named.iter().all(|(_, rule)| rule.image.is_some()) {
        let in_query = false;
        named.push((
            setter,
            ByRule {
                number,
                image,
                in_query,
            },
        ));
    }
}

fn setter(rule: &Rule, part: Part) -> Setter {
    Setter {
        policy: rule.policy.clone(),
        part,
    }
}

fn matched(rules: &[(usize, &Rule)], bytes: &[u8], (work, path): (&Work, &str), scan: &mut Scan) {
    let text = match edit::text(bytes) {
        Ok(text) => text,
        Err(skip) => {
            scan.skips.push(skip);
            return;
        }
    };
    let mut fields: Vec<(Range<usize>, Setter, ByRule)> = Vec::new();
    for (number, rule) in rules {
        let Fields::Pattern(pattern) = &rule.fields else {
            continue;
        };
        let (found, steps) = pattern.find(text, work.left());
        if found == Err(Stopped::NothingLeft) {
            work.end(rule, path);
        }
        if !work.take(steps, rule, path) {
            return;
        }
        match found {
            Ok(found) => fields.extend(found.into_iter().map(|span| {
                let rule_of = ByRule {
                    number: *number,
                    image: None,
                    in_query: edit::is_in_query(text, span.start),
                };
                (span, setter(rule, rule.part), rule_of)
            })),
            // Nothing is left: it was reported above.
            Err(Stopped::NothingLeft) => return,
            Err(Stopped::TooMuch(why)) => scan.skips.push(LocalSkip {
                line: 1,
                column: 1,
                reason: Reason::Unparsable,
                message: format!(
                    "the pattern of the rule at {}:{}:{} for {} finds no end: {why}",
                    rule.source, rule.line, rule.column, rule.policy
                ),
            }),
        }
    }
    scan.sites.extend(edit::spans(text, fields));
}
