//! The values of TOML, with their places.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::reader::{State, Value};
use super::valued::{Refused, Values};
use bumpwright_text::Parts;

pub(super) fn values(text: &str) -> Result<Values, Refused> {
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        (at, error.message().to_owned())
    })?;
    let mut reader = Reader {
        text,
        values: Values::default(),
    };
    reader.table(table.get_ref())?;
    Ok(reader.values)
}

struct Reader<'a> {
    text: &'a str,
    values: Values,
}

impl Reader<'_> {
    fn table(&mut self, table: &DeTable<'_>) -> Result<(), Refused> {
        self.open(true, 0)?;
        for (key, value) in table {
            self.scalar(key.get_ref(), &key.span(), None);
            self.value(value)?;
        }
        self.values.tree.close();
        Ok(())
    }

    fn open(&mut self, is_map: bool, at: usize) -> Result<(), Refused> {
        if self.values.tree.open(is_map) {
            Ok(())
        } else {
            Err((at, "it nests too deep".to_owned()))
        }
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>) -> Result<(), Refused> {
        let span = value.span();
        match value.get_ref() {
            DeValue::String(text) => self.scalar(text, &span, Some(text)),
            DeValue::Array(items) => {
                self.open(false, span.start)?;
                for item in items {
                    self.value(item)?;
                }
                self.values.tree.close();
            }
            DeValue::Table(table) => self.table(table)?,
            _ => {
                let written = self.text.part(span.clone());
                self.scalar(written, &span, None);
            }
        }
        Ok(())
    }

    /// A scalar; `string` is the value of one in quotes.
    fn scalar(&mut self, text: &str, span: &Range<usize>, string: Option<&str>) {
        let inside = span.start + 1..span.end.saturating_sub(1).max(span.start + 1);
        let written = self.text.part(span.clone());
        let state = match string {
            None => State::Other("a value without quotes, which is not a string; put it in quotes"),
            Some(_) if written.starts_with("\"\"\"") || written.starts_with("'''") => State::LINES,
            Some(value) if self.text.get(inside.clone()) == Some(value) => State::Whole,
            Some(_) => State::ESCAPED,
        };
        let (at, span) = (span.start, inside);
        self.values.scalar(text, Value { at, span, state });
    }
}
