//! Plans the changes of a file from the sites of a scan and the images of policies.

use std::collections::BTreeMap;

use super::pairs;
use super::planned::{Edit, Outcome, Plan};
use crate::model::{Change, Images, Part, Reason, Skip, Verdict, tag_and_digest};
use crate::scanned::Scan;
use crate::site::{BlockShape, Site, Spelling};
use crate::spelling::content::mismatch;
use crate::spelling::{spell, versions};
use bumpwright_policy::{LatestRef, PolicyName, Reference, Validation};

impl Plan {
    /// The same plan with only the changes that are `kept`, by their index.
    #[must_use]
    pub fn only(&self, kept: impl Fn(usize) -> bool) -> Self {
        let mut part = Self::default();
        let (mut start, mut edits) = (0, self.edits.iter());
        for (n, end) in self.ends.iter().enumerate() {
            let own = edits.by_ref().take(end - start).cloned();
            if kept(n) {
                part.edits.extend(own);
                // The changes may have been taken out.
                part.changes.extend(self.changes.get(n).cloned());
                part.ends.push(part.edits.len());
            } else {
                own.for_each(drop);
            }
            start = *end;
        }
        part
    }
}

/// Plans the edits of the file at `path`. A field that already has its value keeps its spelling, as in Flux.
pub fn plan(path: &str, scan: &Scan, images: &dyn Images) -> Plan {
    let mut plan = Plan::default();
    for skip in &scan.skips {
        let (reason, message) = (skip.reason, skip.message.clone());
        plan.skips.push(Skip {
            path: path.to_owned(),
            line: skip.line,
            column: skip.column,
            reason,
            message,
        });
    }
    let refused = refused(scan, images);
    let outcomes = scan.sites.iter().map(|site| outcome(site, images, &refused));
    let mut outcomes: Vec<Outcome> = outcomes.collect();
    if !images.overwrites() {
        pairs::keep(scan, images, &mut outcomes);
    }
    for (site, outcome) in scan.sites.iter().zip(outcomes) {
        match outcome {
            Ok(None) => {}
            Ok(Some(new)) => {
                plan.edits.extend(edits(site, &new));
                plan.changes.push(change(path, site, new));
                plan.ends.push(plan.edits.len());
            }
            Err((reason, message)) => {
                plan.skips.push(Skip {
                    path: path.to_owned(),
                    line: site.line,
                    column: site.column,
                    reason,
                    message,
                });
            }
        }
    }
    plan.skips.sort_by_key(|skip| (skip.line, skip.column));
    plan
}

/// Policies with a tag in the file that must stay, with the reason. Fields with only a digest or a name stay, too: they
/// would no longer belong to the tag.
type Refused<'a> = BTreeMap<&'a PolicyName, (Reason, String)>;

fn refused<'a>(scan: &'a Scan, images: &dyn Images) -> Refused<'a> {
    let mut refused = Refused::new();
    for site in &scan.sites {
        if let Verdict::Image(image) = images.verdict(&site.setter.policy)
            && let Some(refusal) = refusal(site, image, images)
        {
            refused.insert(&site.setter.policy, refusal);
        }
    }
    refused
}

/// Why the tag of a site must stay, if it must. Tags of an image other than the policy's are not comparable.
fn refusal(site: &Site, image: &LatestRef, images: &dyn Images) -> Option<(Reason, String)> {
    let from = match site.setter.part {
        Part::Tag | Part::TagDigest => {
            let value = versions::unescaped(&site.value);
            return images.refusal(&site.setter.policy, tag_and_digest(&value).0, &image.tag);
        }
        Part::Reference => match LatestRef::split(&site.value) {
            (name, tag, _) if is_same_image(name, &image.name) => tag,
            _ => None,
        },
        Part::Name | Part::Digest => None,
    };
    images.refusal(&site.setter.policy, from?, &image.tag)
}

/// Whether two names are of one image, such as `acme/app` and `docker.io/acme/app`.
#[must_use]
pub fn is_same_image(one: &str, other: &str) -> bool {
    let full = |name| Reference::parse(name, Validation::Weak).map(|reference| reference.context());
    one == other || full(one).is_ok_and(|one| full(other).is_ok_and(|other| one == other))
}

fn outcome(site: &Site, images: &dyn Images, refused: &Refused<'_>) -> Outcome {
    let image = match images.verdict(&site.setter.policy) {
        Verdict::Image(image) => image,
        Verdict::Skip(reason, message) => return Err((reason, message)),
    };
    let follows = matches!(site.setter.part, Part::Name | Part::Digest);
    let refusal = match refused.get(&site.setter.policy) {
        Some(refusal) if follows => Some(refusal.clone()),
        Some(_) => refusal(site, image, images),
        None => None,
    };
    if let Some(refusal) = refusal {
        return Err(refusal);
    }
    let part = match site.setter.part {
        // The digest behind a tag goes with it.
        Part::Tag if !images.overwrites() => Part::of_tag(&site.value),
        part => part,
    };
    let new = value(site, part, image)?;
    if new == site.value {
        return Ok(None);
    }
    if !images.overwrites()
        && let Some(message) = mismatch(site, image)
    {
        return Err((Reason::Mismatch, message));
    }
    if !fits(site, &new) {
        let message = match site.spelling {
            Spelling::Verbatim => format!("{new:?} has characters that are not written outside of YAML"),
            _ => format!("{new:?} cannot be written in a block scalar; put the field in quotes"),
        };
        return Err((Reason::PolicyNotReady, message));
    }
    images.closed(&site.setter.policy).map_or(Ok(Some(new)), Err)
}

fn value(site: &Site, part: Part, image: &LatestRef) -> Result<String, (Reason, String)> {
    let digest = || {
        let digest = image.digest.as_deref().filter(|digest| !digest.is_empty());
        digest.ok_or_else(|| (Reason::NoDigest, no_digest(site)))
    };
    Ok(match part {
        Part::Reference if image.digest.is_none() && image.check().is_err() => {
            let policy = &site.setter.policy;
            let message = format!(
                "{image} is a version that no image has; a field for the version alone is marked with {}:tag",
                policy.marker()
            );
            return Err((Reason::PolicyNotReady, message));
        }
        Part::Reference => image.to_string(),
        Part::Name => image.name.clone(),
        Part::Tag | Part::TagDigest if image.tag.is_empty() => {
            let message = format!("policy {} has no tag, only a digest", site.setter.policy);
            return Err((Reason::PolicyNotReady, message));
        }
        Part::Tag => versions::as_written(site, &image.tag),
        Part::TagDigest => format!("{}@{}", image.tag, digest()?),
        Part::Digest => digest()?.to_owned(),
    })
}

/// Why a digest cannot be written, and the way out.
fn no_digest(site: &Site) -> String {
    let policy = &site.setter.policy;
    let note = if site.value.contains('@') {
        "the field holds a digest behind its tag, and "
    } else {
        ""
    };
    let way = match note {
        "" => "",
        _ => ", or remove the digest from the field",
    };
    format!("{note}policy {policy} has no digest; set its spec.digestReflectionPolicy to IfNotPresent or Always{way}")
}

/// The edits that give a field another value in its own spelling; none if it cannot be written in that.
pub(crate) fn rewritten(site: &Site, new: &str) -> Vec<Edit> {
    if fits(site, new) { edits(site, new) } else { Vec::new() }
}

fn fits(site: &Site, value: &str) -> bool {
    match site.spelling {
        Spelling::Block(_) => fits_block(value),
        Spelling::Verbatim => fits_verbatim(value),
        _ => true,
    }
}

fn fits_block(value: &str) -> bool {
    !value.is_empty() && !value.starts_with([' ', '\t']) && !value.chars().any(spell::needs_escape)
}

/// No format has to quote or escape these.
fn fits_verbatim(value: &str) -> bool {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "._:/@-+".contains(c);
    // What is escaped in an address is hexadecimal digits behind a sign.
    let (first, escaped) = value
        .split_once('%')
        .map_or((value, None), |(first, rest)| (first, Some(rest)));
    let mut parts = escaped.into_iter().flat_map(|rest| rest.split('%'));
    let is_escape = |part: &str| {
        part.get(..2)
            .is_some_and(|digits| digits.chars().all(|c| c.is_ascii_hexdigit()))
    };
    !value.is_empty() && first.chars().all(is_safe) && parts.all(|part| is_escape(part) && part.chars().all(is_safe))
}

fn change(path: &str, site: &Site, new: String) -> Change {
    Change {
        path: path.to_owned(),
        line: site.line,
        column: site.column,
        old: site.value.clone(),
        new,
        policy: site.setter.policy.clone(),
        setter: site.setter.clone(),
        object: site.object.clone(),
    }
}

pub(crate) fn edits(site: &Site, new: &str) -> Vec<Edit> {
    let mut edits = Vec::new();
    if let Some((span, old)) = &site.untag {
        edits.push(Edit {
            span: span.clone(),
            old: old.clone(),
            new: String::new(),
        });
    }
    let spelled = match &site.spelling {
        Spelling::Plain { flow } => spell::as_plain(new, *flow, site.typed),
        Spelling::Single => spell::as_single(new),
        Spelling::Double => spell::as_double(new),
        Spelling::Verbatim => new.to_owned(),
        Spelling::Block(shape) => {
            edits.extend(strip(shape));
            format!("{}{}{new}", shape.lead, " ".repeat(shape.indent))
        }
    };
    edits.push(Edit {
        span: site.span.clone(),
        old: site.text.clone(),
        new: spelled,
    });
    edits
}

/// The value ends without a line break, so the header must have `-`.
fn strip(shape: &BlockShape) -> Option<Edit> {
    let old = &shape.indicators_text;
    if old.contains('-') {
        return None;
    }
    let new = if old.contains('+') {
        old.replace('+', "-")
    } else {
        format!("{old}-")
    };
    Some(Edit {
        span: shape.indicators.clone(),
        old: old.clone(),
        new,
    })
}
