//! Applying, pruning and the inventory, against a real API server: what an object becomes, what is said of it, and what it costs.

mod applying;
mod deleting;
mod fields;
mod fluxs;
mod measured;
mod policies;
mod reaching;
mod refusing;
mod world;
