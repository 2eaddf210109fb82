//! The layout of files on disk, and how they are opened, locked and trusted. Knows nothing of their content.

pub mod crash_point;
pub mod database;
pub mod environment;
pub mod file_stamp;
pub mod layout;
pub mod lock;
pub mod project;
pub mod regular_file;
pub mod store_file;
pub(crate) mod trust;
