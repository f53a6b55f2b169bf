//! The limits of a rendering, and its access to clock and random numbers.

use std::collections::HashMap;

use super::stack;
use crate::value::failure::Failure;
use crate::value::held::held_by_lists;

/// Limits that turn a hostile template into an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Evaluated nodes, iterations and items that functions visit.
    pub steps: u64,
    /// Bytes of output.
    pub output: usize,
    /// Bytes of all strings, lists and maps that it creates, also those that it drops again.
    pub produced: usize,
    /// Depth of template calls, and of values within values.
    pub depth: usize,
}

/// Clock and random numbers for functions: the crate itself has neither.
pub trait World {
    /// Now, in seconds and nanoseconds since 1970-01-01T00:00:00Z.
    fn now(&self) -> (i64, u32);
    /// Fills the buffer with random bytes fit for keys.
    fn random(&self, buffer: &mut [u8]);
    /// Whether the random bytes are no secret and the same each time: then nobody uses the keys that are made of them.
    fn is_repeated(&self) -> bool {
        false
    }
    /// Called before each template of a set that is rendered as a whole. Random bytes may depend on it.
    fn begin(&self, template: &str) {
        let _ = template;
    }
}

/// The rendering that a function runs in.
pub struct Host<'w> {
    limits: Limits,
    steps: u64,
    produced: usize,
    /// Bytes in lists when it began.
    held_before: usize,
    depth: usize,
    /// Whether a missing key of a map is the zero value of its type (`missingkey=zero`).
    pub(crate) zero_for_missing: bool,
    /// How many executions of a template are in progress, by its name.
    nested: HashMap<Box<str>, usize>,
    world: &'w dyn World,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 10_000_000,
            output: 4 << 20,
            produced: 256 << 20,
            depth: 10_000,
        }
    }
}

impl<'w> Host<'w> {
    /// A rendering that has used nothing yet.
    pub fn new(limits: Limits, world: &'w dyn World) -> Self {
        Self {
            limits,
            steps: 0,
            produced: 0,
            held_before: held_by_lists(),
            depth: 0,
            zero_for_missing: false,
            nested: HashMap::new(),
            world,
        }
    }

    /// The same with Go's option `missingkey=zero`.
    #[must_use]
    pub fn with_zero_for_missing_keys(mut self) -> Self {
        self.zero_for_missing = true;
        self
    }

    /// Notes that the execution of a template begins, and returns how many of it were in progress before.
    pub(crate) fn enter(&mut self, name: &str) -> usize {
        match self.nested.get_mut(name) {
            Some(count) => {
                *count += 1;
                *count - 1
            }
            None => {
                self.nested.insert(name.into(), 1);
                0
            }
        }
    }

    /// Notes that it has ended.
    pub(crate) fn leave(&mut self, name: &str) {
        if let Some(count) = self.nested.get_mut(name) {
            *count = count.saturating_sub(1);
        }
    }

    /// The clock and random numbers.
    pub fn world(&self) -> &'w dyn World {
        self.world
    }

    /// The limits of this rendering.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Counts `count` steps.
    ///
    /// # Errors
    /// [`Failure::Limit`] when the rendering has taken too many.
    #[inline]
    pub fn step(&mut self, count: u64) -> Result<(), Failure> {
        self.steps = self.steps.saturating_add(count);
        if self.steps > self.limits.steps {
            Err(self.too_many_steps())
        } else {
            Ok(())
        }
    }

    #[cold]
    fn too_many_steps(&self) -> Failure {
        limit(format!("takes more than {} steps", self.limits.steps))
    }

    /// Counts bytes that are about to be created. A function with a large result (repeating, padding, indenting) calls
    /// this before it allocates.
    ///
    /// # Errors
    /// [`Failure::Limit`] when the rendering has created too many.
    #[inline]
    pub fn produce(&mut self, bytes: usize) -> Result<(), Failure> {
        self.produced = self.produced.saturating_add(bytes);
        let held = held_by_lists().saturating_sub(self.held_before);
        if self.produced.saturating_add(held) > self.limits.produced {
            Err(self.too_many_bytes())
        } else {
            Ok(())
        }
    }

    #[cold]
    fn too_many_bytes(&self) -> Failure {
        limit(format!("creates more than {} bytes of values", self.limits.produced))
    }

    /// Runs `inner` one level deeper.
    ///
    /// # Errors
    /// Those of `inner`, and [`Failure::Limit`] when it is nested too deeply.
    pub fn deeper<T, E: From<Failure>>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T, E>) -> Result<T, E> {
        if self.depth >= self.limits.depth {
            return Err(limit(format!("is nested more than {} levels deep", self.limits.depth)).into());
        }
        self.depth += 1;
        let result = stack::grown(|| inner(self));
        self.depth -= 1;
        result
    }
}

fn limit(what: String) -> Failure {
    Failure::Limit(format!("the template {what}"))
}

/// A world for tests that need none: time zero, and random bytes that are zero.
#[cfg(test)]
pub(crate) struct NoWorld;

#[cfg(test)]
impl World for NoWorld {
    fn now(&self) -> (i64, u32) {
        (0, 0)
    }

    fn random(&self, _: &mut [u8]) {}
}
