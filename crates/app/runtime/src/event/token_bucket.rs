//! A token bucket with the rounding of Go's `golang.org/x/time/rate`.

/// Full at first; each event takes one token, and new ones come at an even rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenBucket {
    tokens: f64,
    /// Nanoseconds since 1970; none while it is full.
    last: Option<i64>,
}

impl TokenBucket {
    const SIZE: f64 = 25.0;
    /// Tokens in a second: one in five minutes, as a 32-bit float like in client-go.
    const PACE: f64 = (1.0_f32 / 300.0) as f64;

    pub fn full() -> Self {
        Self {
            tokens: Self::SIZE,
            last: None,
        }
    }

    /// Takes a token if there is one.
    pub fn take(&mut self, now: i64) -> bool {
        let elapsed = self.last.map_or(0, |last| now.saturating_sub(last).max(0));
        let tokens = (self.tokens + seconds(elapsed) * Self::PACE).min(Self::SIZE) - 1.0;
        // A wait of less than a nanosecond counts as none.
        let waits = tokens < 0.0 && (-tokens / Self::PACE) * 1e9 >= 1.0;
        if !waits {
            (self.tokens, self.last) = (tokens, Some(now));
        }
        !waits
    }
}

/// Go's `Duration.Seconds`: whole seconds and the rest, rounded separately.
fn seconds(nanos: i64) -> f64 {
    const SECOND: i64 = 1_000_000_000;
    (nanos / SECOND) as f64 + (nanos % SECOND) as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_a_burst_and_then_one_in_five_minutes() {
        let mut bucket = TokenBucket::full();
        let second = 1_000_000_000;
        let start = 1_795_310_523 * second;
        assert_eq!((0..30).filter(|_| bucket.take(start)).count(), 25);
        assert!(!bucket.take(start + 299 * second));
        assert!(bucket.take(start + 301 * second));
        assert!(!bucket.take(start + 302 * second));
        assert!(!bucket.take(start), "a clock that is set back gives nothing");
    }
}
