//! The bound on the database: its disk space is shared by all namespaces, half of it at most for each.

use std::collections::BTreeMap;

use redb::{ReadableTable, Table};

use super::store::Refused;

/// What each scan takes beside its tags, in bytes.
const BESIDE: u64 = 64;

/// The size of scans whose tags were removed to make room.
pub(super) const REMOVED: u64 = 0;

/// The space of a scan with so many bytes of tags.
pub(super) fn space(owner: &str, tags: usize) -> u64 {
    (owner.len() as u64 + tags as u64).saturating_add(BESIDE)
}

/// Makes room for a scan that takes `wanted` bytes in place of those that it takes now. A namespace beyond its half has
/// to do with it; when all have too much together, the namespace that takes most gives up its largest scans, as long as
/// it takes more than the one that asks. Returns the owners of removed scans.
///
/// # Errors
/// In the inner result: the scan does not fit.
pub(super) fn make_room(
    tags: &mut Table<'_, &'static str, &'static [u8]>,
    sizes: &mut Table<'_, &'static str, u64>,
    (owner, wanted): (&str, u64),
    most: u64,
) -> Result<Result<Vec<String>, Refused>, redb::StorageError> {
    let mut usage = Usage::of(sizes)?;
    let namespace = namespace(owner);
    usage.change(namespace, sizes.get(owner)?.map_or(0, |size| size.value()), wanted);
    let own = usage.of_namespace(namespace);
    if own > most / 2 {
        return Ok(Err(Refused::Namespace(most / 2)));
    }
    let mut removed = Vec::new();
    while usage.all() > most {
        let Some(greatest) = usage.greatest().filter(|other| usage.of_namespace(other) > own) else {
            return Ok(Err(Refused::Full(most)));
        };
        let Some((largest, size)) = largest(sizes, &greatest)? else {
            return Ok(Err(Refused::Full(most)));
        };
        tags.remove(largest.as_str())?;
        sizes.insert(largest.as_str(), REMOVED)?;
        usage.change(&greatest, size, REMOVED);
        removed.push(largest);
    }
    Ok(Ok(removed))
}

fn namespace(owner: &str) -> &str {
    owner.split_once('/').map_or(owner, |(namespace, _)| namespace)
}

/// The largest scan of a namespace, and its size.
fn largest(sizes: &Table<'_, &'static str, u64>, wanted: &str) -> Result<Option<(String, u64)>, redb::StorageError> {
    let mut largest: Option<(String, u64)> = None;
    for entry in sizes.iter()? {
        let (owner, size) = entry?;
        let is_larger = largest.as_ref().is_none_or(|(_, other)| size.value() > *other);
        if size.value() != REMOVED && is_larger && namespace(owner.value()) == wanted {
            largest = Some((owner.value().to_owned(), size.value()));
        }
    }
    Ok(largest)
}

/// The space of scans by namespace.
struct Usage(BTreeMap<String, u64>);

impl Usage {
    fn of(sizes: &Table<'_, &'static str, u64>) -> Result<Self, redb::StorageError> {
        let mut usage = Self(BTreeMap::new());
        for entry in sizes.iter()? {
            let (owner, size) = entry?;
            usage.change(namespace(owner.value()), 0, size.value());
        }
        Ok(usage)
    }

    fn change(&mut self, namespace: &str, before: u64, now: u64) {
        let space = self.0.entry(namespace.to_owned()).or_default();
        *space = space.saturating_sub(before).saturating_add(now);
    }

    fn of_namespace(&self, namespace: &str) -> u64 {
        self.0.get(namespace).copied().unwrap_or_default()
    }

    fn all(&self) -> u64 {
        self.0.values().copied().fold(0, u64::saturating_add)
    }

    /// The namespace that takes most.
    fn greatest(&self) -> Option<String> {
        let greatest = self.0.iter().max_by_key(|(_, space)| **space);
        greatest.map(|(namespace, _)| namespace.clone())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;
    use std::sync::Arc;

    use parking_lot::Mutex;
    use redb::Database;

    use super::super::store::{FILE, Scanned, TAGS, TagStore, TagsError};
    use super::super::stored::of_size;
    use super::*;

    fn scan(namespace: &str, name: &str) -> Scanned {
        Scanned::new(namespace, name, "uid", "ghcr.io/o/app")
    }

    /// A store for a mebibyte, and what it tells.
    fn small(folder: &Path) -> (TagStore, Arc<Mutex<Vec<String>>>) {
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let notice = Arc::clone(&told);
        let store = TagStore::open(folder, move |what| notice.lock().push(what.to_owned()));
        (store.unwrap().within(1 << 20), told)
    }

    #[test]
    fn a_namespace_has_half_of_the_room() {
        let folder = tempfile::tempdir().unwrap();
        let (store, told) = small(folder.path());
        for n in 0..5 {
            store
                .set(&scan("greedy", &n.to_string()), &of_size(100_000, n))
                .unwrap();
        }
        let error = store
            .set(&scan("greedy", "5"), &of_size(100_000, 5))
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "the tags of the namespace take more than 524288 bytes of disk space; --tags-size raises the bound"
        );
        let first = scan("greedy", "0");
        assert!(store.set(&first, &of_size(500_000, 9)).is_err());
        assert_eq!(
            *store.tags(&first).unwrap(),
            of_size(100_000, 0),
            "what was stored stays"
        );
        store.set(&first, &of_size(90_000, 9)).unwrap();
        store.set(&scan("other", "0"), &of_size(500_000, 0)).unwrap();
        assert!(told.lock().is_empty());
    }

    #[test]
    fn who_takes_most_makes_room_for_others() {
        let folder = tempfile::tempdir().unwrap();
        let (store, told) = small(folder.path());
        for (namespace, bytes) in [("a", 150_000), ("b", 240_000)] {
            for n in 0..2 {
                store
                    .set(&scan(namespace, &n.to_string()), &of_size(bytes + 10_000 * n, n))
                    .unwrap();
            }
        }
        store.set(&scan("c", "0"), &of_size(100_000, 0)).unwrap();
        assert!(told.lock().is_empty());
        store.set(&scan("d", "0"), &of_size(200_000, 0)).unwrap();
        let gone = scan("b", "1");
        assert!(store.tags(&gone).unwrap().is_empty() && store.made_room(&gone).unwrap());
        assert!(store.stored(&gone).unwrap().is_none());
        for (namespace, name) in [("a", "0"), ("a", "1"), ("b", "0"), ("c", "0"), ("d", "0")] {
            let kept = scan(namespace, name);
            assert!(!store.tags(&kept).unwrap().is_empty() && !store.made_room(&kept).unwrap());
        }
        assert_eq!(
            *told.lock(),
            [
                "the tags of ImageRepository b/1 made room for those of other namespaces, and are scanned again; \
                 --tags-size raises the bound"
            ]
        );
        // It takes more than any other would then.
        let error = store.set(&scan("a", "2"), &of_size(200_000, 0)).unwrap_err();
        assert!(matches!(error, TagsError::Refused(Refused::Full(_))), "{error}");
        store.set(&gone, &of_size(20_000, 1)).unwrap();
        assert!(!store.made_room(&gone).unwrap());
    }

    /// The figure of docs/how/security.md.
    #[test]
    fn the_file_takes_a_few_times_what_it_holds() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = small(folder.path());
        for n in 0..300 {
            let namespace = format!("n{}", n % 7);
            // Some do not fit.
            let _ = store.set(
                &scan(&namespace, &(n % 3).to_string()),
                &of_size(10_000 + n * 311 % 150_000, n),
            );
        }
        let size = std::fs::metadata(folder.path().join(FILE)).unwrap().len();
        assert!(size <= 4 << 20, "{size} bytes");
    }

    #[test]
    fn sizes_of_older_versions_are_measured() {
        let folder = tempfile::tempdir().unwrap();
        {
            let database = Database::create(folder.path().join(FILE)).unwrap();
            let transaction = database.begin_write().unwrap();
            let value = format!("ghcr.io/o/app\n{}", of_size(400_000, 1).join("\n"));
            transaction
                .open_table(TAGS)
                .unwrap()
                .insert("greedy/0/uid", value.as_bytes())
                .unwrap();
            transaction.commit().unwrap();
        }
        let (store, _) = small(folder.path());
        assert_eq!(*store.tags(&scan("greedy", "0")).unwrap(), of_size(400_000, 1));
        assert!(store.set(&scan("greedy", "1"), &of_size(200_000, 1)).is_err());
        store.keep(&BTreeSet::new()).unwrap();
        store.set(&scan("greedy", "1"), &of_size(200_000, 1)).unwrap();
    }
}
