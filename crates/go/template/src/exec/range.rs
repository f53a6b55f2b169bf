//! `{{range}}` over slices, arrays, numbers, and maps in the order of their keys.

use super::run::{BoxedError, Exec, Flow, name_of};
use crate::parse::node::Branch;
use crate::value::model::{Slot, Value};
use crate::value::slot::{View, indirect};

impl<'t> Exec<'t, '_, '_> {
    pub(crate) fn walk_range(&mut self, dot: &Slot, branch: &'t Branch) -> Result<Flow, BoxedError> {
        let outer = self.vars.len();
        let over = self.eval_pipe(dot, &branch.pipe)?;
        let flow = if self.walk_items(branch, indirect(&over))? {
            Flow::Next
        } else if let Some(list) = &branch.else_list {
            // A break here would apply to the enclosing loop, but Go ends this one.
            match self.walk_list(dot, list)? {
                Flow::Break => Flow::Next,
                flow => flow,
            }
        } else {
            Flow::Next
        };
        self.vars.truncate(outer);
        Ok(flow)
    }

    /// Whether there was anything to iterate over.
    fn walk_items(&mut self, branch: &'t Branch, over: View<'_>) -> Result<bool, BoxedError> {
        match over.value.bare() {
            Value::Int(..) | Value::Uint(..) => self.walk_numbers(branch, over.value),
            Value::Slice(slice) => {
                for (index, item) in slice.items().iter().enumerate() {
                    let item = Slot::in_place(item.clone(), slice.item, true);
                    if self.walk_round(branch, index_slot(index), item)? == Flow::Break {
                        break;
                    }
                }
                Ok(!slice.items().is_empty())
            }
            Value::Array(array) => {
                for (index, item) in array.items().iter().enumerate() {
                    let item = Slot::in_place(item.clone(), array.item, over.addressable);
                    if self.walk_round(branch, index_slot(index), item)? == Flow::Break {
                        break;
                    }
                }
                Ok(!array.items().is_empty())
            }
            Value::Map(map) => {
                let entries = map
                    .counted_entries(self.host)
                    .map_err(|failure| self.failure(failure))?;
                let names_keys = branch.pipe.decl.len() > 1;
                for (key, item) in entries.iter() {
                    let key = if names_keys {
                        Slot::in_place(key.clone(), map.key, false)
                    } else {
                        Slot::nothing()
                    };
                    let item = Slot::in_place(item.clone(), map.item, false);
                    if self.walk_round(branch, key, item)? == Flow::Break {
                        break;
                    }
                }
                Ok(!entries.is_empty())
            }
            Value::Nil if !over.is_interface => Ok(false),
            _ => {
                let printed = self.printed(over.value)?;
                Err(self.fail(format!("range can't iterate over {printed}")))
            }
        }
    }

    fn walk_numbers(&mut self, branch: &'t Branch, end: &Value) -> Result<bool, BoxedError> {
        if branch.pipe.decl.len() > 1 {
            let printed = self.printed(end)?;
            return Err(self.fail(format!("can't use {printed} to iterate over more than one variable")));
        }
        let count = match end.bare() {
            Value::Int(_, end) => u64::try_from(*end).unwrap_or(0),
            Value::Uint(_, end) => *end,
            _ => 0,
        };
        for number in 0..count {
            let number = match end.bare() {
                Value::Uint(kind, _) => Value::Uint(*kind, number),
                Value::Int(kind, _) => Value::Int(*kind, i64::try_from(number).unwrap_or(i64::MAX)),
                other => other.clone(),
            };
            let number = match end {
                Value::Named(named, _) => Value::named(named, number),
                _ => number,
            };
            if self.walk_round(branch, Slot::nothing(), Slot::of(number))? == Flow::Break {
                break;
            }
        }
        Ok(count > 0)
    }

    fn walk_round(&mut self, branch: &'t Branch, index: Slot, item: Slot) -> Result<Flow, BoxedError> {
        self.step(1)?;
        let mark = self.vars.len();
        match (branch.pipe.decl.as_slice(), branch.pipe.is_assign) {
            ([], _) => {}
            ([only], true) => self.set_var(name_of(&only.names), item.clone())?,
            ([first, second, ..], true) => {
                self.set_var(name_of(&first.names), index)?;
                self.set_var(name_of(&second.names), item.clone())?;
            }
            (decl, false) => {
                // The pipeline has declared them; this is their value for the iteration.
                if decl.len() > 1
                    && let Some((_, value)) = mark.checked_sub(2).and_then(|at| self.vars.get_mut(at))
                {
                    *value = index;
                }
                if let Some((_, value)) = self.vars.last_mut() {
                    *value = item.clone();
                }
            }
        }
        let flow = self.walk_list(&item, &branch.list)?;
        self.vars.truncate(mark);
        Ok(flow)
    }
}

fn index_slot(index: usize) -> Slot {
    Slot::of(Value::int(index as i64))
}
