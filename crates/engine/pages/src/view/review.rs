//! A reviewed change: what differs, by owner and object, and what is new with it.

use std::collections::BTreeMap;
use std::ops::Range;

use bumpwright_diff::{Field, Part, Row as Line, rows};
use bumpwright_overview::Id;
use bumpwright_text::Parts;
use serde::Serialize;
use url::form_urlencoded::Serializer;

use super::super::frame::Frame;
use super::super::listing::Listing;
use super::super::request::{
    Behind, Change, ChangedObject, ChangedOwner, FindingSeverity, NewFinding, News, Review, ReviewedChange, Workload,
};
use super::super::route::Route;
use super::View;
use super::part::{self, Badge, cell, is_safe};
use super::reviews::{objects, row, tone};

/// What the objects of a page weigh, in bytes of their paths and values; one that weighs more is alone on its page.
const WEIGHT: usize = 24_000;

/// What an object and a field weigh by themselves.
const OBJECT: usize = 400;
const FIELD: usize = 120;

/// The most owners, findings, workloads and builds that fail of a page.
const OWNERS: usize = 100;
const FINDINGS: usize = 60;
const WORKLOADS: usize = 60;
const PROBLEMS: usize = 50;

/// The most charts and images with what is new in them, the most names of one, and the bytes of all of their lines.
const NEWS: usize = 40;
const NAMES: usize = 3;
const SAID: usize = 16_000;

/// The most Kustomizations that are named as behind.
const BEHIND: usize = 50;

/// The most lines of a field, and bytes of a line.
const LINES: usize = 200;
const LINE: usize = 1_000;

/// How much of words that both sides have is shown, in bytes.
const SAME: usize = 300;

/// A link that says whether it is followed already.
#[derive(Serialize)]
struct Link {
    words: String,
    href: String,
    is_current: bool,
    count: usize,
    tone: &'static str,
}

/// An owner of the tree, with its objects on this page.
#[derive(Serialize)]
struct Owner {
    link: Link,
    change: Badge,
    counts: String,
    objects: Vec<Link>,
}

/// An object that differs.
#[derive(Serialize)]
struct Object {
    id: String,
    name: String,
    owner: String,
    change: Badge,
    from: String,
    place: String,
    fields: Vec<FieldRows>,
    fields_left: usize,
}

/// A field that differs.
#[derive(Serialize)]
struct FieldRows {
    path: String,
    /// Whether its values are another secret each.
    is_hidden: bool,
    rows: Vec<Shown>,
    lines_left: usize,
}

/// A row: `same`, `gap`, or what is `old` and `new`.
#[derive(Default, Serialize)]
struct Shown {
    is_same: bool,
    same: String,
    gap: usize,
    has_old: bool,
    old: Vec<Word>,
    has_new: bool,
    new: Vec<Word>,
}

#[derive(Serialize)]
struct Word {
    text: String,
    is_changed: bool,
}

/// An owner that could not be built on one side.
#[derive(Serialize)]
struct Problem {
    owner: String,
    words: &'static str,
    message: String,
}

#[derive(Serialize)]
struct Finding {
    severity: Badge,
    rule: String,
    object: String,
    place: String,
    message: String,
    help: String,
    kustomizations: Vec<String>,
}

#[derive(Serialize)]
struct Effect {
    object: String,
    effect: Badge,
    images: Vec<(String, String)>,
}

/// What is new in a chart or an image.
#[derive(Serialize)]
struct Said {
    title: String,
    names: Vec<String>,
    names_left: usize,
    links: Vec<(String, String)>,
    lines: Vec<String>,
}

/// A Kustomization that has not applied the change.
#[derive(Serialize)]
struct Late {
    object: part::Object,
    why: String,
}

/// An object with its owner.
type Owned<'a> = (&'a ChangedOwner, &'a ChangedObject);

pub(super) fn one(frame: &Frame<'_>, of: &ReviewedChange, listing: &Listing) -> View {
    let review = of.review();
    let tally = review.map(|review| review.tally(|_, _| true)).unwrap_or_default();
    let title = format!("{} {}", of.subject.number(), of.full_title())
        .trim_start()
        .to_owned();
    let behind: Vec<Late> = of.behind.iter().take(BEHIND).map(late).collect();
    let view = View::new("review.html", title, "reviews")
        .with("row", &row(frame.now, of, tally))
        .with("behind", &behind)
        .with("behind_left", &of.behind.len().saturating_sub(BEHIND))
        .with("is_behind_part", &of.is_behind_partial);
    let Some(review) = review else {
        return view.with("review", &false);
    };
    let here = Here {
        at: Route::Review(of.repository.clone(), of.subject.clone()).to_string(),
        listing,
    };
    let view = with_objects(view, &here, review);
    with_findings(view, &here, review)
        .with("review", &true)
        .with("is_part", &review.is_partial)
        .with("left_out", &review.left_out)
        .with("gone", &review.gone)
        .with("notes", &review.notes)
        .with("owner", &listing.owner)
        .with("rule", &listing.rule)
        .with("is_split", &listing.is_split)
        .with("all_href", &here.at)
        .with(
            "unified_href",
            &here.with(&Listing {
                is_split: false,
                ..listing.clone()
            }),
        )
        .with(
            "split_href",
            &here.with(&Listing {
                is_split: true,
                ..listing.clone()
            }),
        )
}

fn late(behind: &Behind) -> Late {
    let id = Id::new("Kustomization", behind.name.clone());
    Late {
        object: part::Object::new(&id),
        why: cell(&behind.why),
    }
}

/// The page and what is asked of it, for links that keep it.
struct Here<'a> {
    at: String,
    listing: &'a Listing,
}

impl Here<'_> {
    /// The path of the page where something else is asked for.
    fn with(&self, listing: &Listing) -> String {
        let mut query = Serializer::new(String::new());
        let page = (listing.page + 1).to_string();
        let view = if listing.is_split { "split" } else { "" };
        let page = if listing.page > 0 { page.as_str() } else { "" };
        for (key, value) in [
            ("owner", listing.owner.as_str()),
            ("rule", &listing.rule),
            ("view", view),
            ("page", page),
        ] {
            if !value.is_empty() {
                query.append_pair(key, value);
            }
        }
        match query.finish().as_str() {
            "" => self.at.clone(),
            query => format!("{}?{query}", self.at),
        }
    }

    /// An owner, or all of them where it is chosen already.
    fn owner(&self, title: &str) -> String {
        let is_current = self.listing.owner == title;
        self.with(&Listing {
            owner: if is_current { String::new() } else { title.to_owned() },
            page: 0,
            ..self.listing.clone()
        })
    }

    fn rule(&self, rule: &str) -> String {
        let is_current = self.listing.rule == rule;
        self.with(&Listing {
            rule: if is_current { String::new() } else { rule.to_owned() },
            page: 0,
            ..self.listing.clone()
        })
    }

    fn page(&self, page: usize) -> String {
        self.with(&Listing {
            page,
            ..self.listing.clone()
        })
    }

    fn is_of_owner(&self, owner: &ChangedOwner) -> bool {
        self.listing.owner.is_empty() || owner.title() == self.listing.owner
    }
}

/// The tree of owners, and the objects of this page.
fn with_objects(view: View, here: &Here<'_>, review: &Review) -> View {
    let about: Vec<&NewFinding> = review
        .findings
        .iter()
        .filter(|finding| finding.rule == here.listing.rule)
        .collect();
    let is_asked = |object: &ChangedObject| {
        here.listing.rule.is_empty() || about.iter().any(|finding| finding.is_about(&object.object))
    };
    let owners = review.owners.iter().filter(|owner| here.is_of_owner(owner));
    let all: Vec<Owned<'_>> = owners
        .flat_map(|owner| owner.objects.iter().map(move |object| (owner, object)))
        .filter(|(_, object)| is_asked(object))
        .collect();
    let pages = paged(&all);
    let page = here.listing.page.min(pages.len().saturating_sub(1));
    let range = pages.get(page).cloned().unwrap_or_default();
    let shown = all.part(range.clone());
    let problems = review
        .owners
        .iter()
        .filter(|owner| here.is_of_owner(owner))
        .flat_map(problems);
    let problems: Vec<Problem> = problems.collect();
    let articles: Vec<Object> = shown.iter().enumerate().map(|(at, one)| article(at, one)).collect();
    let tree: Vec<Owner> = review
        .owners
        .iter()
        .take(OWNERS)
        .map(|owner| branch(here, owner, shown))
        .collect();
    let previous = page.checked_sub(1).map(|page| here.page(page));
    let next = (page + 1 < pages.len()).then(|| here.page(page + 1));
    view.with("tree", &tree)
        .with("owners_left", &review.owners.len().saturating_sub(OWNERS))
        .with("problems", problems.get(..PROBLEMS).unwrap_or(&problems))
        .with("problems_left", &problems.len().saturating_sub(PROBLEMS))
        .with("objects", &articles)
        .with("found", &all.len())
        .with("from", &(range.start + usize::from(!shown.is_empty())))
        .with("to", &range.end)
        .with("before", &previous)
        .with("after", &next)
}

/// The pages of objects, each as large as is quick to read.
fn paged(all: &[Owned<'_>]) -> Vec<Range<usize>> {
    let mut pages: Vec<Range<usize>> = Vec::new();
    let mut weight = 0;
    for (at, (_, object)) in all.iter().enumerate() {
        let own = weigh(object);
        match pages.last_mut().filter(|_| weight + own <= WEIGHT) {
            Some(page) => page.end = at + 1,
            None => {
                pages.push(at..at + 1);
                weight = 0;
            }
        }
        weight += own;
    }
    pages
}

fn weigh(object: &ChangedObject) -> usize {
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let field = |field: &Field| FIELD + field.path.len() + length(&field.old) + length(&field.new);
    OBJECT + object.fields.iter().map(field).sum::<usize>()
}

fn branch(here: &Here<'_>, owner: &ChangedOwner, shown: &[Owned<'_>]) -> Owner {
    let title = owner.title();
    let own = shown.iter().enumerate().filter(|(_, (of, _))| std::ptr::eq(*of, owner));
    let link = |(at, (_, object)): (usize, &Owned<'_>)| Link {
        words: cell(&object.object.to_string()),
        href: format!("#object-{}", at + 1),
        is_current: false,
        count: object.fields.len() + object.fields_left_out,
        tone: change(object.change).1,
    };
    Owner {
        change: badge(owner.change),
        counts: objects(owner.objects.len()),
        objects: own.map(link).collect(),
        link: Link {
            href: here.owner(&title),
            is_current: here.listing.owner == title,
            words: cell(&title),
            count: owner.objects.len(),
            tone: change(owner.change).1,
        },
    }
}

fn problems(owner: &ChangedOwner) -> impl Iterator<Item = Problem> {
    let [before, after] = &owner.problems;
    let problems = [(before, "could not be built before"), (after, "cannot be built")];
    problems.into_iter().filter_map(move |(problem, words)| {
        Some(Problem {
            owner: owner.title(),
            words,
            message: cell(problem.as_deref()?),
        })
    })
}

fn change(change: Change) -> (&'static str, &'static str) {
    let tone = match change {
        Change::Added => "good",
        Change::Removed => "bad",
        Change::Changed => "warn",
        Change::Moved => "busy",
    };
    (change.word(), tone)
}

fn badge(of: Change) -> Badge {
    let (word, tone) = change(of);
    Badge::new(word, tone)
}

fn article(at: usize, (owner, object): &Owned<'_>) -> Object {
    // With an object that is alone on its page, too.
    let mut left = 2 * WEIGHT;
    let weight = |field: &&Field| {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let own = FIELD + field.path.len() + length(&field.old).min(LINES * LINE) + length(&field.new);
        let fits = own <= left || left == 2 * WEIGHT;
        left = left.saturating_sub(own);
        fits
    };
    let fields: Vec<FieldRows> = object.fields.iter().take_while(weight).map(field_rows).collect();
    Object {
        id: format!("object-{}", at + 1),
        name: cell(&object.object.to_string()),
        owner: cell(&owner.title()),
        change: badge(object.change),
        from: cell(&object.from),
        place: cell(&object.place),
        fields_left: object.fields.len() - fields.len() + object.fields_left_out,
        fields,
    }
}

fn field_rows(field: &Field) -> FieldRows {
    let rows = rows(field);
    FieldRows {
        path: cell(&field.path),
        is_hidden: field.old.is_some() && field.old == field.new,
        lines_left: rows.len().saturating_sub(LINES),
        rows: rows.into_iter().take(LINES).map(shown).collect(),
    }
}

fn shown(line: Line) -> Shown {
    match line {
        Line::Same(text) => Shown {
            is_same: true,
            same: ends(&text, LINE),
            ..Shown::default()
        },
        Line::Gap(gap) => Shown {
            gap,
            ..Shown::default()
        },
        Line::Changed { old, new } => Shown {
            has_old: old.is_some(),
            has_new: new.is_some(),
            old: old.into_iter().flat_map(words).collect(),
            new: new.into_iter().flat_map(words).collect(),
            ..Shown::default()
        },
    }
}

/// The words of a line. Of long ones the beginning and the end is shown, least of those that both sides have.
fn words(parts: Vec<Part>) -> Vec<Word> {
    let mut left = 2 * LINE;
    let mut words = Vec::new();
    for part in parts {
        let text = ends(&part.text, if part.is_changed { LINE / 2 } else { SAME });
        let is_last = text.len() > left;
        left = left.saturating_sub(text.len());
        words.push(Word {
            text: if is_last { "…".to_owned() } else { text },
            is_changed: part.is_changed && !is_last,
        });
        if is_last {
            break;
        }
    }
    words
}

/// A text; of a longer one its beginning and its end.
fn ends(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let begin = text.floor_char_boundary(most / 2);
    let end = text.ceil_char_boundary(text.len().saturating_sub(most / 2));
    format!("{}…{}", text.part(..begin), text.part(end..))
}

/// The findings and the impact, as far as they are of the chosen owner and rule.
fn with_findings(view: View, here: &Here<'_>, review: &Review) -> View {
    let is_of_owner = |finding: &&NewFinding| {
        let owner = here.listing.owner.as_str();
        owner.is_empty() || finding.object == owner || {
            let mut names = finding.kustomizations.iter();
            names.any(|name| owner.strip_prefix("Kustomization ") == Some(name.to_string().as_str()))
        }
    };
    let of_owner: Vec<&NewFinding> = review.findings.iter().filter(is_of_owner).collect();
    let mut rules: BTreeMap<(std::cmp::Reverse<FindingSeverity>, &str), usize> = BTreeMap::new();
    for finding in &of_owner {
        let key = (std::cmp::Reverse(finding.severity), finding.rule.as_str());
        *rules.entry(key).or_default() += 1;
    }
    let rules = rules.into_iter().map(|((severity, rule), count)| Link {
        words: rule.to_owned(),
        href: here.rule(rule),
        is_current: here.listing.rule == rule,
        count,
        tone: tone(severity.0),
    });
    let selected = of_owner.iter();
    let selected = selected.filter(|one| here.listing.rule.is_empty() || one.rule == here.listing.rule);
    let mut selected: Vec<&NewFinding> = selected.copied().collect();
    selected.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let findings: Vec<Finding> = selected.iter().take(FINDINGS).map(|one| finding(one)).collect();
    let workloads = review.workloads.iter().take(WORKLOADS).map(effect);
    let is_news_of_owner = |one: &&News| {
        let owner = here.listing.owner.as_str();
        owner.is_empty() || one.names.iter().any(|name| format!("{} {name}", one.kind) == owner)
    };
    let news: Vec<&News> = review.news.iter().filter(is_news_of_owner).collect();
    let mut room = SAID;
    let said: Vec<Said> = news.iter().take(NEWS).map(|one| said(one, &mut room)).collect();
    view.with("news", &said)
        .with("news_all", &news.len())
        .with("rules", &rules.collect::<Vec<_>>())
        .with("findings", &findings)
        .with("findings_all", &selected.len())
        .with("workloads", &workloads.collect::<Vec<_>>())
        .with("workloads_all", &review.workloads.len())
}

fn finding(one: &NewFinding) -> Finding {
    let names = one.kustomizations.iter().take(3);
    Finding {
        severity: Badge::new(one.severity.word(), tone(one.severity)),
        rule: one.rule.clone(),
        object: cell(&one.object),
        place: cell(&one.place),
        message: cell(&one.message),
        help: cell(&one.help),
        kustomizations: names.map(|name| cell(&name.to_string())).collect(),
    }
}

/// What is new, with as many of its lines as there is room for.
fn said(one: &News, room: &mut usize) -> Said {
    let lines = one.lines.iter().filter(|line| !line.is_empty()).map(|line| cell(line));
    let fits = |line: &String| match room.checked_sub(line.len()) {
        Some(left) => {
            *room = left;
            true
        }
        None => false,
    };
    let lines = lines.take_while(fits).collect();
    let links = one.links.iter().filter(|(_, url)| is_safe(url));
    Said {
        title: cell(&one.title),
        names: one
            .names
            .iter()
            .take(NAMES)
            .map(|name| cell(&name.to_string()))
            .collect(),
        names_left: one.names.len().saturating_sub(NAMES),
        links: links.map(|(words, url)| (cell(words), url.clone())).collect(),
        lines,
    }
}

fn effect(one: &Workload) -> Effect {
    let tone = if one.restarts { "busy" } else { "mute" };
    let images = one.images.iter().take(3);
    Effect {
        object: cell(&one.object),
        effect: Badge::new(one.effect.clone(), tone),
        images: images.map(|(old, new)| (cell(old), cell(new))).collect(),
    }
}
