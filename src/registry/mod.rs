//! OCI distribution: which tags a repository has, what they point to, how old it is.
