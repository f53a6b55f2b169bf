//! The policy for the tag in use, from the tags that the registry has.

use std::collections::{BTreeMap, BTreeSet};

use super::error::{Misfit, NoShape};
use super::pattern::{Ceiling, Choice, choices};
use super::tag::{Piece, REQUESTS, Tag, could_be_commit, is_date, is_tag, split};

/// How many of the other series are reported.
const OTHERS: usize = 3;

/// A policy that fits the tag in use, with its reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    pub choice: Choice,
    /// The tag that it chooses among those of the registry.
    pub chosen: String,
    pub why: String,
    /// What else there is, and what is worth knowing.
    pub notes: Vec<String>,
    /// What policies of one series share, wherever their ranges begin.
    pub(crate) series: String,
    /// What tells its series from others of the image, for names.
    pub(crate) hint: String,
}

/// The tags of a registry, read for one in use.
struct Peers<'t> {
    now: Tag,
    current: &'t str,
    /// Those of its series.
    like: Vec<(&'t str, Tag)>,
    /// All others, by their outlines: an example, and how many there are.
    others: BTreeMap<String, (&'t str, usize)>,
}

/// The policy for the tag in use. It is evaluated over these tags, and chooses none that is older or of another series.
pub fn shape(tags: &[String], current: &str) -> Result<Shape, NoShape> {
    if !is_tag(current) {
        return Err(Misfit::NoTag.into());
    }
    let peers = Peers::of(tags, current);
    let now = &peers.now;
    let first = split(current).first().map(|(_, word)| word.to_ascii_lowercase());
    if first.is_some_and(|word| REQUESTS.contains(&&*word)) && split(current).len() > 1 {
        return Err(peers.left(Misfit::Request(current.to_owned())));
    }
    if now.is_glued {
        return Err(peers.left(Misfit::Glued(current.to_owned())));
    }
    if now.is_fixed() {
        return if now.has_commit() {
            Err(peers.left(Misfit::Commit(current.to_owned())))
        } else {
            peers.moving(tags, None)
        };
    }
    match peers.is_moved_along(tags) {
        Some(example) => peers.moving(tags, Some(example)),
        None => peers.ordered(tags),
    }
}

impl<'t> Peers<'t> {
    fn of(tags: &'t [String], current: &'t str) -> Self {
        let valid = || tags.iter().map(String::as_str).filter(|tag| is_tag(tag));
        let commits = commits(valid(), current);
        let now = Tag::read(current, &commits);
        let (mut like, mut others) = (Vec::new(), BTreeMap::new());
        for tag in valid() {
            let read = Tag::read(tag, &commits);
            if now.is_like(&read) {
                like.push((tag, read))
            } else {
                let (example, count) = others.entry(read.outline()).or_insert((tag, 0));
                *count += 1;
                if *example < tag {
                    *example = tag;
                }
            }
        }
        Self {
            now,
            current,
            like,
            others,
        }
    }

    /// A reason, with what else the registry has.
    fn left(&self, problem: Misfit) -> NoShape {
        let also = self.also();
        NoShape { problem, also }
    }

    /// What other series there are.
    fn also(&self) -> Option<String> {
        let mut others: Vec<(&str, usize)> = self.others.values().copied().collect();
        others.sort_by_key(|(example, count)| (std::cmp::Reverse(*count), *example));
        let shown: Vec<String> = others
            .iter()
            .take(OTHERS)
            .map(|(tag, count)| counted(tag, *count))
            .collect();
        let more = match others.len().saturating_sub(OTHERS) {
            0 => "",
            _ => " and others",
        };
        (!shown.is_empty()).then(|| format!("also there: {}{more}", shown.join(", ")))
    }

    /// A version that shows that the number in use is moved along by its publisher, as 16 is to 16.4.
    fn is_moved_along<'s>(&self, tags: &'s [String]) -> Option<&'s str> {
        let [prefix @ .., Piece::Number(number)] = self.now.pieces.as_slice().split_last_literal() else {
            return None;
        };
        let prefix = match prefix {
            [] => "",
            [Piece::Literal(v)] if v == "v" => "v",
            _ => return None,
        };
        let longer = format!("{prefix}{number}.");
        let continues = |tag: &&String| {
            let rest = tag.strip_prefix(&longer);
            rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        tags.iter()
            .filter(|tag| is_tag(tag))
            .find(continues)
            .map(String::as_str)
    }

    /// A policy for the digest of the tag itself.
    fn moving(&self, tags: &[String], example: Option<&str>) -> Result<Shape, NoShape> {
        let current = self.current;
        if !tags.iter().any(|tag| tag == current) {
            return Err(self.left(Misfit::Missing(current.to_owned())));
        }
        let choice = Choice::moving(current);
        let policy = choice.policy().map_err(Misfit::Invalid)?;
        let chosen = policy.latest(tags).map_err(Misfit::NoChoice)?.to_owned();
        if chosen != current {
            let tag = current.to_owned();
            return Err(Misfit::NotAlone { tag, chosen }.into());
        }
        let why = match example {
            Some(example) => {
                format!("{current} is moved along by its publisher (there is {example}): its digest is followed")
            }
            None => format!("{current} says no version, its publisher moves it: its digest is followed"),
        };
        Ok(Shape {
            series: series(&choice, Ceiling::None),
            hint: current.to_owned(),
            choice,
            chosen,
            why,
            notes: self.also().into_iter().collect(),
        })
    }

    fn ordered(&self, tags: &[String]) -> Result<Shape, NoShape> {
        let ceiling = self.ceiling();
        let newest = self.newest(ceiling)?;
        let mut why_not = Misfit::NoForm;
        for choice in choices(&self.now, ceiling) {
            match self.checked(tags, &choice, newest) {
                Ok(chosen) => {
                    return Ok(Shape {
                        series: series(&choice, ceiling),
                        hint: self.hint(ceiling),
                        why: self.why(&choice, ceiling),
                        notes: self.notes(tags, ceiling, newest),
                        chosen,
                        choice,
                    });
                }
                Err(why) => why_not = why,
            }
        }
        Err(self.left(why_not))
    }

    /// The newest of the series below the ceiling.
    ///
    /// # Errors
    /// All are older than the tag in use, or two are the newest.
    fn newest(&self, ceiling: Ceiling) -> Result<&(&'t str, Tag), NoShape> {
        let current = self.current;
        let rank = self.now.rank();
        let within = self
            .like
            .iter()
            .filter(|(_, tag)| is_below(tag, ceiling) && tag.rank() >= rank);
        let newest = within.clone().max_by(|one, other| one.1.rank().cmp(&other.1.rank()));
        let newest = newest.ok_or_else(|| self.left(Misfit::Older(current.to_owned())))?;
        let same = within.filter(|(tag, read)| *tag != newest.0 && read.rank() == newest.1.rank());
        match same.clone().next() {
            Some((tag, _)) if self.now.before().is_none() => Err(self.left(Misfit::Unordered {
                one: (*tag).to_owned(),
                other: newest.0.to_owned(),
            })),
            _ => Ok(newest),
        }
    }

    /// Evaluates the policy, as the controller would; the tag that it chooses.
    fn checked(&self, tags: &[String], choice: &Choice, newest: &(&str, Tag)) -> Result<String, Misfit> {
        let tag = || self.current.to_owned();
        let policy = choice.policy()?;
        let chosen = policy.latest(tags);
        let chosen = chosen.map_err(|problem| Misfit::Fails { tag: tag(), problem })?;
        let like = self.like.iter().find(|(tag, _)| *tag == chosen);
        let is_newest = match self.now.before() {
            Some(_) => like.is_some_and(|(_, tag)| tag.rank() == newest.1.rank()),
            None => chosen == newest.0,
        };
        let is_kept = policy
            .compare(chosen, self.current)
            .is_some_and(std::cmp::Ordering::is_ge);
        if !is_newest || !is_kept {
            let chosen = chosen.to_owned();
            return Err(Misfit::Chooses { tag: tag(), chosen });
        }
        if choice.filter.is_none() {
            let like: BTreeSet<&str> = self.like.iter().map(|(tag, _)| *tag).collect();
            let is_stray = |tag: &&String| {
                let single = std::slice::from_ref(*tag);
                !like.contains(tag.as_str()) && policy.latest(single).is_ok()
            };
            if let Some(stray) = tags.iter().find(is_stray) {
                let stray = stray.clone();
                return Err(Misfit::Takes { tag: tag(), stray });
            }
        }
        Ok(chosen.to_owned())
    }

    fn ceiling(&self) -> Ceiling {
        let Tag { core, .. } = self.now;
        let numbers = self
            .now
            .numbers()
            .map(|digits| digits.parse::<u64>().unwrap_or(u64::MAX));
        match numbers.collect::<Vec<u64>>()[..] {
            _ if core < 2 || self.is_calendar() => Ceiling::None,
            [0, minor, ..] if core > 2 => Ceiling::Minor(minor),
            [major, ..] => Ceiling::Major(major),
            [] => Ceiling::None,
        }
    }

    /// Whether the versions are dates: no number of them says what breaks.
    fn is_calendar(&self) -> bool {
        let is_year = |text: &str| text.len() == 4 && is_date(&format!("{text}0101"));
        let mut numbers = self.now.numbers();
        if numbers.next().is_some_and(|first| is_date(first) || is_year(first)) {
            return true;
        }
        let all: Vec<(u64, &str)> = self.like.iter().filter_map(|(_, tag)| year_and_month(tag)).collect();
        let month = |text: &str| text.parse::<u64>().ok();
        let are_dates = all.len() == self.like.len()
            && !all.is_empty()
            && all.iter().all(|(year, text)| {
                (15..=60).contains(year) && month(text).is_some_and(|month| (1..=12).contains(&month))
            });
        let has_zero = all.iter().any(|(_, text)| text.starts_with('0'));
        // 24.1 to 24.12, 25.1 …: no software counts like this for years by chance.
        let is_full = all.iter().any(|(_, text)| month(text) >= Some(10))
            && all
                .iter()
                .any(|(year, _)| all.first().is_some_and(|(other, _)| year != other))
            && all.iter().all(|(year, _)| *year >= 20)
            && all.len() >= 6;
        are_dates && (has_zero || is_full)
    }

    fn hint(&self, ceiling: Ceiling) -> String {
        let literals = self.now.pieces.iter().filter_map(|piece| match piece {
            Piece::Literal(text) => Some(text.trim_matches(['.', '-', '_'])),
            _ => None,
        });
        let number = match ceiling {
            Ceiling::None => None,
            Ceiling::Major(major) => Some(major.to_string()),
            Ceiling::Minor(minor) => Some(format!("0-{minor}")),
        };
        let literals = literals.filter(|text| !text.is_empty()).map(str::to_owned);
        literals.chain(number).collect::<Vec<_>>().join("-")
    }

    fn why(&self, choice: &Choice, ceiling: Ceiling) -> String {
        let current = self.current;
        let what = match (self.now.time().is_some(), self.now.core) {
            (true, 0 | 1) => "many with a time: the latest",
            (_, 0 | 1) if self.now.numbers().count() > 1 => "many with several numbers: the highest",
            (_, 0 | 1) => "many with a number: the highest",
            _ if ceiling == Ceiling::None => "versions made of dates: the latest",
            _ => "several versions: the highest",
        };
        let range = match ceiling {
            Ceiling::None => String::new(),
            Ceiling::Major(major) => format!(" of major version {major}"),
            Ceiling::Minor(minor) => format!(" of 0.{minor} (before 1.0 each minor version may break)"),
        };
        let like = match (self.now.before(), &choice.filter) {
            (Some((word, _)), _) => format!("; releases and {word} count, since {current} is a {word}"),
            (None, Some(_)) => format!(", of tags like {current}"),
            (None, None) => String::new(),
        };
        format!("{current} is one of {what}{range}{like}")
    }

    fn notes(&self, tags: &[String], ceiling: Ceiling, newest: &(&str, Tag)) -> Vec<String> {
        let mut notes = Vec::new();
        let beyond = self
            .like
            .iter()
            .filter(|(_, tag)| !is_below(tag, ceiling) && tag.rank() > newest.1.rank());
        if let Some((tag, _)) = beyond.max_by(|one, other| one.1.rank().cmp(&other.1.rank())) {
            notes.push(format!("{tag} is there too: change the range to take it"));
        }
        if !tags.iter().any(|tag| tag == self.current) {
            notes.push(format!("the registry has no tag {} any more", self.current));
        }
        if let Some((word, before)) = self.now.before()
            && before.ends_with(|c: char| c.is_ascii_digit())
            && !before.contains('.')
        {
            notes.push(format!("{word}10 comes before {word}9 in the order of versions"));
        }
        notes.extend(self.also());
        notes
    }
}

/// Pieces without the literal at the end.
trait WithoutEnd {
    fn split_last_literal(&self) -> &Self;
}

impl WithoutEnd for [Piece] {
    fn split_last_literal(&self) -> &Self {
        match self.split_last() {
            Some((Piece::Literal(_), rest)) if !rest.is_empty() => rest,
            _ => self,
        }
    }
}

/// The places of words that are ids of commits: with letters here, or in tags like it.
fn commits<'t>(tags: impl Iterator<Item = &'t str> + Clone, current: &str) -> Vec<usize> {
    let now = split(current);
    let has_letter = |word: &str| could_be_commit(word) && word.bytes().any(|c| c.is_ascii_alphabetic());
    let shows = |n: usize, word: &str, tag: &str| {
        let other = split(tag);
        other.len() == now.len()
            && other.iter().zip(&now).take(n).all(|(one, other)| one == other)
            && other
                .get(n)
                .is_some_and(|(_, text)| text.len() == word.len() && has_letter(text))
    };
    let is_commit = |n: usize, word: &str| {
        let has_digit = word.bytes().any(|c| c.is_ascii_digit());
        let may_be = could_be_commit(word) && has_digit && !is_date(word);
        may_be && (has_letter(word) || tags.clone().any(|tag| shows(n, word, tag)))
    };
    let words = now.iter().enumerate();
    words
        .filter(|(n, (_, word))| is_commit(*n, word))
        .map(|(n, _)| n)
        .collect()
}

fn is_below(tag: &Tag, ceiling: Ceiling) -> bool {
    let (numbers, _) = tag.rank();
    match (ceiling, numbers.as_slice()) {
        (Ceiling::None, _) => true,
        (Ceiling::Major(major), [first, ..]) => *first == major,
        (Ceiling::Minor(minor), [0, second, ..]) => *second == minor,
        _ => false,
    }
}

fn year_and_month(tag: &Tag) -> Option<(u64, &str)> {
    let mut numbers = tag.numbers();
    Some((
        numbers.next().filter(|year| year.len() == 2)?.parse().ok()?,
        numbers.next()?,
    ))
}

fn series(choice: &Choice, ceiling: Ceiling) -> String {
    format!(
        "{:?} {:?} {:?} {ceiling:?}",
        choice.filter,
        choice.extract,
        std::mem::discriminant(&choice.rule)
    )
}

fn counted(tag: &str, count: usize) -> String {
    match count {
        1 => tag.to_owned(),
        count => format!("{tag} and {} like it", count - 1),
    }
}
