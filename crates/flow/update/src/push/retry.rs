//! Whether a run starts over after a failure: a pure decision; the caller sleeps.

use std::ops::Range;

use crate::error::RunError;
use crate::job::destination::is_review;
use bumpwright_git::{GitError, ObjectId};

/// Attempts before a run gives up on races. Each loss means that somebody else has pushed, so many of them are only a
/// busy branch: with four contenders one in a hundred thousand runs loses all of these.
const TRIES: u32 = 40;

/// Repeated equal losses are not a race: a mirror that lags behind its server has caught up by then.
const SAME_LOSSES: u32 = 6;

/// A damaged mirror is rebuilt by the next fetch. This many rebuilds are enough.
const DAMAGED_TRIES: u32 = 3;

/// The attempts of one run.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    /// Since the beginning, or since the last attempt that was repeated without a failure.
    tries: u32,
    races: u32,
    /// The last loss, and its repetitions.
    lost: Option<(Loss, u32)>,
}

/// A push that came too late. An equal loss, repeated, is not a race.
#[derive(Debug, PartialEq, Eq)]
struct Loss {
    reference: String,
    expected: Option<ObjectId>,
    now: Option<ObjectId>,
}

/// The decision after a failure.
#[derive(Debug)]
pub(crate) enum Decision {
    /// Start over after a random pause from this range, in milliseconds.
    Again(Range<u64>),
    GiveUp(RunError),
}

impl Attempts {
    pub(crate) fn begin(&mut self) {
        self.tries += 1;
    }

    /// The next attempt is not a repetition: it has a newer tip, or another commit.
    pub(crate) fn renew(&mut self) {
        self.tries = 0;
    }

    /// How often a push lost its race.
    pub(crate) fn races(&self) -> u32 {
        self.races
    }

    /// Decides after a failed attempt. Once some push has landed, starting over would not push the rest.
    pub(crate) fn after(&mut self, error: RunError, has_landed: bool) -> Decision {
        match error {
            RunError::Push {
                url,
                source:
                    GitError::Moved {
                        reference,
                        expected,
                        now,
                    },
            } if !has_landed => self.after_loss(
                url,
                Loss {
                    reference,
                    expected,
                    now,
                },
            ),
            // The mirror is rebuilt by the next fetch: this run can still succeed.
            RunError::Fetch {
                source: GitError::Damaged(_),
                ..
            }
            | RunError::Read {
                source: GitError::Damaged(_),
                ..
            } if self.tries < DAMAGED_TRIES => Decision::Again(0..0),
            error => Decision::GiveUp(error),
        }
    }

    fn after_loss(&mut self, url: String, loss: Loss) -> Decision {
        self.races += 1;
        let tries = self.tries;
        if tries >= TRIES {
            let source = loss.into();
            return Decision::GiveUp(RunError::Races { url, tries, source });
        }
        let times = match &self.lost {
            Some((last, times)) if *last == loss => times + 1,
            _ => 1,
        };
        if times >= SAME_LOSSES {
            let is_change = is_review(&loss.reference);
            let source = loss.into();
            return Decision::GiveUp(if is_change {
                RunError::NotGerrit { url, source }
            } else {
                RunError::Hidden { url, source }
            });
        }
        self.lost = Some((loss, times));
        Decision::Again(0..longest_pause(tries))
    }
}

/// Short at first; longer and more spread out with each lost race.
fn longest_pause(tries: u32) -> u64 {
    20 << tries.min(6)
}

impl From<Loss> for GitError {
    fn from(loss: Loss) -> Self {
        Self::Moved {
            reference: loss.reference,
            expected: loss.expected,
            now: loss.now,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    const MAIN: &str = "refs/heads/main";

    fn url() -> String {
        "https://git.example/fleet".to_owned()
    }

    /// A push that found the `n`-th commit of others at `reference`.
    fn lost(reference: &str, n: u8) -> RunError {
        RunError::Push {
            url: url(),
            source: GitError::Moved {
                reference: reference.to_owned(),
                expected: None,
                now: Some(ObjectId::from([n; 20])),
            },
        }
    }

    fn damaged() -> [RunError; 2] {
        let source = || GitError::Damaged("object 1 is missing".to_owned());
        [
            RunError::Fetch {
                url: url(),
                source: source(),
            },
            RunError::Read {
                url: url(),
                source: source(),
            },
        ]
    }

    fn failed(attempts: &mut Attempts, error: RunError) -> Decision {
        attempts.begin();
        attempts.after(error, false)
    }

    fn pause(decision: Decision) -> Range<u64> {
        match decision {
            Decision::Again(pause) => pause,
            Decision::GiveUp(error) => panic!("gave up: {error}"),
        }
    }

    fn error(decision: Decision) -> RunError {
        match decision {
            Decision::Again(pause) => panic!("starts over: {pause:?}"),
            Decision::GiveUp(error) => error,
        }
    }

    #[test]
    fn pauses_grow_from_loss_to_loss_up_to_a_bound() {
        let mut attempts = Attempts::default();
        for (n, longest) in [(1, 40), (2, 80), (3, 160), (4, 320), (5, 640), (6, 1280), (7, 1280)] {
            assert_eq!(pause(failed(&mut attempts, lost(MAIN, n))), 0..longest, "loss {n}");
        }
        assert_eq!(attempts.races(), 7);
    }

    #[test]
    fn others_that_win_each_time_end_a_run() {
        let mut attempts = Attempts::default();
        for n in 1..40 {
            pause(failed(&mut attempts, lost(MAIN, n)));
        }
        let error = error(failed(&mut attempts, lost(MAIN, 40)));
        assert!(matches!(error, RunError::Races { tries: 40, .. }), "{error}");
        assert_eq!(attempts.races(), 40);
    }

    #[test]
    fn a_change_that_became_a_reference_is_not_at_a_gerrit() {
        let mut attempts = Attempts::default();
        for _ in 1..6 {
            pause(failed(&mut attempts, lost("refs/for/main", 1)));
        }
        let error = error(failed(&mut attempts, lost("refs/for/main", 1)));
        assert!(matches!(&error, RunError::NotGerrit { .. }), "{error}");
    }

    #[test]
    fn the_same_loss_six_times_in_a_row_is_no_race() {
        let mut attempts = Attempts::default();
        for n in [1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1] {
            pause(failed(&mut attempts, lost(MAIN, n)));
        }
        let error = error(failed(&mut attempts, lost(MAIN, 1)));
        assert!(matches!(&error, RunError::Hidden { .. }), "{error}");
        assert!(
            error
                .to_string()
                .contains("refs/heads/main has moved: expected no such reference")
        );
    }

    /// What is compared is the loss, reference and commits, not only what was found.
    #[test]
    fn losses_at_two_references_are_two() {
        let mut attempts = Attempts::default();
        for n in 0..20 {
            let reference = if n % 2 == 0 { MAIN } else { "refs/heads/next" };
            pause(failed(&mut attempts, lost(reference, 1)));
        }
    }

    #[test]
    fn a_damaged_mirror_gets_two_more_attempts_at_once() {
        for (first, last) in damaged().into_iter().zip(damaged()) {
            let mut attempts = Attempts::default();
            assert_eq!(pause(failed(&mut attempts, first)), 0..0);
            attempts.begin();
            let error = error(failed(&mut attempts, last));
            assert!(
                matches!(error, RunError::Fetch { .. } | RunError::Read { .. }),
                "{error}"
            );
            assert_eq!(attempts.races(), 0);
        }
    }

    #[test]
    fn what_has_landed_in_part_is_not_tried_again() {
        let mut attempts = Attempts::default();
        attempts.begin();
        let error = error(attempts.after(lost(MAIN, 1), true));
        assert!(matches!(error, RunError::Push { .. }), "{error}");
        assert_eq!(attempts.races(), 0);
    }

    #[test]
    fn other_failures_are_not_tried_again() {
        let error = error(failed(&mut Attempts::default(), RunError::NoBase));
        assert!(matches!(error, RunError::NoBase), "{error}");
    }

    #[test]
    fn an_attempt_that_was_made_anew_counts_from_the_start() {
        let mut attempts = Attempts::default();
        for n in 1..40 {
            pause(failed(&mut attempts, lost(MAIN, n)));
        }
        attempts.renew();
        assert_eq!(pause(failed(&mut attempts, lost(MAIN, 40))), 0..40);
    }
}
