//! The graph of dependencies, in the units of SVG.

use bumpwright_overview::{Graph, Node, State};
use bumpwright_text::Excerpt;
use serde::Serialize;

use super::super::route::Route;

/// A box and the room around it.
const WIDTH: usize = 200;
const HEIGHT: usize = 40;
const GAP_X: usize = 56;
const GAP_Y: usize = 12;
const EDGE: usize = 4;

/// The characters that fit into a box.
const NAME: usize = 25;
const PLACE: usize = 30;

/// The graph at its places.
#[derive(Debug, Serialize)]
pub(super) struct Drawn {
    width: usize,
    height: usize,
    boxes: Vec<Drawing>,
    lines: Vec<String>,
    /// The Kustomizations that there are, those that are not drawn, and how many of these are not ready.
    all: usize,
    left_out: usize,
    left_unready: usize,
    left_lines: usize,
    /// Where the whole graph is, and where only what is not ready.
    whole_href: String,
    href: String,
}

/// A box; whatever all boxes have is in the template and the stylesheet.
#[derive(Debug, Serialize)]
struct Drawing {
    x: usize,
    y: usize,
    name: String,
    /// The kind of what is not a Kustomization, and the namespace.
    place: String,
    /// All of it, where it is cut.
    whole: Option<String>,
    href: String,
    tone: &'static str,
    word: &'static str,
}

fn corner(node: &Node) -> (usize, usize) {
    (EDGE + node.column * (WIDTH + GAP_X), EDGE + node.row * (HEIGHT + GAP_Y))
}

/// The graph; none where nothing depends on anything.
pub(super) fn drawn(graph: &Graph) -> Option<Drawn> {
    if graph.all == 0 {
        return None;
    }
    let boxes = graph.nodes.iter().map(|node| {
        let (x, y) = corner(node);
        let (tone, word) = match node.state {
            _ if !node.exists => ("bad", "missing"),
            State::Stalled | State::Failed => ("bad", node.state.word()),
            _ if node.suspended => ("mute", "suspended"),
            State::Deleting | State::Progressing => ("busy", node.state.word()),
            State::Unknown => ("mute", node.state.word()),
            State::Ready => ("good", node.state.word()),
        };
        let place = match node.id.kind.as_str() {
            "Kustomization" => node.id.name.namespace.clone(),
            kind => format!("{kind} in {}", node.id.name.namespace),
        };
        let cut = (
            node.id.name.name.fitted(NAME).into_owned(),
            place.fitted(PLACE - word.len()).into_owned(),
        );
        let is_whole = (&cut.0, &cut.1) == (&node.id.name.name, &place);
        Drawing {
            x,
            y,
            whole: (!is_whole).then(|| format!("{}: {word}", node.id)),
            name: cut.0,
            place: cut.1,
            href: Route::of(&node.id).to_string(),
            tone,
            word,
        }
    });
    let lines = graph.edges.iter().filter_map(|edge| {
        let (from, to) = (graph.nodes.get(edge.from)?, graph.nodes.get(edge.to)?);
        let ((x1, y1), (x2, y2)) = (corner(from), corner(to));
        let (x1, y1, y2) = (x1 + WIDTH, y1 + HEIGHT / 2, y2 + HEIGHT / 2);
        let bend = GAP_X / 2;
        let before = i64::try_from(x2).ok()? - i64::try_from(bend).ok()?;
        Some(format!("M{x1} {y1}C{} {y1} {before} {y2} {x2} {y2}", x1 + bend))
    });
    Some(Drawn {
        width: 2 * EDGE + graph.columns * WIDTH + graph.columns.saturating_sub(1) * GAP_X,
        height: 2 * EDGE + graph.rows * HEIGHT + graph.rows.saturating_sub(1) * GAP_Y,
        boxes: boxes.collect(),
        lines: lines.collect(),
        all: graph.all,
        left_out: graph.left_out,
        left_unready: graph.left_unready,
        left_lines: graph.left_edges,
        whole_href: format!("{}?graph=all", Route::Kustomizations),
        href: Route::Kustomizations.to_string(),
    })
}
