//! The six tools as hosts see them: names, descriptions, arguments and results. All text that a model reads is here.

mod catalogue;
#[cfg(all(test, feature = "schemars"))]
mod document;
mod input;
mod output;
#[cfg(all(test, feature = "schemars"))]
mod schemas;

pub use catalogue::{MEMORY_FIRST, Tool};
pub use input::{GetInput, LoadInput, LoadSource, ReindexInput, SaveInput, SearchInput, SearchSource, StatsInput};
pub use output::{
    Confidence, EmbeddingStats, Evidence, GetOutput, Hit, LoadOutput, MemoryDetails, QueueOwner, ReindexOutput,
    SaveOutput, SearchMode, SearchOutput, StatsOutput, TypeCount,
};
