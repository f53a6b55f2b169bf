//! Files of a change that nothing here is built from.

use std::collections::BTreeSet;

use super::{Review, State};
use crate::changes::few;
use bumpwright_edit::{FileKind, file_kind, looks_marked};
use bumpwright_findings::{Finding, Rule, Severity};

impl Review {
    /// Adds a warning about entries that the change removes and that are not reviewed: a pattern that a shell has expanded
    /// names what is there after it.
    pub fn note_gone(&mut self, gone: &[String]) {
        if gone.is_empty() {
            return;
        }
        let are = if gone.len() == 1 { "is" } else { "are" };
        let message = format!(
            "{} {are} gone with this change, and what was applied from there is not reviewed",
            few(gone)
        );
        let finding =
            Finding::new(Rule::NotCompared, message).help("name the removed folders, too: they are read as they were");
        self.report = self.report.clone().with(finding);
    }

    /// Adds a note about files of the change with marked fields that nothing in these states is built from: that there
    /// is no difference would look like an answer. `changed` are paths from the root of the repository.
    pub fn note_unread(&mut self, states: [State<'_>; 2], changed: &BTreeSet<String>) {
        let nodes = states
            .iter()
            .flat_map(|state| state.fleets)
            .flat_map(|fleet| &fleet.nodes);
        let products: Result<Vec<_>, _> = nodes.map(|node| node.product.as_ref()).collect();
        // What a build that fails would have read is not known.
        let Ok(products) = products else { return };
        let [_, after] = states;
        let tree = after.repository.tree();
        let is_marked = |path: &str| {
            let bytes = tree.read(&format!("/{path}"));
            bytes.is_ok_and(|bytes| looks_marked(&bytes))
        };
        let yaml = changed.iter().filter(|path| file_kind(path) == FileKind::Yaml);
        let unread = yaml.filter(|path| !products.iter().any(|product| product.reads.contains(path)));
        let unread: Vec<String> = unread.filter(|path| is_marked(path)).cloned().collect();
        let Some(first) = unread.first() else { return };
        let (have, them) = if unread.len() == 1 {
            ("has", "it")
        } else {
            ("have", "them")
        };
        let message = format!(
            "{} {have} marked fields, and nothing that is reviewed here is built from {them}",
            few(&unread)
        );
        let finding = Finding::new(Rule::NotCompared, message)
            .severity(Severity::Note)
            .at(first.as_str(), 1, 1)
            .help("name the folders that are built from it as well; Helm values are reviewed with the HelmRelease that has them");
        self.report = self.report.clone().with(finding);
    }
}
