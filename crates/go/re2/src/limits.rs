//! Go's limits on patterns: nesting depth and program size.
//!
//! Go counts the nodes that it allocates (reused ones count once) and caches sizes from when a
//! node was new. A pattern at the limit must be judged in the same way, so the bookkeeping is Go's.

use super::{
    error::ErrorCode,
    tree::{Id, Node, Tree},
};

const MAX_HEIGHT: u32 = 1000;
/// Instructions of Go's program, of 40 bytes each.
const MAX_SIZE: u64 = (128 << 20) / 40;
/// Ends of ranges in classes, of 4 bytes each.
const MAX_RUNES: usize = (128 << 20) / 4;
/// Maximum number of copies of the innermost of nested repetitions.
const MAX_REPEAT: u32 = 1000;

/// The counts so far.
#[derive(Debug, Default)]
pub(super) struct Limits {
    allocated: u64,
    free: u64,
    runes: usize,
    repeats: u64,
    /// Sizes are cached only once a pattern could be too large.
    remembers_sizes: bool,
    sizes: Vec<Option<u64>>,
    heights: Vec<u32>,
}

impl Limits {
    /// Counts a new node.
    pub(super) fn allocate(&mut self) {
        match self.free.checked_sub(1) {
            Some(left) => self.free = left,
            None => self.allocated += 1,
        }
    }

    /// Counts a node as free for reuse.
    pub(super) fn release(&mut self) {
        self.free += 1;
    }

    /// Counts a node in a sequence.
    pub(super) fn count_runes(&mut self, node: &Node) {
        self.runes += match node {
            Node::Literal { runes, .. } => runes.len(),
            Node::Class(class) => 2 * class.ranges().len(),
            _ => 0,
        };
    }

    /// Checks a new node; `open` are the nodes that have no parent yet.
    pub(super) fn check<'a>(
        &mut self,
        tree: &Tree,
        id: Id,
        open: impl Iterator<Item = &'a Id>,
    ) -> Result<(), ErrorCode> {
        if self.runes > MAX_RUNES {
            return Err(ErrorCode::TooLarge);
        }
        if !self.remembers_sizes && self.may_be_large(tree.get(id)) {
            self.remembers_sizes = true;
            for id in open {
                self.check_size(tree, *id)?;
            }
        }
        if self.remembers_sizes {
            self.check_size(tree, id)?;
        }
        if self.height(tree, id) > MAX_HEIGHT {
            return Err(ErrorCode::NestingDepth);
        }
        Ok(())
    }

    fn may_be_large(&mut self, node: &Node) -> bool {
        self.repeats = self.repeats.max(1);
        if let Node::Repeat { min, max, .. } = node {
            let times = u64::from(max.unwrap_or(*min).max(1));
            self.repeats = if times > MAX_SIZE / self.repeats {
                MAX_SIZE
            } else {
                self.repeats * times
            };
        }
        self.allocated >= MAX_SIZE / self.repeats
    }

    fn check_size(&mut self, tree: &Tree, id: Id) -> Result<(), ErrorCode> {
        if self.measure(tree, id) > MAX_SIZE {
            return Err(ErrorCode::TooLarge);
        }
        Ok(())
    }

    fn size(&mut self, tree: &Tree, id: Id) -> u64 {
        match self.sizes.get(id.index()) {
            Some(Some(size)) => *size,
            _ => self.measure(tree, id),
        }
    }

    /// Instructions of the program, somewhat overestimated.
    fn measure(&mut self, tree: &Tree, id: Id) -> u64 {
        let children = tree.children(id);
        let below = children
            .iter()
            .fold(0_u64, |sum, child| sum.saturating_add(self.size(tree, *child)));
        let size = match tree.get(id) {
            Node::Literal { runes, .. } => runes.len() as u64,
            Node::Capture(..) => below.saturating_add(2),
            Node::Alternate(_) => below.saturating_add(children.len() as u64).saturating_sub(1),
            Node::Repeat { min, max, .. } => match (u64::from(*min), max.map(u64::from)) {
                (0, None) => below.saturating_add(2),
                (min, None) => min.saturating_mul(below).saturating_add(1),
                (min, Some(max)) => max.saturating_mul(below).saturating_add(max.saturating_sub(min)),
            },
            _ => below,
        };
        let size = size.max(1);
        self.remember_size(id, size);
        size
    }

    fn remember_size(&mut self, id: Id, size: u64) {
        if self.sizes.len() <= id.index() {
            self.sizes.resize(id.index() + 1, None);
        }
        if let Some(place) = self.sizes.get_mut(id.index()) {
            *place = Some(size);
        }
    }

    fn height(&mut self, tree: &Tree, id: Id) -> u32 {
        let children = tree.children(id).iter();
        // Children are checked before their parents, so theirs are known.
        let below = children.filter_map(|child| self.heights.get(child.index())).max();
        let height = below.copied().unwrap_or(0) + 1;
        if self.heights.len() <= id.index() {
            self.heights.resize(id.index() + 1, 1);
        }
        if let Some(place) = self.heights.get_mut(id.index()) {
            *place = height;
        }
        height
    }
}

/// Whether nested repetitions make no more than Go's thousand copies of the innermost.
///
/// It is called only for repetitions that copy, so at most nine of them are nested when it recurses.
pub(super) fn repeats_little_enough(tree: &Tree, id: Id) -> bool {
    let mut left = vec![(id, MAX_REPEAT)];
    while let Some((id, mut copies)) = left.pop() {
        if let Node::Repeat { min, max, .. } = tree.get(id) {
            let times = max.unwrap_or(*min);
            if *max == Some(0) {
                continue;
            }
            if times > copies {
                return false;
            }
            copies /= times.max(1);
        }
        left.extend(tree.children(id).iter().map(|child| (*child, copies)));
    }
    true
}
