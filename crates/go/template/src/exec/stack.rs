//! Stack space for recursion as deep as a template nests.

/// Every level checks that this much is left, and continues on a new stack when it is not.
const LEFT: usize = 128 << 10;
const MORE: usize = 2 << 20;

/// Runs `inner` with enough stack for one more level.
pub(crate) fn grown<T>(inner: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(LEFT, MORE, inner)
}
