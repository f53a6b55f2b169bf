//! shuttle's locks with the interface of `parking_lot`, as far as the models' sources need it.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

/// A mutex that cannot be poisoned.
#[derive(Debug, Default)]
pub struct Mutex<T>(shuttle::sync::Mutex<T>);

/// The guard of a locked mutex. It holds none only while its thread waits for a [`Condvar`].
#[derive(Debug)]
pub struct MutexGuard<'a, T>(Option<shuttle::sync::MutexGuard<'a, T>>);

/// A condition that threads wait for.
#[derive(Debug, Default)]
pub struct Condvar(shuttle::sync::Condvar);

impl<T> Mutex<T> {
    /// An unlocked mutex.
    pub fn new(value: T) -> Self {
        Self(shuttle::sync::Mutex::new(value))
    }

    /// Waits for the mutex and locks it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(Some(self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())))
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("the mutex is locked")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("the mutex is locked")
    }
}

impl Condvar {
    /// A condition that nothing waits for.
    pub fn new() -> Self {
        Self::default()
    }

    /// Unlocks the mutex until the condition is notified.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let held = guard.0.take().expect("the mutex is locked");
        guard.0 = Some(self.0.wait(held).unwrap_or_else(|poisoned| poisoned.into_inner()));
    }

    /// Waits as long as `condition` holds. shuttle has no time, so it ends only by a notification.
    pub fn wait_while_for<T>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut condition: impl FnMut(&mut T) -> bool,
        _: Duration,
    ) {
        while condition(guard) {
            self.wait(guard);
        }
    }

    /// Wakes one of the waiting threads.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all waiting threads.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}
