//! Room on the stack for what is nested as deeply as a template's author likes.

/// Every level asks whether this much is left, and goes on elsewhere when it is not.
const LEFT: usize = 128 << 10;
const MORE: usize = 2 << 20;

/// Runs `inner` with enough room for one more level.
pub(super) fn grown<T>(inner: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(LEFT, MORE, inner)
}
