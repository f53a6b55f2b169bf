//! Where in an object a value is, as the API server writes it and as a JSON pointer.

use bumpwright_text::pointer::escaped;
use std::fmt::Write;

/// A step from a value to one inside of it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'v> {
    Field(&'v str),
    Item(usize),
}

/// `spec.containers[0].image`.
pub(crate) fn field(steps: &[Step<'_>]) -> String {
    let mut text = String::new();
    for step in steps {
        match step {
            Step::Field(name) if text.is_empty() => text.push_str(name),
            Step::Field(name) => {
                text.push('.');
                text.push_str(name);
            }
            Step::Item(at) => {
                // Writing to a text does not fail.
                let _ = write!(text, "[{at}]");
            }
        }
    }
    text
}

/// `/spec/containers/0/image`.
pub(crate) fn pointer(steps: &[Step<'_>]) -> String {
    let mut text = String::new();
    for step in steps {
        match step {
            Step::Field(name) => {
                text.push('/');
                text.push_str(&escaped(name));
            }
            Step::Item(at) => {
                let _ = write!(text, "/{at}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_written_both_ways() {
        let steps = [Step::Field("a"), Step::Field("b/c~"), Step::Item(2), Step::Field("d")];
        assert_eq!(field(&steps), "a.b/c~[2].d");
        assert_eq!(pointer(&steps), "/a/b~1c~0/2/d");
        assert_eq!((field(&[]), pointer(&[])), (String::new(), String::new()));
    }
}
