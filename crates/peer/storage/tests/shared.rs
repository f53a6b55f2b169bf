//! Artifacts that are unpacked once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::fs;
use std::io::{Cursor, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use bumpwright_storage::{Digest, Shared, SharedError, StorageError};
use support::world;

type Texts = Shared<Digest, String, String>;

fn texts(bound: u64) -> Texts {
    Shared::new(bound, |text: &String| text.len() as u64)
}

fn digest(letter: char) -> Digest {
    format!("sha256:{}", letter.to_string().repeat(64)).parse().unwrap()
}

/// Gets a text, and counts when it had to be unpacked.
fn get(shared: &Texts, letter: char, text: &str, count: &AtomicUsize) -> Arc<String> {
    let open = || Ok(Cursor::new(text.as_bytes().to_vec()));
    let unpack = |from: &mut dyn Read| {
        count.fetch_add(1, Ordering::SeqCst);
        let mut text = String::new();
        from.read_to_string(&mut text).unwrap();
        Ok(text)
    };
    shared.get(&digest(letter), open, unpack).unwrap()
}

#[test]
fn those_who_come_while_it_is_unpacked_wait_for_it() {
    let (shared, count, all_there) = (texts(100), AtomicUsize::new(0), Barrier::new(8));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                all_there.wait();
                assert_eq!(*get(&shared, 'a', "hello", &count), "hello");
            });
        }
    });
    assert_eq!(count.into_inner(), 1);
    assert_eq!(shared.weight(), 5);
}

#[test]
fn what_was_not_used_for_longest_goes_first() {
    let (shared, count) = (texts(10), AtomicUsize::new(0));
    for letter in ['a', 'b', 'a', 'c'] {
        drop(get(&shared, letter, "1234", &count));
    }
    assert_eq!((count.load(Ordering::SeqCst), shared.weight()), (3, 8));
    drop(get(&shared, 'a', "1234", &count));
    assert_eq!(count.load(Ordering::SeqCst), 3);
    drop(get(&shared, 'b', "1234", &count));
    assert_eq!((count.load(Ordering::SeqCst), shared.weight()), (4, 8));
}

#[test]
fn what_is_in_use_is_shared_even_if_it_is_not_kept() {
    let (shared, count) = (texts(10), AtomicUsize::new(0));
    let large = get(&shared, 'a', "more than ten bytes", &count);
    assert_eq!(shared.weight(), 0);
    assert!(Arc::ptr_eq(&large, &get(&shared, 'a', "", &count)));
    drop(large);
    drop(get(&shared, 'a', "more than ten bytes", &count));
    assert_eq!(count.into_inner(), 2);
}

#[test]
fn a_failure_is_shared_and_not_kept() {
    let (shared, count) = (texts(100), AtomicUsize::new(0));
    let open = || Ok(Cursor::new(Vec::new()));
    let error = shared
        .get(&digest('a'), open, |_| Err("no tar".to_owned()))
        .unwrap_err();
    assert!(matches!(&*error, SharedError::Caller(text) if text == "no tar"));
    let error = shared.get(
        &digest('a'),
        || Err::<Cursor<Vec<u8>>, _>("gone".to_owned()),
        |_| unreachable!(),
    );
    assert!(matches!(&*error.unwrap_err(), SharedError::Caller(text) if text == "gone"));
    assert_eq!(*get(&shared, 'a', "hello", &count), "hello");
}

#[test]
fn a_panic_leaves_the_next_one_to_try() {
    let (shared, count) = (texts(100), AtomicUsize::new(0));
    let open = || Ok(Cursor::new(Vec::new()));
    let caught = catch_unwind(AssertUnwindSafe(|| {
        shared.get(&digest('a'), open, |_| panic!("on purpose"))
    }));
    assert!(caught.is_err());
    assert_eq!(*get(&shared, 'a', "hello", &count), "hello");
}

#[test]
fn damage_behind_what_was_unpacked_is_found() {
    let world = world();
    let written = world.write("a.tar.gz", b"hello, world");
    fs::write(world.path(&written), "hello, World").unwrap();
    let shared: Shared<Digest, Vec<u8>, StorageError> = Shared::new(100, |bytes| bytes.len() as u64);
    let take_five = |from: &mut dyn Read| {
        let mut bytes = vec![0; 5];
        from.read_exact(&mut bytes).unwrap();
        Ok(bytes)
    };
    let digest: Digest = written.digest.parse().unwrap();
    let error = shared
        .get(&digest, || world.storage.open(&written), take_five)
        .unwrap_err();
    assert!(matches!(&*error, SharedError::Read { .. }), "{error}");
    assert_eq!(shared.weight(), 0);
}
