//! Patterns of the trimming operators: Go's `path.Match`, where `*` and `?` match slashes, too.

use memchr::memmem;

use super::budget::{Budget, EvalError};
use bumpwright_gostd::{first_rune, glob};
use bumpwright_text::Parts;

/// Whether a pattern matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GlobMatch {
    Match,
    NoMatch,
    /// A bad pattern, which is only detected when matching gets that far.
    BadPattern,
}

/// The rest of a text after a piece of a pattern without stars.
enum Rest<'n> {
    Of(&'n [u8]),
    NoMatch,
    BadPattern,
}

/// Matches all of `name`. A star takes as little as lets the piece after it match, without backtracking.
pub(crate) fn matches(mut pattern: &[u8], mut name: &[u8], budget: &mut Budget<'_>) -> Result<GlobMatch, EvalError> {
    while !pattern.is_empty() {
        let (star, piece, behind) = split(pattern);
        pattern = behind;
        if star && piece.is_empty() {
            return Ok(GlobMatch::Match);
        }
        // The last piece has to end where the name does.
        let last = behind.is_empty();
        match match_piece(piece, name, budget)? {
            Rest::Of(rest) if rest.is_empty() || !last => {
                name = rest;
                continue;
            }
            Rest::BadPattern => return Ok(GlobMatch::BadPattern),
            Rest::Of(_) | Rest::NoMatch => {}
        }
        let later = if star {
            later(piece, name, last, budget)?
        } else {
            Rest::NoMatch
        };
        match later {
            Rest::Of(rest) => name = rest,
            Rest::NoMatch => return Ok(GlobMatch::NoMatch),
            Rest::BadPattern => return Ok(GlobMatch::BadPattern),
        }
    }
    Ok(if name.is_empty() {
        GlobMatch::Match
    } else {
        GlobMatch::NoMatch
    })
}

/// The first match of a piece after the start of a name.
fn later<'n>(piece: &[u8], name: &'n [u8], last: bool, budget: &mut Budget<'_>) -> Result<Rest<'n>, EvalError> {
    if is_literal(piece) {
        return later_literal(piece, name, last, budget);
    }
    for skipped in 1..=name.len() {
        match match_piece(piece, name.tail(skipped), budget)? {
            Rest::Of(rest) if last && !rest.is_empty() => {}
            Rest::NoMatch => {}
            found => return Ok(found),
        }
    }
    Ok(Rest::NoMatch)
}

fn is_literal(piece: &[u8]) -> bool {
    memchr::memchr3(b'[', b'?', b'\\', piece).is_none()
}

/// The same for a piece of plain text; the last one has to be at the end.
fn later_literal<'n>(piece: &[u8], name: &'n [u8], last: bool, budget: &mut Budget<'_>) -> Result<Rest<'n>, EvalError> {
    let behind = name.tail(1);
    if last {
        budget.step()?;
        return Ok(if !name.is_empty() && behind.ends_with(piece) {
            Rest::Of(b"")
        } else {
            Rest::NoMatch
        });
    }
    budget.spend(behind.len() + 1)?;
    let rest = memmem::find(behind, piece).and_then(|at| behind.get(at + piece.len()..));
    Ok(rest.map_or(Rest::NoMatch, Rest::Of))
}

/// Whether a pattern begins with stars, its first piece without any, and the rest.
fn split(pattern: &[u8]) -> (bool, &[u8], &[u8]) {
    let stars = pattern.iter().take_while(|byte| **byte == b'*').count();
    let (_, pattern) = pattern.split_at(stars);
    let (piece, behind) = pattern.split_at(glob::piece_len(pattern));
    (stars > 0, piece, behind)
}

fn match_piece<'n>(mut piece: &[u8], mut name: &'n [u8], budget: &mut Budget<'_>) -> Result<Rest<'n>, EvalError> {
    budget.step()?;
    if is_literal(piece) {
        return Ok(name.strip_prefix(piece).map_or(Rest::NoMatch, Rest::Of));
    }
    while let [operator, behind @ ..] = piece {
        budget.step()?;
        let Some((ch, width)) = first_rune(name) else {
            return Ok(Rest::NoMatch);
        };
        let literal = match operator {
            b'[' => {
                budget.spend(behind.len())?;
                match class(behind, ch) {
                    Some((true, behind)) => piece = behind,
                    Some((false, _)) => return Ok(Rest::NoMatch),
                    None => return Ok(Rest::BadPattern),
                }
                name = name.tail(width);
                continue;
            }
            b'?' => {
                (piece, name) = (behind, name.tail(width));
                continue;
            }
            b'\\' => behind,
            _ => piece,
        };
        let [wanted, behind @ ..] = literal else {
            return Ok(Rest::BadPattern);
        };
        match name {
            [found, rest @ ..] if found == wanted => (piece, name) = (behind, rest),
            _ => return Ok(Rest::NoMatch),
        }
    }
    Ok(Rest::Of(name))
}

/// Whether a character is in a class, given the text after its `[`, and the text after its `]`.
fn class(pattern: &[u8], ch: char) -> Option<(bool, &[u8])> {
    let mut is_listed = false;
    let (negated, behind) = glob::class(pattern, |low, high| is_listed |= (low..=high).contains(&ch))?;
    Some((is_listed != negated, behind))
}
