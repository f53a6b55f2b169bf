//! The board of images, and the page of a policy.

use bumpwright_overview::{Image, Stage};
use serde::Serialize;

use super::super::action::Action;
use super::super::frame::Frame;
use super::super::listing::Listing;
use super::super::page::TagRow;
use super::super::route::Route;
use super::View;
use super::list::{List, href};
use super::part::{Badge, Commit, Form, Object, Standing, When, cell, is_safe};

/// The cards of a column of the board.
const CARDS: usize = 25;

/// The columns of the board, in their order.
const STAGES: [Stage; 6] = [
    Stage::Behind,
    Stage::OnTheWay,
    Stage::Held,
    Stage::Current,
    Stage::Unknown,
    Stage::Unused,
];

/// An image in a list.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    policy: Object,
    image: String,
    tag: String,
    previous: String,
    stage: Badge,
    why: String,
    since: Option<When>,
    commit: Option<Commit>,
}

pub(super) fn row(now: i64, image: &Image) -> Row {
    let name = image.chosen.as_ref().map(|chosen| chosen.name.clone());
    Row {
        policy: Object::new(&image.policy),
        image: name.unwrap_or_else(|| image.image.clone()),
        tag: image.tag().to_owned(),
        previous: image.previous_tag().to_owned(),
        stage: Badge::of_stage(image.stage),
        why: cell(&image.why),
        since: When::maybe(now, image.since),
        commit: image
            .pushed
            .as_ref()
            .and_then(|pushed| Commit::new(&pushed.commit, pushed.link.as_deref())),
    }
}

/// A column of the board.
#[derive(Serialize)]
struct Column {
    stage: Badge,
    count: usize,
    cards: Vec<Row>,
    href: String,
}

pub(super) fn board(frame: &Frame<'_>, images: &[Image], listing: &Listing) -> View {
    let at = Route::Images.to_string();
    let list = List::new(
        &at,
        images,
        listing,
        &STAGES.map(Stage::words),
        |image, word| image.stage.words() == word,
        contains,
        |image| row(frame.now, image),
    );
    let is_board = listing.is_plain();
    let view = View::new("images.html", "Images", "images")
        .with("is_board", &is_board)
        .with("list", &list);
    if !is_board {
        return view;
    }
    let column = |stage: Stage| {
        let mut of_stage: Vec<&Image> = images.iter().filter(|image| image.stage == stage).collect();
        of_stage.sort_by_key(|image| image.since.unwrap_or(i64::MAX));
        // What arrived last is looked for, of what waits the one that waits longest.
        if stage == Stage::Current {
            of_stage.sort_by_key(|image| std::cmp::Reverse(image.since));
        }
        Column {
            stage: Badge::of_stage(stage),
            count: of_stage.len(),
            cards: of_stage.iter().take(CARDS).map(|image| row(frame.now, image)).collect(),
            href: href(&at, "", stage.words(), 0),
        }
    };
    let columns: Vec<Column> = STAGES
        .into_iter()
        .map(column)
        .enumerate()
        .filter(|(n, column)| *n < 4 || column.count > 0)
        .map(|(_, column)| column)
        .collect();
    view.with("columns", &columns)
}

fn contains(image: &Image, words: &str) -> bool {
    let text = format!("{} {} {}", image.policy, image.image, image.tag());
    text.to_lowercase().contains(words)
}

/// A field with its page.
#[derive(Serialize)]
struct Field {
    place: String,
    value: String,
    link: Option<String>,
}

#[derive(Serialize)]
struct Tag {
    tag: String,
    is_chosen: bool,
    why: String,
    failed: Option<String>,
    made: Option<When>,
    signature: String,
}

pub(super) fn policy(frame: &Frame<'_>, image: &Image, (rule, tags): (&str, &[TagRow]), listing: &Listing) -> View {
    let at = Route::of(&image.policy).to_string();
    let tag = |row: &TagRow| Tag {
        tag: row.tag.clone(),
        is_chosen: row.is_chosen,
        why: cell(&row.why),
        failed: row.failed.as_deref().map(cell),
        made: When::maybe(frame.now, row.made),
        signature: row.signature.clone(),
    };
    let list = List::new(
        &at,
        tags,
        listing,
        &["counts", "left out", "failed"],
        |row, word| match word {
            "counts" => row.is_chosen || row.why.is_empty(),
            "left out" => !row.is_chosen && !row.why.is_empty(),
            _ => row.failed.is_some(),
        },
        |row, words| row.tag.to_lowercase().contains(words) || row.why.to_lowercase().contains(words),
        tag,
    );
    let fields: Vec<Field> = image
        .fields
        .iter()
        .map(|field| Field {
            place: format!("{}:{}:{}", field.repository, field.path, field.line),
            value: field.value.clone(),
            link: field.link.clone().filter(|link| is_safe(link)),
        })
        .collect();
    let is_held = image.stage == Stage::Held && !image.failed.is_empty();
    let release: &[Action] = if is_held { &[Action::Release] } else { &[] };
    let has = |test: &dyn Fn(&TagRow) -> bool| tags.iter().any(test);
    View::new("policy.html", format!("ImagePolicy {}", image.policy.name), "images")
        .with("object", &Object::new(&image.policy))
        .with("standing", &Standing::new(frame, &image.readiness))
        .with("image", &row(frame.now, image))
        .with(
            "digest",
            image.chosen.as_ref().map_or("", |chosen| chosen.digest.as_str()),
        )
        .with("repository", &Object::new(&image.repository))
        .with("rule", rule)
        .with("tag_count", &image.tag_count)
        .with("scanned", &When::maybe(frame.now, image.scanned))
        .with("automations", &Object::all(&image.automations))
        .with("kustomizations", &Object::all(&image.kustomizations))
        .with("workloads", &image.workloads)
        .with("fields", &fields)
        .with("failed", &image.failed.iter().collect::<Vec<_>>())
        .with("list", &list)
        .with("has_signatures", &has(&|row| !row.signature.is_empty()))
        .with("has_ages", &has(&|row| row.made.is_some()))
        .with(
            "form",
            &Form::new(frame, &image.policy, image.readiness.suspended, release),
        )
}
