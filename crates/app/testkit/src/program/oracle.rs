//! Tables of recorded behaviour, with counts of right rows.

use bumpwright_corpora as corpora;
use serde_json::Value as Json;

/// The rows of a table; none when it is missing.
pub fn rows(table: &str) -> Vec<Json> {
    corpora::rows(corpora::corpora().join("oracles").join(table))
}

/// Right and wrong rows of a table. Outputs and stages must all be right, 95 of 100 error texts.
pub struct Tally {
    name: &'static str,
    outputs: Count,
    stages: Count,
    texts: Count,
    apart: std::collections::BTreeMap<&'static str, usize>,
}

#[derive(Default)]
struct Count {
    right: usize,
    all: usize,
}

impl Count {
    fn add(&mut self, right: bool) -> bool {
        self.all += 1;
        self.right += usize::from(right);
        right
    }
}

impl Tally {
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            outputs: Count::default(),
            stages: Count::default(),
            texts: Count::default(),
            apart: Default::default(),
        }
    }

    /// Compares an output with the expected one.
    pub fn output(&mut self, id: &str, ours: &[u8], theirs: &[u8]) {
        if !self.outputs.add(ours == theirs) {
            let [ours, theirs] = [ours, theirs].map(String::from_utf8_lossy);
            println!("{}: {id}: {ours:?} instead of {theirs:?}", self.name);
        }
    }

    /// Compares the stage of an error.
    pub fn stage(&mut self, id: &str, ours: &str, theirs: &str) {
        if !self.stages.add(ours == theirs) {
            println!("{}: {id}: fails at {ours} instead of {theirs}", self.name);
        }
    }

    /// Compares the text of an error.
    pub fn text(&mut self, id: &str, ours: &str, theirs: &str) {
        if !self.texts.add(ours == theirs) {
            println!("{}: {id}: error {ours:?} instead of {theirs:?}", self.name);
        }
    }

    /// Counts an output in place of an expected error, or the reverse.
    pub fn wrong(&mut self, id: &str, what: &str) {
        self.outputs.add(false);
        println!("{}: {id}: {what}", self.name);
    }

    /// Excludes a row, with the reason.
    pub fn apart(&mut self, reason: &'static str) {
        *self.apart.entry(reason).or_default() += 1;
    }

    /// Prints the figures; fails below the floors.
    pub fn report(self) {
        let name = self.name;
        let apart: usize = self.apart.values().sum();
        if self.outputs.all + self.texts.all + apart == 0 {
            println!("{name}: absent");
            return;
        }
        println!("{name}: {} of {}", self.outputs.right, self.outputs.all);
        println!("{name} stages: {} of {}", self.stages.right, self.stages.all);
        println!("{name} texts: {} of {}", self.texts.right, self.texts.all);
        for (reason, count) in &self.apart {
            println!("{name} apart: {count} ({reason})");
        }
        if corpora::floors() {
            assert_eq!(self.outputs.right, self.outputs.all, "{name}: outputs");
            assert_eq!(self.stages.right, self.stages.all, "{name}: stages");
            assert!(self.texts.right * 100 >= self.texts.all * 95, "{name}: error texts");
        }
    }
}
