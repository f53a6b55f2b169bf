//! How kustomizations are built.

use super::order::Order;
use crate::generate::HelmSettings;
use crate::tree::LoadRestrictions;
use bumpwright_budget::Share;

/// The options of a build.
#[derive(Debug, Clone, Default)]
#[allow(clippy::struct_excessive_bools)] // as the command line has them
pub struct Options {
    /// Which files may be read (`--load-restrictor`).
    pub restrictions: LoadRestrictions,
    /// The order of the output, unless the kustomization has one (`--reorder`).
    pub order: Option<Order>,
    /// Whether to label objects as managed by kustomize (`--enable-managedby-label`).
    pub managed_by_label: bool,
    /// The value of that label, unless it is kustomize's own version.
    pub manager: Option<&'static str>,
    /// Whether `labels` with `includeTemplates` are added to `volumeClaimTemplates` of a StatefulSet too, as in
    /// kustomize up to 5.8.1: in a cluster these cannot be changed afterwards.
    pub label_claim_templates: bool,
    /// Whether plugins may run (`--enable-alpha-plugins`).
    pub plugins: bool,
    /// Whether functions may be programs (`--enable-exec`).
    pub functions: bool,
    /// Whether helm may run (`--enable-helm`).
    pub helm: bool,
    /// The directory of the tree that paths in messages are relative to, if they are below it; others are shown
    /// absolute. Without it, all paths are shown from the root of the tree.
    pub shown_from: Option<String>,
    /// The settings for helm.
    pub helm_settings: HelmSettings,
    /// The memory budget for input and output. Without it the build is not measured.
    pub memory: Option<Share>,
}
