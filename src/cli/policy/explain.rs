//! Explains how one tag is judged, step by step (`bumpwright policy --explain`).

use bumpwright_api::{FilterTags, ImagePolicy};
use bumpwright_policy::{
    self as policy, Exclusions, Exhausted, Explanation, Judgement, NoTag, PathPromotion, RuleSpec, Verdict,
};
use bumpwright_scan::Asked;
use bumpwright_text::between;

/// The judgement of a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    pub tag: String,
    /// Whether the repository has it; if not, the rest is hypothetical. None when the exclusion list drops it: scans do
    /// not keep such tags.
    pub listed: Option<bool>,
    /// The exclusion pattern that drops it.
    pub excluded_by: Option<String>,
    /// The value to compare; none when the filter does not match.
    pub value: Option<String>,
    /// The name of its [`Verdict`]; none when it is excluded.
    pub verdict: Option<&'static str>,
    /// Its rank among the counted tags; the newest has 1.
    pub place: Option<usize>,
    /// The chosen tag, without this one if it is not listed.
    pub winner: Option<String>,
    /// The steps in sentences.
    pub steps: Vec<String>,
}

/// Judges a tag by exclusions, filter, rule and order.
///
/// # Errors
/// [`Exhausted`] when a pattern takes too many steps.
pub(super) fn explain(asked: &Asked<'_>, chooser: &policy::ImagePolicy, tag: &str) -> Result<Explained, Exhausted> {
    let explanation = chooser.explain(&asked.tags.tags, tag)?;
    let excluded_by = excluding(asked, tag)?;
    let mut explained = Explained {
        tag: tag.to_owned(),
        listed: Some(explanation.listed),
        excluded_by: None,
        value: None,
        verdict: None,
        place: None,
        winner: explanation.winner.clone(),
        steps: Vec::new(),
    };
    if let Some(pattern) = excluded_by {
        explained
            .steps
            .push(format!("The exclusion list leaves {tag} out: it matches {pattern}."));
        explained.steps.push(outcome(&explanation.latest, true));
        explained.excluded_by = Some(pattern);
        explained.listed = None;
        return Ok(explained);
    }
    explained.steps.push(if explanation.listed {
        format!("The repository has the tag {tag}.")
    } else {
        format!("The repository does not have the tag {tag}; this is what would become of it.")
    });
    explained.steps.push(exclusions(asked));
    let verdict = &explanation.judgement.verdict;
    explained.verdict = Some(verdict.name());
    explained.value.clone_from(&explanation.judgement.value);
    explained.place = match verdict {
        Verdict::Newest => Some(1),
        Verdict::Outranked { place, .. } => Some(*place),
        _ => None,
    };
    explained.steps.extend(filter(asked.policy, &explanation.judgement));
    explained.steps.extend(rule(asked.policy, &explanation.judgement));
    explained.steps.extend(rank(&explanation));
    if let Verdict::Outranked { by, .. } = verdict {
        let winner = chooser.explain(&asked.tags.tags, by)?.judgement.value;
        explained
            .steps
            .extend(by_letters(asked.policy, explained.value.as_deref(), winner.as_deref()));
    }
    explained.steps.extend(guards(asked.policy));
    Ok(explained)
}

/// The first pattern of the exclusion list that matches.
fn excluding(asked: &Asked<'_>, tag: &str) -> Result<Option<String>, Exhausted> {
    for pattern in asked.repository.exclusions() {
        // An invalid exclusion list has failed the scan already.
        let Ok(exclusions) = Exclusions::new([pattern]) else {
            continue;
        };
        if exclusions.keep(vec![tag.to_owned()])?.is_empty() {
            return Ok(Some(pattern.to_owned()));
        }
    }
    Ok(None)
}

fn exclusions(asked: &Asked<'_>) -> String {
    let patterns: Vec<&str> = asked.repository.exclusions().collect();
    format!(
        "The exclusion list lets it pass: it does not match {}.",
        patterns.join(" or ")
    )
}

/// Returns whether the filter matches, and the extracted value.
fn filter(policy: &ImagePolicy, judgement: &Judgement) -> Option<String> {
    let filter: &FilterTags = policy.spec.as_ref()?.filter_tags.as_ref()?;
    let FilterTags { pattern, extract } = filter;
    Some(match &judgement.value {
        None => format!("The filter {pattern} does not match it, so it does not count."),
        Some(_) if extract.is_empty() => {
            format!("The filter {pattern} matches it; nothing is extracted, so all of it is compared.")
        }
        Some(value) => format!(
            "The filter {pattern} matches it, and {extract} extracts {}.",
            shown(value)
        ),
    })
}

/// The rule's judgement of the value.
fn rule(policy: &ImagePolicy, judgement: &Judgement) -> Option<String> {
    let value = shown(judgement.value.as_deref()?);
    let written = policy.spec.as_ref()?.policy.as_ref().map(RuleSpec::from)?;
    let range = between("", written.semver.as_deref(), "");
    Some(match &judgement.verdict {
        Verdict::Unmatched => return None,
        Verdict::NotAVersion(error) => {
            format!("{value} is not a version of three segments ({error}), so it does not count.")
        }
        Verdict::Prerelease(reasons) => format!(
            "{value} is a prerelease, which the range {range} leaves out ({}), so it does not count.",
            reasons.join("; ")
        ),
        Verdict::OutOfRange(reasons) => format!(
            "{value} is a version outside of the range {range} ({}), so it does not count.",
            reasons.join("; ")
        ),
        Verdict::NotANumber => {
            format!("{value} is not a number; one such tag is enough for the policy to choose nothing.")
        }
        _ => match (&written.semver, &written.alphabetical) {
            (Some(_), _) => format!("{value} is a version in the range {range}."),
            (None, Some(order)) => format!("The alphabet decides, and the {} wins.", end(order, "last", "first")),
            (None, None) => format!(
                "{value} is a number; the {} wins.",
                end(written.numerical.as_deref().unwrap_or("asc"), "largest", "smallest")
            ),
        },
    })
}

fn end(order: &str, ascending: &'static str, descending: &'static str) -> &'static str {
    if order.eq_ignore_ascii_case("desc") {
        descending
    } else {
        ascending
    }
}

/// What ages, a cluster or Git have to say before anything is taken.
fn guards(policy: &ImagePolicy) -> Vec<String> {
    // One that does not parse has been reported as a problem.
    let Ok(guards) = policy.guards() else { return Vec::new() };
    let from = guards.promotion.map(|promotion| {
        format!(
            "Whatever is chosen is taken only once {promotion} has run it in good health for {}, which only the controller in a \
             cluster can see (bumpwright.dev/promote-from).",
            promotion.soak
        )
    });
    let path = guards.path_promotion.map(|PathPromotion { path, soak }| {
        format!(
            "Whatever is chosen is written only once {path} has had it for {soak}, as the branch says at the time of an update \
             (bumpwright.dev/promote-path)."
        )
    });
    let age = guards.minimum_age.map(|age| {
        format!("Of those the newest is taken whose image is {age} old at least (bumpwright.dev/minimum-age).")
    });
    age.into_iter().chain(from).chain(path).collect()
}

/// Its rank, and the winner.
fn rank(explanation: &Explanation) -> Vec<String> {
    let latest = &explanation.latest;
    let outcome = outcome(latest, explanation.listed);
    let (is, wins) = if explanation.listed {
        ("is", "wins")
    } else {
        ("would be", "would still win")
    };
    match (&explanation.judgement.verdict, latest) {
        (Verdict::Newest, Ok(_)) if explanation.listed => vec!["Nothing is newer: it is the choice.".to_owned()],
        (Verdict::Newest, Ok(other)) => vec![format!("It would be the choice instead of {other}.")],
        (Verdict::Newest, Err(NoTag::NotANumber { .. })) => vec![format!("It {is} the newest."), outcome],
        (Verdict::Newest, Err(_)) => vec!["It would be the choice: there is no other.".to_owned()],
        (Verdict::Outranked { by, place }, Ok(_)) => vec![format!("It {is} number {place}: {by} {wins}.")],
        (Verdict::Outranked { by, place }, Err(_)) => vec![format!("It {is} number {place} after {by}."), outcome],
        (Verdict::SameValue { of }, _) => {
            let same = format!("The filter extracts the same from {of}, which counts in its place.");
            vec![same, outcome]
        }
        _ => vec![outcome],
    }
}

/// Why `rc9` wins against `rc10`, where numbers are a part of words.
fn by_letters(policy: &ImagePolicy, value: Option<&str>, winner: Option<&str>) -> Option<String> {
    let (value, winner) = (value?, winner?);
    let written = policy.spec.as_ref()?.policy.as_ref().map(RuleSpec::from)?;
    let words = |text: &str| -> String { text.chars().filter(|c| !c.is_ascii_digit()).collect() };
    let descends = |order: &str| order.eq_ignore_ascii_case("desc");
    let is_ascending = !written.alphabetical.as_deref().is_some_and(descends);
    if words(value) != words(winner) || policy::compare_naturally(value, winner).is_gt() != is_ascending {
        return None;
    }
    let ways = match (&written.semver, &written.alphabetical) {
        (Some(_), _) => "a dot before the number (rc.9, rc.10) makes it count as one",
        (None, Some(_)) => {
            "leading zeros (09, 10), or a numerical policy with filterTags that extracts the number, make it count as one"
        }
        (None, None) => return None,
    };
    Some(format!(
        "{winner} and {value} are compared letter by letter, not by the numbers in them: {ways}."
    ))
}

/// The policy's choice, if it is another tag.
fn outcome(latest: &Result<String, NoTag>, listed: bool) -> String {
    match latest {
        Ok(tag) if listed => format!("The choice is {tag}."),
        Ok(tag) => format!("As it is, the choice is {tag}."),
        Err(error) => format!("The policy chooses nothing: {}.", error.in_full()),
    }
}

/// A possibly empty value.
fn shown(value: &str) -> &str {
    match value {
        "" => "the empty text",
        value => value,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use bumpwright_api::{ImageRepository, Object, UnknownFields, read};
    use bumpwright_scan::Tags;

    /// `rule` and `filter` are flow YAML below `spec`.
    fn policy(rule: &str, filter: &str) -> (ImagePolicy, ImageRepository) {
        let group = "apiVersion: image.toolkit.fluxcd.io/v1";
        let text = format!(
            "{group}\nkind: ImagePolicy\nmetadata: {{name: a}}\n\
             spec: {{imageRepositoryRef: {{name: a}}, policy: {{{rule}}}, {filter}}}\n---\n\
             {group}\nkind: ImageRepository\nmetadata: {{name: a}}\nspec: {{image: app, interval: 1h}}\n"
        );
        let mut objects = read("p.yaml", text.as_bytes(), UnknownFields::Refuse)
            .unwrap()
            .into_iter();
        match [objects.next().unwrap().object, objects.next().unwrap().object] {
            [Object::ImagePolicy(policy), Object::ImageRepository(repository)] => (policy, repository),
            other => panic!("{other:?}"),
        }
    }

    /// All but the first two steps, which are about the repository and the exclusion list.
    fn steps(rule: &str, filter: &str, tags: &[&str], tag: &str) -> String {
        let (policy, repository) = policy(rule, filter);
        let mut tags: Vec<String> = tags.iter().map(|&tag| tag.to_owned()).collect();
        tags.sort_by(|a, b| b.cmp(a));
        let tags = Tags {
            image: "app".to_owned(),
            canonical: String::new(),
            tags,
            excluded: 0,
            notes: Vec::new(),
            held: None,
        };
        let asked = Asked {
            policy: &policy,
            repository: &repository,
            tags: &tags,
            before: None,
            is_proven: false,
            digest: None,
        };
        let explained = explain(&asked, &policy.chooser().unwrap(), tag).unwrap();
        let told = explained.steps.iter().skip(2).map(String::as_str);
        told.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_verdict_has_its_sentences() {
        let below_2 = "semver: {range: <2}";
        let v = "filterTags: {pattern: '^v(.*)$', extract: $1}";
        let tags = ["v1.2.0", "v1.10.0", "v2.0.0", "v1.11.0-rc.1", "v1", "main"];
        for (tag, expected) in [
            (
                "v1.10.0",
                "$1 extracts 1.10.0. 1.10.0 is a version in the range <2. Nothing is newer: it is the choice.",
            ),
            ("v1.2.0", "It is number 2: v1.10.0 wins."),
            ("v1.9.1", "It would be number 2: v1.10.0 would still win."),
            ("v1.10.1", "It would be the choice instead of v1.10.0."),
            (
                "main",
                "The filter ^v(.*)$ does not match it, so it does not count. The choice is v1.10.0.",
            ),
            (
                "nightly",
                "does not match it, so it does not count. As it is, the choice is v1.10.0.",
            ),
            (
                "v1",
                "1 is not a version of three segments (invalid semantic version), so it does not count. The choice is v1.10.0.",
            ),
            (
                "v2.0.0",
                "2.0.0 is a version outside of the range <2 (\"2.0.0\" is greater than or equal to \"2\"), so it does not count.",
            ),
            (
                "v1.11.0-rc.1",
                "1.11.0-rc.1 is a prerelease, which the range <2 leaves out (",
            ),
            ("v", "extracts the empty text. the empty text is not a version"),
        ] {
            let said = steps(below_2, v, &tags, tag);
            assert!(said.contains(expected), "{tag}: {said}");
        }
    }

    #[test]
    fn numbers_that_count_as_such_are_not_explained_as_letters() {
        for (rule, tags, tag) in [
            ("semver: {range: '*'}", ["1.9.0", "1.10.0"], "1.9.0"),
            (
                "semver: {range: '>=1.0.0-0'}",
                ["1.0.0-rc.9", "1.0.0-rc.10"],
                "1.0.0-rc.9",
            ),
            ("alphabetical: {}", ["b09", "b10"], "b09"),
            ("alphabetical: {order: desc}", ["b09", "b10"], "b10"),
            ("numerical: {order: desc}", ["9", "10"], "10"),
        ] {
            let said = steps(rule, "", &tags, tag);
            assert!(
                said.contains("It is number 2") && !said.contains("letter"),
                "{rule}: {said}"
            );
        }
    }

    #[test]
    fn other_rules_and_no_choice_at_all() {
        let build = "filterTags: {pattern: '^b([0-9]+)', extract: $1}";
        for (rule, filter, tags, tag, expected) in [
            (
                "alphabetical: {order: desc}",
                "",
                &["a", "b"][..],
                "b",
                "The alphabet decides, and the first wins. It is number 2: a wins.",
            ),
            (
                "semver: {range: '>=1.0.0-0'}",
                "",
                &["1.0.0-rc9", "1.0.0-rc10"],
                "1.0.0-rc10",
                "It is number 2: 1.0.0-rc9 wins. 1.0.0-rc9 and 1.0.0-rc10 are compared letter by letter, not by the numbers in them: a dot",
            ),
            (
                "alphabetical: {}",
                "",
                &["build9", "build10"],
                "build10",
                "It is number 2: build9 wins. build9 and build10 are compared letter by letter, not by the numbers in them: leading zeros",
            ),
            (
                "numerical: {}",
                "",
                &["1", "2"],
                "2",
                "2 is a number; the largest wins. Nothing is newer: it is the choice.",
            ),
            (
                "numerical: {}",
                build,
                &["b1-x", "b1-y"],
                "b1-y",
                "The filter extracts the same from b1-x, which counts in its place. The choice is b1-x.",
            ),
            (
                "numerical: {}",
                "filterTags: {pattern: '^1'}",
                &["1", "2"],
                "1",
                "The filter ^1 matches it; nothing is extracted, so all of it is compared. 1 is a number",
            ),
            (
                "numerical: {}",
                "",
                &["1", "x", "3"],
                "1",
                "It is number 2 after 3. The policy chooses nothing: failed to parse invalid numeric value 'x'.",
            ),
            (
                "numerical: {}",
                "",
                &["1", "x", "3"],
                "3",
                "It is the newest. The policy chooses nothing: failed to parse",
            ),
            (
                "numerical: {}",
                "",
                &["1"],
                "x",
                "x is not a number; one such tag is enough for the policy to choose nothing. As it is, the choice is 1.",
            ),
            (
                "semver: {range: '*'}",
                "",
                &["x"],
                "1.0.0",
                "It would be the choice: there is no other.",
            ),
            (
                "semver: {range: '*'}",
                "",
                &[],
                "x",
                "The policy chooses nothing: version list argument cannot be empty.",
            ),
        ] {
            let said = steps(rule, filter, tags, tag);
            assert!(said.contains(expected), "{rule} {tag}: {said}");
        }
    }
}
