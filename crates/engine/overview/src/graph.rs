//! Kustomizations by their dependencies, laid out in columns.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::facts::KustomizationFacts;
use super::readiness::State;
use super::world::{Id, KUSTOMIZATION, World};

/// The most edges for each Kustomization that may be drawn: of more nobody sees where they lead.
const EDGES: usize = 10;

/// How often rows are put in order.
const SWEEPS: usize = 4;

/// Kustomizations that depend on others, or on which others depend; of many, those around what is not ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Graph {
    pub nodes: Vec<Node>,
    /// What they depend on, by places in `nodes`.
    pub edges: Vec<Edge>,
    pub columns: usize,
    /// Number of rows of the longest column.
    pub rows: usize,
    /// Number of Kustomizations, also of those that are left out.
    pub all: usize,
    /// Number of Kustomizations that are left out.
    pub left_out: usize,
    /// Number of those that are not ready among them.
    pub left_unready: usize,
    /// Number of edges that are left out.
    pub left_edges: usize,
}

/// What depends on what: the dependency first.
type Link = (Id, Id);

/// A Kustomization, or a source, at its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    pub id: Id,
    /// Its state; unknown if it does not exist.
    pub state: State,
    /// Whether it is suspended.
    pub suspended: bool,
    /// Whether the object exists.
    pub exists: bool,
    /// Its column: all that it depends on are in columns before.
    pub column: usize,
    pub row: usize,
}

/// One must be ready before the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Edge {
    /// What is depended on.
    pub from: usize,
    /// What depends.
    pub to: usize,
}

impl World {
    /// Kustomizations by their dependencies. Of more than `most`, only those that are not ready, each with its
    /// neighbours (its source, what it depends on, and what depends on it), up to that number.
    #[must_use]
    pub fn graph(&self, most: usize) -> Graph {
        let mut links = Vec::<Link>::new();
        for (name, one) in &self.kustomizations {
            let id = Id::new(KUSTOMIZATION, name.clone());
            links.extend(one.dependencies().map(|dependency| (dependency, id.clone())));
        }
        let ids: BTreeSet<Id> = ends(&links).cloned().collect();
        if ids.len() <= most {
            let graph = self.laid_out(&links, &[], most);
            return Graph {
                all: ids.len(),
                ..graph
            };
        }
        let unready = self.unready();
        let (drawn, links) = self.around(&unready, links, most);
        let graph = self.laid_out(&links, &drawn, most);
        let shown: BTreeSet<&Id> = ids.iter().chain(&unready).collect();
        let is_left = |id: &&Id| !drawn.contains(id);
        Graph {
            left_out: shown.iter().copied().filter(is_left).count(),
            left_unready: unready.iter().filter(is_left).count(),
            all: shown.len(),
            ..graph
        }
    }

    /// The Kustomizations that are not ready, the most urgent first; those that only wait for another one are the last.
    fn unready(&self) -> Vec<Id> {
        let states = self.kustomizations.iter().map(|(name, one)| (one.readiness(), name));
        let mut unready: Vec<_> = states
            .filter(|(readiness, _)| readiness.state != State::Ready)
            .collect();
        unready.sort_by_key(|(readiness, name)| (readiness.reason == "DependencyNotReady", readiness.state, *name));
        let ids = unready
            .into_iter()
            .map(|(_, name)| Id::new(KUSTOMIZATION, name.clone()));
        ids.collect()
    }

    /// At most so many of these and of their neighbours, and the links between them.
    fn around(&self, unready: &[Id], links: Vec<Link>, most: usize) -> (Vec<Id>, Vec<Link>) {
        let mut next = BTreeMap::<&Id, Vec<&Id>>::new();
        for (from, to) in &links {
            next.entry(from).or_default().push(to);
            next.entry(to).or_default().push(from);
        }
        let mut drawn = BTreeSet::<Id>::new();
        let mut sources = Vec::<Link>::new();
        for id in unready {
            let source = self.kustomizations.get(&id.name).map(KustomizationFacts::source);
            let source = source.filter(|source| self.sources.contains_key(source));
            let near = next.get(id).into_iter().flatten().copied();
            for one in [id].into_iter().chain(&source).chain(near) {
                if drawn.len() < most {
                    drawn.insert(one.clone());
                }
            }
            sources.extend(source.map(|source| (source, id.clone())));
        }
        let links = links.into_iter().chain(sources);
        let links = links
            .filter(|(from, to)| drawn.contains(from) && drawn.contains(to))
            .collect();
        (drawn.into_iter().collect(), links)
    }

    /// The ends of links, and others without one, at their places.
    fn laid_out(&self, links: &[Link], others: &[Id], most: usize) -> Graph {
        let mut places = BTreeMap::<&Id, usize>::new();
        for id in ends(links).chain(others) {
            let next = places.len();
            places.entry(id).or_insert(next);
        }
        let place = |id: &Id| places.get(id).copied();
        let edge = |(from, to): &Link| {
            Some(Edge {
                from: place(from)?,
                to: place(to)?,
            })
        };
        let mut edges: Vec<Edge> = links.iter().filter_map(edge).collect();
        edges.sort_by_key(|edge| (edge.from, edge.to));
        edges.dedup();
        let left_edges = edges.len().saturating_sub(EDGES * most);
        edges.truncate(EDGES * most);
        let columns = columns(places.len(), &edges);
        let rows = rows(&columns, &edges);
        let mut ids: Vec<(&Id, usize)> = places.into_iter().collect();
        ids.sort_by_key(|(_, place)| *place);
        let cells = columns.iter().zip(&rows);
        let nodes = ids.into_iter().zip(cells).map(|((id, _), (column, row))| {
            let readiness = self.readiness(id);
            Node {
                id: id.clone(),
                exists: readiness.is_some(),
                suspended: readiness.as_ref().is_some_and(|readiness| readiness.suspended),
                state: readiness.map(|readiness| readiness.state).unwrap_or_default(),
                column: *column,
                row: *row,
            }
        });
        Graph {
            nodes: nodes.collect(),
            columns: columns.iter().max().map_or(0, |last| last + 1),
            rows: rows.iter().max().map_or(0, |last| last + 1),
            edges,
            left_edges,
            ..Graph::default()
        }
    }
}

fn ends(links: &[Link]) -> impl Iterator<Item = &Id> {
    links.iter().flat_map(|(from, to)| [from, to])
}

/// The column of each: one after the last of its dependencies. Where they form a cycle, which never becomes ready, its
/// first one is taken as if nothing were before it.
fn columns(count: usize, edges: &[Edge]) -> Vec<usize> {
    let mut columns = vec![0; count];
    let mut open = vec![0_usize; count];
    let mut after = vec![Vec::new(); count];
    for edge in edges {
        if let (Some(open), Some(after)) = (open.get_mut(edge.to), after.get_mut(edge.from)) {
            *open += 1;
            after.push(edge.to);
        }
    }
    let mut left: std::collections::BTreeSet<usize> = (0..count).collect();
    let mut next: Vec<usize> = left
        .iter()
        .copied()
        .filter(|node| open.get(*node) == Some(&0))
        .collect();
    while let Some(node) = next.pop().or_else(|| left.first().copied()) {
        let (true, Some(column)) = (left.remove(&node), columns.get(node).copied()) else {
            continue;
        };
        for to in after.get(node).into_iter().flatten().filter(|to| left.contains(to)) {
            if let (Some(place), Some(open)) = (columns.get_mut(*to), open.get_mut(*to)) {
                *place = (*place).max(column + 1);
                *open -= 1;
                if *open == 0 {
                    next.push(*to);
                }
            }
        }
    }
    columns
}

/// The row of each in its column, near those that it depends on.
fn rows(columns: &[usize], edges: &[Edge]) -> Vec<usize> {
    let mut by_column = BTreeMap::<usize, Vec<usize>>::new();
    for (node, column) in columns.iter().enumerate() {
        by_column.entry(*column).or_default().push(node);
    }
    let mut before = vec![Vec::new(); columns.len()];
    for edge in edges {
        if let Some(list) = before.get_mut(edge.to) {
            list.push(edge.from);
        }
    }
    let mut rows = vec![0_usize; columns.len()];
    for _ in 0..SWEEPS {
        for nodes in by_column.values_mut() {
            // The mean of the rows before, in thousandths.
            let mean = |node: &usize| {
                let list = before.get(*node).into_iter().flatten();
                let list: Vec<usize> = list.filter_map(|one| rows.get(*one).copied()).collect();
                list.iter().sum::<usize>() * 1000 / list.len().max(1)
            };
            nodes.sort_by_key(|node| (mean(node), *node));
            for (row, node) in nodes.iter().enumerate() {
                if let Some(place) = rows.get_mut(*node) {
                    *place = row;
                }
            }
        }
    }
    rows
}
