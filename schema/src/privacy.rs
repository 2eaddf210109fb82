//! Removes secrets, private parts, excluded files and, on request, names before anything is written, and cleans text before it leaves.
//! Performs no writes itself.

pub mod anonymiser;
pub mod exclude;
pub mod output_text;
pub mod private_tags;
pub mod redaction;
pub mod sanitizer;
