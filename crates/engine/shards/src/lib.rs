//! Several processes, the members of a group, share the objects of a cluster. Here are the rules; requests and clocks
//! are the caller's, so that `tests/simulation.rs` runs these same rules through thousands of schedules.
//!
//! ```text
//! object ─▶ key ─▶ bucket (256) ─▶ Deal: the owner of each bucket, and since which epoch ─▶ View: may we work at it?
//! ```
//!
//! # What is stored
//!
//! Each member has a Lease, which it alone renews: with the epoch that it has adopted, and the objects that it is still
//! at ([`Ack`]). One more Lease has the [`Deal`]. Every write has the version that was read as its precondition, so the
//! versions of a Lease are one sequence, and a request that comes late changes nothing. All of them are read by one
//! consistent list, a [`Snapshot`].
//!
//! # Why an object never has two owners
//!
//! A member is *bound* by the newest deal that it has adopted: it begins work only at objects of its own buckets. It
//! acknowledges an epoch after that, and names in the same write the objects of other buckets that it is still at. A
//! member takes a bucket that it has since epoch *s* once, in one snapshot, each other member has acknowledged *s* or
//! later; an object that one of them names waits until it is not named any more ([`Member::observe`]).
//!
//! Suppose that *q* works at an object of a bucket that it has since *s*, and so does *p*, since *r*, with *r* < *s*:
//! the owner of a bucket is one for each epoch. *q* has seen *p*'s acknowledgement of *s* or later without the object.
//! So *p*, when it wrote that, was bound by a deal that gave the bucket to *q*, or by a later one, and was not at the
//! object; it can begin again only by an epoch after *s*, not by *r*. The argument is the same with the roles changed.
//! A member that was not in the snapshot had no Lease then: one that joins later adopts the deal of the time first, and
//! works at nothing before.
//!
//! A member ends when its Lease is gone, and its Lease is gone only
//! - when it has finished its work, and deletes it itself;
//! - when another member has seen the same version for the Lease's whole duration and a margin, and deletes that
//!   version. The member counts its time from before its last successful renewal, sends nothing once it is over (the
//!   fence), and takes no renewal that is answered later ([`Member::renewed`]). So it was fenced before it was deleted.
//!   A renewal that is under way fails, since its version is gone.
//!
//! Clocks need only run at about the same rate. What no such scheme excludes is a request that has left a member before
//! it was fenced and arrives after the margin; client-go's leader election does not either. Statuses have versions as
//! preconditions, and pushes the old commit.
//!
//! # Objects that move by themselves
//!
//! Most keys never change. Where one follows a reference in the spec (a policy goes with its repository), two members
//! may see the change at different times, and no epoch tells. There
//! - a run begins with a consistent read of the object, after it is counted as work: with another key
//!   it does not begin;
//! - all such objects in work are named in each renewal;
//! - a member that learns of a key waits until each other member has renewed twice since: the second of these renewals
//!   was composed after the change, so it names each run that began before it ([`View::settled`]). An object whose spec
//!   never changed does not wait.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod ack;
mod balance;
mod deal;
mod key;
mod member;
mod view;

pub use ack::Ack;
pub use balance::{is_uneven, loads, next};
pub use deal::{Deal, InvalidDeal};
pub use key::{BUCKETS, bucket, id};
pub use member::{Action, Deposed, Joining, Member, Rules, SeenDeal, SeenMember, Snapshot};
pub use view::{Verdict, View};
