//! Keys, their buckets, and the short names of objects.

/// The number of buckets. More would be finer, and fewer shorter to write down.
pub const BUCKETS: usize = 256;

/// FNV-1a, and a finalizer that spreads it over all bits (MurmurHash3). It must never change: members of two
/// versions share a deal.
pub(crate) fn hash(text: &str) -> u64 {
    let mixed = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    mix(mixed)
}

/// Spreads the bits of a number over all of it.
pub(crate) fn mix(number: u64) -> u64 {
    let mixed = (number ^ (number >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    mixed ^ (mixed >> 33)
}

/// The bucket of a key.
#[must_use]
pub fn bucket(key: &str) -> usize {
    (hash(key) % BUCKETS as u64) as usize
}

/// A number for an object, short enough for every reader of JSON. Two objects with one number would wait for
/// each other, no more.
#[must_use]
pub fn id(object: &str) -> u64 {
    hash(object) >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_never_change() {
        for (key, expected) in [
            ("", 38),
            ("Kustomization/apps/web", 216),
            ("GitRepository/flux-system/fleet", 192),
        ] {
            assert_eq!(bucket(key), expected, "{key}");
        }
        assert!(id("Kustomization/apps/web") < 1 << 48);
    }

    #[test]
    fn keys_spread() {
        let mut counts = [0_u32; BUCKETS];
        for number in 0..25_600 {
            if let Some(count) = counts.get_mut(bucket(&format!("Kustomization/apps/app-{number}"))) {
                *count += 1;
            }
        }
        assert!(counts.iter().all(|count| (50..160).contains(count)), "{counts:?}");
    }
}
