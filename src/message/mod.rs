//! Commit messages: the data that templates see, and their rendering.
