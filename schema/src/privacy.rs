//! What is held back before anything is written, and what is cleaned before anything leaves. Writes nothing itself.

pub mod exclude;
pub mod output_text;
pub mod private_tags;
pub mod redaction;
pub mod sanitizer;
