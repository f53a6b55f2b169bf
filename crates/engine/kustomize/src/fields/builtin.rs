//! The default tables, parsed once from `defaults.txt`.

use super::config::FieldConfig;
use super::spec::FieldSpec;
use crate::Gvk;
use std::sync::LazyLock;

const TABLES: &str = include_str!("defaults.txt");

pub(super) static BUILTIN: LazyLock<FieldConfig> = LazyLock::new(|| read(TABLES));

/// Parses tables. Malformed lines are skipped, which a test below excludes for the built-in text.
fn read(tables: &str) -> FieldConfig {
    let mut config = FieldConfig::default();
    let mut table = "";
    let mut specs = Vec::new();
    for line in tables.lines().chain(["[]"]) {
        if let Some(next) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            put(&mut config, table, std::mem::take(&mut specs));
            table = next;
        } else {
            specs.extend(spec(line));
        }
    }
    config
}

fn put(config: &mut FieldConfig, table: &str, specs: Vec<FieldSpec>) {
    if let Some(referred) = table.strip_prefix("nameReference ") {
        config
            .name_reference
            .extend(selector(referred).map(|gvk| super::NameReferences {
                gvk,
                referrers: specs.into(),
            }));
    } else if let Some(place) = config.table_mut(table) {
        *place = specs.into();
    }
}

fn spec(line: &str) -> Option<FieldSpec> {
    let mut words = line.split(' ');
    let create = match words.next()? {
        "+" => true,
        "-" => false,
        _ => return None,
    };
    Some(FieldSpec::new(selector(words.next()?)?, words.next()?, create))
}

fn selector(text: &str) -> Option<Gvk> {
    let mut parts = text.split('/').map(|part| if part == "*" { "" } else { part });
    Some(Gvk::new(parts.next()?, parts.next()?, parts.next()?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_tables_is_taken() {
        let lines = TABLES.lines().filter(|line| line.starts_with(['+', '-'])).count();
        let config = &*BUILTIN;
        let referrers = config
            .name_reference
            .iter()
            .map(|names| names.referrers.as_slice().len());
        let taken: usize = config.tables().map(|(_, specs)| specs.as_slice().len()).sum();
        assert_eq!(taken + referrers.sum::<usize>(), lines);
        assert_eq!(lines, 306);
        assert_eq!(config.replicas.as_slice().len(), 4);
        assert_eq!(config.images.as_slice().len(), 7);
    }

    /// A build begins with the tables as they are.
    #[test]
    fn merging_them_into_empty_tables_changes_nothing() {
        let mut merged = FieldConfig::default();
        merged.merge(&BUILTIN).unwrap();
        assert_eq!(merged, *BUILTIN);
    }

    #[test]
    fn the_tables_are_sorted() {
        for (name, specs) in BUILTIN.tables() {
            let mut sorted = specs.clone();
            sorted.sort();
            assert_eq!(&sorted, specs, "{name}");
        }
    }
}
