//! The six tools as hosts see them: names, descriptions, arguments, results. One place for all wordings a model reads.

mod catalogue;
#[cfg(all(test, feature = "schemars"))]
mod document;
mod input;
mod output;

#[cfg(feature = "schemars")]
pub use catalogue::{Definition, definitions};
pub use catalogue::{MEMORY_FIRST, Tool};
pub use input::{GetInput, LoadInput, LoadSource, ReindexInput, SaveInput, SearchInput, SearchSource, StatsInput};
pub use output::{
    AboutMemory, Confidence, EmbeddingStats, GetOutput, Hit, HitSource, LoadOutput, LoadedFile, Mode, QueueServer,
    ReindexOutput, SaveOutput, SearchOutput, StatsOutput, TypeCount,
};
