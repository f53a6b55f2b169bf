//! The example fleet of `demo`, `fixtures/fleet`, inside the binary.

/// Path in the fleet and content.
pub(super) const FILES: &[(&str, &[u8])] = &[
    ("README.md", include_bytes!("../../../fixtures/fleet/README.md")),
    (
        "apps/api/deployment.yaml",
        include_bytes!("../../../fixtures/fleet/apps/api/deployment.yaml"),
    ),
    (
        "apps/shop/helmrelease.yaml",
        include_bytes!("../../../fixtures/fleet/apps/shop/helmrelease.yaml"),
    ),
    (
        "apps/shop/kustomization.yaml",
        include_bytes!("../../../fixtures/fleet/apps/shop/kustomization.yaml"),
    ),
    (
        "apps/web/deployment.yaml",
        include_bytes!("../../../fixtures/fleet/apps/web/deployment.yaml"),
    ),
    (
        "apps/worker/cronjob.yaml",
        include_bytes!("../../../fixtures/fleet/apps/worker/cronjob.yaml"),
    ),
    (
        "clusters/production/automation.yaml",
        include_bytes!("../../../fixtures/fleet/clusters/production/automation.yaml"),
    ),
    (
        "policies/api.yaml",
        include_bytes!("../../../fixtures/fleet/policies/api.yaml"),
    ),
    (
        "policies/cache.yaml",
        include_bytes!("../../../fixtures/fleet/policies/cache.yaml"),
    ),
    (
        "policies/shop.yaml",
        include_bytes!("../../../fixtures/fleet/policies/shop.yaml"),
    ),
    (
        "policies/web.yaml",
        include_bytes!("../../../fixtures/fleet/policies/web.yaml"),
    ),
    (
        "policies/worker.yaml",
        include_bytes!("../../../fixtures/fleet/policies/worker.yaml"),
    ),
];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;

    fn list(dir: &Path, root: &Path, out: &mut Vec<String>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                list(&path, root, out);
            } else {
                out.push(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }

    #[test]
    fn every_file_of_the_fleet_is_in_the_binary() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/fleet");
        let mut names = Vec::new();
        list(&root, &root, &mut names);
        names.sort();
        let mut known: Vec<&str> = super::FILES.iter().map(|(name, _)| *name).collect();
        known.sort_unstable();
        assert_eq!(known, names);
    }
}
