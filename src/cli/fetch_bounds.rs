//! What commands may use up for repositories that they fetch: the flags of the controller under their names.

use clap::Args;

use super::byte_size::ByteSize;
use bumpwright_budget::{self as budget, Budget, Budgets, Memory};

/// How much memory is taken unless somebody says otherwise.
const MEMORY: u64 = 1 << 30;

/// What fetching may use up.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Bounds")]
pub struct FetchBounds {
    /// How much memory fetches and what is made of them may take for what they hold [default: 1Gi]
    #[arg(long, value_name = "SIZE")]
    pub fetch_memory: Option<ByteSize>,

    /// How many objects, files and folders a repository may come to [default: 1000000]
    #[arg(long, value_name = "N")]
    pub max_entries: Option<u64>,

    /// How many bytes of content a repository may come to [default: 4Gi]
    #[arg(long, value_name = "SIZE")]
    pub max_content_size: Option<ByteSize>,
}

impl FetchBounds {
    /// What all fetches of a command may use up together.
    pub(super) fn budget(self) -> Budget {
        let memory = self.fetch_memory.map_or(MEMORY, ByteSize::bytes);
        let entries = self.max_entries.unwrap_or(budget::ENTRIES);
        let bytes = self.max_content_size.map_or(budget::CONTENT_SIZE, ByteSize::bytes);
        Budgets::new(Memory::single(memory, budget::FETCH_MEMORY), entries, bytes).of("")
    }
}
