//! Wire types of the Kubernetes kinds, in all their versions.
