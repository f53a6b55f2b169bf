//! Paths with slashes. The functions for paths of the operating system are the same, since Flux runs on Linux.

use super::strval::{made, walked};
use bumpwright_template::{Args, BOOL, Failure, Function, Host, STRING, Value};
use bumpwright_text::{Cuts, Parts};

/// The functions of this family.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("base", &[&STRING], &STRING, base),
    Function::new("dir", &[&STRING], &STRING, dir),
    Function::new("clean", &[&STRING], &STRING, clean),
    Function::new("ext", &[&STRING], &STRING, ext),
    Function::new("isAbs", &[&STRING], &BOOL, is_abs),
    Function::new("osBase", &[&STRING], &STRING, base),
    Function::new("osDir", &[&STRING], &STRING, dir),
    Function::new("osClean", &[&STRING], &STRING, clean),
    Function::new("osExt", &[&STRING], &STRING, ext),
    Function::new("osIsAbs", &[&STRING], &BOOL, is_abs),
];

/// The last element, without trailing slashes.
fn base(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let path = args.text(0)?;
    walked(host, path)?;
    let base = match path.iter().rposition(|byte| *byte != b'/') {
        None if path.is_empty() => b".",
        None => b"/".as_slice(),
        Some(end) => path.part(..=end).behind_last(b'/'),
    };
    Ok(made(host, base.to_vec())?.into())
}

/// Everything before the last slash, cleaned.
fn dir(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let path = args.text(0)?;
    walked(host, path)?;
    let end = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let dir = cleaned(path.part(..end));
    Ok(made(host, dir)?.into())
}

fn clean(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let path = args.text(0)?;
    walked(host, path)?;
    Ok(made(host, cleaned(path))?.into())
}

/// The shortest equivalent path, without access to files.
fn cleaned(path: &[u8]) -> Vec<u8> {
    let rooted = path.first() == Some(&b'/');
    let mut out = Vec::with_capacity(path.len());
    if rooted {
        out.push(b'/');
    }
    // What no `..` can remove: the root, and leading `..`s.
    let mut floor = out.len();
    for element in path.split(|byte| *byte == b'/') {
        match element {
            b"" | b"." => {}
            b".." if out.len() > floor => {
                let above_floor = out.tail(floor);
                let slash = above_floor.iter().rposition(|byte| *byte == b'/');
                out.truncate(floor + slash.unwrap_or(0));
            }
            b".." if rooted => {}
            element => {
                if out.len() > usize::from(rooted) {
                    out.push(b'/');
                }
                out.extend_from_slice(element);
                if element == b".." {
                    floor = out.len();
                }
            }
        }
    }
    if out.is_empty() {
        out.push(b'.');
    }
    out
}

/// The extension of the last element, from its last dot on.
fn ext(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let path = args.text(0)?;
    walked(host, path)?;
    let start = path.iter().rposition(|byte| matches!(byte, b'/' | b'.'));
    let tail = start.map_or(&[][..], |start| path.part(start..));
    let ext = if tail.first() == Some(&b'.') { tail } else { b"" };
    Ok(made(host, ext.to_vec())?.into())
}

fn is_abs(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    Ok((args.text(0)?.first() == Some(&b'/')).into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use crate::testing::call;
    use bumpwright_template::Value;

    #[test]
    fn paths_come_apart_as_in_go() {
        for (path, base, dir, clean, ext) in [
            ("", ".", ".", ".", ""),
            ("/", "/", "/", "/", ""),
            ("///", "/", "/", "/", ""),
            ("a/b.tar.gz", "b.tar.gz", "a", "a/b.tar.gz", ".gz"),
            ("a.b/c//", "c", "a.b/c", "a.b/c", ""),
            ("../../a/../b", "b", "../..", "../../b", ""),
            ("a/../../b/..", "..", "../b", "..", "."),
            ("/../a/./b/../..", "..", "/a", "/", "."),
            ("a/b/../../..", "..", ".", "..", "."),
        ] {
            for (name, expected) in [("base", base), ("dir", dir), ("clean", clean), ("ext", ext)] {
                let Value::String(text) = call(name, &[path.into()]).unwrap() else {
                    panic!("not a string")
                };
                assert_eq!(text.lossy(), expected, "{name} {path:?}");
            }
        }
    }
}
