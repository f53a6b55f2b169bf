//! Apply, prune and the inventory, against a real API server: the resulting objects, the reports, and the cost.

mod applying;
mod deleting;
mod fields;
mod fluxs;
mod measured;
mod policies;
mod reaching;
mod refusing;
mod world;
