//! Removes secrets and private parts before anything is written, and cleans text before it leaves. Writes nothing itself.

pub mod exclude;
pub mod output_text;
pub mod private_tags;
pub mod redaction;
pub mod sanitizer;
