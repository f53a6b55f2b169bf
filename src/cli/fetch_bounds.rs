//! Limits on the fetches of commands: flags with the controller's names.

use clap::Args;

use crate::cli::byte_size::ByteSize;
use bumpwright_budget::{self as budget, Budget, Budgets, Memory};
use bumpwright_http::Job;

/// The default memory limit.
const MEMORY: u64 = 1 << 30;

/// Limits on fetches.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Bounds")]
pub struct FetchBounds {
    /// Memory limit of fetches and their results [default: 1Gi]
    #[arg(long, value_name = "SIZE")]
    pub fetch_memory: Option<ByteSize>,

    /// Limit on objects, files and folders of a repository [default: 1000000]
    #[arg(long, value_name = "N")]
    pub max_entries: Option<u64>,

    /// Limit on the content of a repository, in bytes [default: 4Gi]
    #[arg(long, value_name = "SIZE")]
    pub max_content_size: Option<ByteSize>,
}

impl FetchBounds {
    /// The shared budget of a command's fetches.
    pub(super) fn budget(self) -> Budget {
        let memory = self.fetch_memory.map_or(MEMORY, ByteSize::bytes);
        let entries = self.max_entries.unwrap_or(budget::ENTRIES);
        let bytes = self.max_content_size.map_or(budget::CONTENT_SIZE, ByteSize::bytes);
        let budget = Budgets::new(Memory::single(memory, budget::FETCH_MEMORY), entries, bytes).of("");
        Job::set_account_of_process(&budget.memory);
        budget
    }
}
