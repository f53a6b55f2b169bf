//! Fields that are written for several Applications: a field that stays with argocd-image-updater gets no marker,
//! not even of an Application that is adopted.

use std::collections::BTreeMap;

use bumpwright_edit::Part;
use bumpwright_policy::PolicyName;

use super::groups::Groups;
use super::{Unit, Wish};
use crate::objects::Wanted;

/// A field that an image is written to.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) file: usize,
    /// The byte where it begins.
    pub(super) start: usize,
    pub(super) part: Part,
    /// In words.
    pub(super) place: String,
}

/// Who writes a field: the unit, its wish, the field there.
#[derive(Clone, Copy)]
struct Claim {
    unit: usize,
    wish: usize,
    field: usize,
}

/// Finds those that have to stay, which may make others stay; each with what there is to tell.
pub(super) fn find(units: &[Unit<'_>], groups: &Groups) -> Vec<(usize, usize, String)> {
    let mut claims: BTreeMap<(usize, usize), Vec<Claim>> = BTreeMap::new();
    for (n, unit) in units.iter().enumerate() {
        for (w, wish) in unit.wishes.iter().enumerate() {
            for (f, field) in wish.fields.iter().enumerate() {
                let claim = Claim {
                    unit: n,
                    wish: w,
                    field: f,
                };
                claims.entry((field.file, field.start)).or_default().push(claim);
            }
        }
    }
    claims.retain(|_, claims| claims.len() > 1);
    let mut stays: Vec<bool> = units.iter().map(|unit| unit.stays).collect();
    let mut conflicts = Vec::new();
    loop {
        let before = conflicts.len();
        for claims in claims.values() {
            for (n, one) in claims.iter().enumerate() {
                for other in claims.iter().skip(n + 1) {
                    judge(units, groups, (*one, *other), &mut stays, &mut conflicts);
                }
            }
        }
        if conflicts.len() == before {
            return conflicts;
        }
    }
}

fn judge(
    units: &[Unit<'_>],
    groups: &Groups,
    (one, other): (Claim, Claim),
    stays: &mut [bool],
    told: &mut Vec<(usize, usize, String)>,
) {
    let get = |claim: Claim| {
        let unit = units.get(claim.unit)?;
        let wish = unit.wishes.get(claim.wish)?;
        Some((unit, wish, wish.fields.get(claim.field)?))
    };
    let (Some(first), Some(second)) = (get(one), get(other)) else {
        return;
    };
    let is_left = |claim: Claim| stays.get(claim.unit).copied().unwrap_or(true);
    let why = match (is_left(one), is_left(other)) {
        (true, true) => return,
        (true, false) | (false, true) if one.unit != other.unit => {
            "which stays with argocd-image-updater: see what is said of that".to_owned()
        }
        _ => match contradiction((first.1, first.2.part), (second.1, second.2.part), groups) {
            Some(why) => why.to_owned(),
            None => return,
        },
    };
    for (claim, (_, wish, field), (_, rival, _)) in [(one, first, second), (other, second, first)] {
        let Some(stays) = stays.get_mut(claim.unit) else {
            continue;
        };
        if std::mem::replace(stays, true) {
            continue;
        }
        let text = format!(
            "{} is written for {} of {}, too, {why}",
            field.place, rival.image, rival.subject
        );
        told.push((claim.unit, claim.wish, format!("{}: {text}", wish.image)));
    }
}

/// Why one marker cannot be for both.
fn contradiction(
    (one, part): (&Wish<'_>, Part),
    (other, other_part): (&Wish<'_>, Part),
    groups: &Groups,
) -> Option<&'static str> {
    // What was marked by hand has no choice of its own, and the policy of its marker.
    let is_one = one.choice.is_some() || (one.policy.is_some() && one.policy == other.policy);
    let same_choice = is_one && part == other_part && choice(one) == choice(other);
    if !same_choice {
        return Some("by another choice of versions: have one choice for both, or a field for each");
    }
    let (Some(group), Some(other_group)) = (one.group, other.group) else {
        return None;
    };
    let same_policy: Option<&PolicyName> = one
        .policy
        .as_ref()
        .filter(|policy| other.policy.as_ref() == Some(policy));
    let fits = group == other_group || (groups.are_apart(group, other_group) && same_policy.is_some());
    (!fits).then_some("and committed in another way: have one write-back for both, or a field for each")
}

/// What is chosen, whoever commits it.
fn choice(wish: &Wish<'_>) -> Option<Wanted> {
    wish.choice.clone().map(|wanted| Wanted {
        labels: BTreeMap::new(),
        ..wanted
    })
}
