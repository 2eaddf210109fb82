//! Command-line options, and the end of a measurement.

use std::error::Error;

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// The value of an option.
pub(crate) fn given(name: &str) -> Option<String> {
    std::env::args().skip_while(|argument| argument != name).nth(1)
}

/// Returns an error for an unknown option, because a measurement without it would take minutes for nothing.
pub(crate) fn refuse_unknown_options() -> Outcome<()> {
    let unknown = std::env::args().skip(1).find(|word| word.starts_with("--") && !OPTIONS.contains(&word.as_str()));
    match unknown {
        Some(unknown) => Err(format!("unknown option {unknown}; use {}", OPTIONS.join(", ")).into()),
        None => Ok(()),
    }
}

const OPTIONS: [&str; 14] = [
    "--sizes",
    "--programs",
    "--memory",
    "--hook",
    "--writes",
    "--markdown",
    "--json",
    "--svg",
    "--vectors",
    "--numbers",
    "--peer",
    "--peers",
    "--peers-installed",
    "--peers-memories",
];
