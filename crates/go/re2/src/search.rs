//! Searches in one text, by the fastest engine that is sufficient.

use super::{
    budget::{Budget, Exhausted},
    machine::{Machine, NOWHERE},
    plain::Plain,
    regexp::Regexp,
};

#[derive(Debug)]
pub(super) struct Search<'r, 't> {
    regexp: &'r Regexp,
    text: &'t [u8],
    plain: Option<&'r Plain>,
    /// Built at first use.
    machine: Option<Machine<'r, 't>>,
    positions: Vec<usize>,
}

impl<'r, 't> Search<'r, 't> {
    /// A search that reports a number of positions: none, two for the whole match, or those of all groups.
    pub(super) fn new(regexp: &'r Regexp, plain: Option<&'r Plain>, text: &'t [u8], slots: usize) -> Self {
        Self {
            regexp,
            text,
            plain: plain.filter(|_| text.is_ascii()),
            machine: None,
            positions: vec![NOWHERE; regexp.slots(slots)],
        }
    }

    /// The positions of the first match at `from` or later.
    pub(super) fn next(&mut self, from: usize, budget: &mut Budget) -> Result<Option<&[usize]>, Exhausted> {
        if let Some(plain) = self.plain
            && let Some(found) = plain.search(self.text, from, &mut self.positions, budget)?
        {
            return Ok(found.then_some(self.positions.as_slice()));
        }
        let machine = match &mut self.machine {
            Some(machine) => machine,
            machine => {
                let program = self.regexp.program(budget)?;
                machine.insert(Machine::new(program, self.text, self.positions.len()))
            }
        };
        machine.search(from, budget)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::{Budget, Regexp};

    const PATTERNS: [&str; 16] = [
        "^main-[a-f0-9]+-(?P<ts>[0-9]+)$",
        r"^v?(\d+)\.(\d+)(?:\.(\d+))?(-.*)?$",
        r"(\d+)-?[a-z]*$",
        "(a|ab)(c|bcd)?",
        "(|a)*b",
        "(|a)+",
        "(a*)*",
        "(a*?)+?b",
        "(?:(a)|b)*",
        "(^|-)a(x){0}",
        "(?i)(K|s)+",
        r"\b[^é]*?\b",
        "(?m)^(.*)$",
        "é|(a)",
        r"[^\x00-\x7f]*(b)",
        "(x{2,3}?)(x*)",
    ];
    const TEXTS: [&str; 10] = [
        "",
        "main-0af-17",
        "v1.20.3-rc",
        "7.1",
        "abcd",
        "aab",
        "a\nb\n\nmain-",
        "-a-xxxxx",
        "sSkK",
        "né-a\u{212A}",
    ];

    #[test]
    fn both_ways_prefer_the_same_match() {
        for pattern in PATTERNS {
            let machine = Regexp::new(pattern).unwrap();
            let plain = machine.clone().for_many_texts();
            assert!(plain.memory() > machine.memory(), "{pattern}");
            for text in TEXTS.map(str::as_bytes) {
                let mut budget = Budget::default();
                let all = |regexp: &Regexp, budget: &mut Budget| regexp.find_all_submatches(text, -1, budget).unwrap();
                assert_eq!(
                    all(&plain, &mut budget),
                    all(&machine, &mut budget),
                    "{pattern} {text:?}"
                );
                let one = machine.find(text, &mut budget).unwrap();
                assert_eq!(plain.find(text, &mut budget).unwrap(), one, "{pattern} {text:?}");
                assert_eq!(
                    plain.is_match(text, &mut budget).unwrap(),
                    one.is_some(),
                    "{pattern} {text:?}"
                );
            }
        }
    }

    #[test]
    fn what_is_too_deep_or_too_large_stays_with_the_machine() {
        for pattern in ["(".repeat(100) + "a" + &")".repeat(100), "(?:a?b){1000}".to_owned()] {
            let machine = Regexp::new(&pattern).unwrap();
            assert_eq!(machine.clone().for_many_texts().memory(), machine.memory(), "{pattern}");
        }
    }

    #[test]
    fn a_small_budget_is_left_to_the_machine() {
        // It stops at the first rune, which the fast engine cannot guarantee.
        let regexp = Regexp::new("^a+$").unwrap().for_many_texts();
        let text = "b".repeat(10_000);
        let mut budget = Budget::new(100, 0);
        assert_eq!(regexp.is_match(text.as_bytes(), &mut budget), Ok(false));
        assert!(budget.steps_used() < 100);
    }
}
