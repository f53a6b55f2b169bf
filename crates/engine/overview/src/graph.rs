//! Kustomizations by their dependencies, laid out in columns.

use std::collections::BTreeMap;

use serde::Serialize;

use super::readiness::State;
use super::world::{Id, KUSTOMIZATION, World};

/// How often rows are put in order.
const SWEEPS: usize = 4;

/// Kustomizations that depend on others, or on which others depend.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Graph {
    /// The Kustomizations.
    pub nodes: Vec<Node>,
    /// What they depend on, by places in `nodes`.
    pub edges: Vec<Edge>,
    /// Number of columns.
    pub columns: usize,
    /// Number of rows of the longest column.
    pub rows: usize,
}

/// A Kustomization at its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// The Kustomization.
    pub id: Id,
    /// How it stands; unknown when it is not there.
    pub state: State,
    /// Whether it is there.
    pub exists: bool,
    /// Its column: all that it depends on are in columns before.
    pub column: usize,
    /// Its row.
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
    /// Kustomizations by their dependencies.
    #[must_use]
    pub fn graph(&self) -> Graph {
        let mut places = BTreeMap::<Id, usize>::new();
        let mut links = Vec::<(Id, Id)>::new();
        for (name, one) in &self.kustomizations {
            let id = Id::new(KUSTOMIZATION, name.clone());
            links.extend(one.dependencies().map(|dependency| (dependency, id.clone())));
        }
        for id in links.iter().flat_map(|(from, to)| [from, to]) {
            let next = places.len();
            places.entry(id.clone()).or_insert(next);
        }
        let place = |id: &Id| places.get(id).copied().unwrap_or_default();
        let mut edges: Vec<Edge> = links
            .iter()
            .map(|(from, to)| Edge {
                from: place(from),
                to: place(to),
            })
            .collect();
        edges.sort_by_key(|edge| (edge.from, edge.to));
        edges.dedup();
        let columns = columns(places.len(), &edges);
        let rows = rows(&columns, &edges);
        let mut ids: Vec<(&Id, usize)> = places.iter().map(|(id, place)| (id, *place)).collect();
        ids.sort_by_key(|(_, place)| *place);
        let at = |list: &[usize], place: usize| list.get(place).copied().unwrap_or_default();
        let nodes = ids.into_iter().map(|(id, place)| {
            let readiness = self.readiness(id);
            Node {
                id: id.clone(),
                exists: readiness.is_some(),
                state: readiness.map(|readiness| readiness.state).unwrap_or_default(),
                column: at(&columns, place),
                row: at(&rows, place),
            }
        });
        Graph {
            nodes: nodes.collect(),
            columns: columns.iter().max().map_or(0, |last| last + 1),
            rows: rows.iter().max().map_or(0, |last| last + 1),
            edges,
        }
    }
}

/// The column of each: one after the last of its dependencies. Where they form a cycle, which never becomes ready, its first one is
/// taken as if nothing were before it.
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
        if !left.remove(&node) {
            continue;
        }
        let column = columns.get(node).copied().unwrap_or_default();
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
                let list = before.get(*node).map(Vec::as_slice).unwrap_or_default();
                let sum: usize = list.iter().filter_map(|one| rows.get(*one)).sum();
                sum * 1000 / list.len().max(1)
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
