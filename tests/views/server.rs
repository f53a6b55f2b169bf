//! The server of pages before a real API server: who sees what, how people sign in, what they may change, and what
//! strangers and slow clients can do. Pages themselves are tested in their crate.

mod actions;
mod bounds;
mod cost;
mod differences;
mod inventory;
mod people;
mod process;
mod releases;
mod reviews;
mod routes;
pub mod seeded;
