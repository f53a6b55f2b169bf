//! Retries of requests.

use std::time::{Duration, SystemTime};

use ureq::http::StatusCode;

use super::Answer;
use bumpwright_gostd::{HTTP_DATE, Time};

/// The retries after temporary errors (429, 5xx) and broken connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The most attempts.
    pub tries: u32,
    /// The first pause; each further one is three times as long.
    pub first: Duration,
    /// The longest pause, also when a server demands a longer one.
    pub most: Duration,
}

impl Default for RetryPolicy {
    /// Four attempts within some seconds.
    fn default() -> Self {
        Self {
            tries: 4,
            first: Duration::from_millis(200),
            most: Duration::from_secs(30),
        }
    }
}

impl RetryPolicy {
    /// The pause before attempt `next` (the first one is 1), or none after the last one. A pause that the server
    /// demands counts unless it is shorter than our own.
    pub(super) fn pause(&self, next: u32, asked: Option<Duration>) -> Option<Duration> {
        if next > self.tries {
            return None;
        }
        let own = self.first.saturating_mul(3_u32.saturating_pow(next.saturating_sub(2)));
        match asked {
            Some(asked) if asked > self.most => None,
            Some(asked) => Some(asked.max(self.first)),
            None => {
                let pause = own.min(self.most);
                Some(pause_between(pause - pause / 4, pause))
            }
        }
    }
}

/// Whether a status is temporary (RFC 9110 and RFC 6585; the list of go-containerregistry).
pub(super) fn means_later(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 429 | 499 | 500 | 502 | 503 | 504 | 522)
}

/// The pause of `Retry-After`: seconds or a date (RFC 9110, *Retry-After*).
pub(super) fn asked(answer: &Answer) -> Option<Duration> {
    let value = answer.header("retry-after")?.trim();
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let at = Time::parse(HTTP_DATE, value.as_bytes()).ok()?.system()?;
    // A time in the past asks for no pause.
    at.duration_since(SystemTime::now()).ok().or(Some(Duration::ZERO))
}

/// A random pause in a range, so that many waiting clients do not retry at once.
#[must_use]
pub fn pause_between(least: Duration, most: Duration) -> Duration {
    let mut random = [0; 4];
    // Without randomness the longest pause is used.
    let _ = getrandom::fill(&mut random);
    let share = f64::from(u32::from_ne_bytes(random)) / f64::from(u32::MAX);
    most - most.saturating_sub(least).mul_f64(share)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_until_the_tries_are_used_up() {
        let retry_policy = RetryPolicy {
            tries: 3,
            first: Duration::from_millis(100),
            most: Duration::from_secs(10),
        };
        let second = retry_policy.pause(2, None).unwrap();
        let third = retry_policy.pause(3, None).unwrap();
        assert!((75..=100).contains(&second.as_millis()), "{second:?}");
        assert!((225..=300).contains(&third.as_millis()), "{third:?}");
        assert_eq!(retry_policy.pause(4, None), None);
        assert_eq!(
            retry_policy.pause(2, Some(Duration::from_secs(3))),
            Some(Duration::from_secs(3))
        );
        assert_eq!(
            retry_policy.pause(2, Some(Duration::ZERO)),
            Some(Duration::from_millis(100))
        );
        assert_eq!(retry_policy.pause(2, Some(Duration::from_secs(11))), None);
    }

    #[test]
    fn chance_spreads_pauses_over_a_range() {
        let (least, most) = (Duration::from_millis(100), Duration::from_millis(200));
        let pauses: Vec<Duration> = (0..64).map(|_| pause_between(least, most)).collect();
        assert!(pauses.iter().all(|pause| (least..=most).contains(pause)));
        let middle = Duration::from_millis(150);
        assert!(pauses.iter().any(|pause| *pause < middle) && pauses.iter().any(|pause| *pause > middle));
        assert_eq!(pause_between(most, most), most);
    }
}
