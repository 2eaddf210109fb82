//! Projects, the layout of a store, and safe opening, locking and trust of files. Independent of what the files contain.

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
