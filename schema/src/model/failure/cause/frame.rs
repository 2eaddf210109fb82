//! Stack frames: the places that they name, and whether these are in the project's code.

use crate::model::word_list::WordList;

/// Returns the place that a stack frame names, or `None` if the line is not a frame.
pub(super) fn frame<'l>(line: &'l str, following: &[&'l str]) -> Option<&'l str> {
    let bare = line.trim_start();
    let is_indented = bare.len() < line.len();
    if is_python_frame(bare) {
        return bare.split('"').nth(1);
    }
    if let Some(rest) = bare.strip_prefix("at ").filter(|_| is_indented) {
        // JavaScript, Java, C#, and the places in a Rust backtrace.
        let place = rest.rsplit_once('(').map(|(_, place)| place.trim_end_matches(')'));
        let place = rest.rsplit_once(" in ").map(|(_, place)| place).or(place).unwrap_or(rest);
        let name = rest.split_once('(').map_or(rest, |(name, _)| name);
        // Java prints the file without its directory, but the package shows whose code it is.
        let is_file = place.contains(['/', '\\']) || place.starts_with("node:");
        return Some(if is_file { place } else { name });
    }
    if let Some(rest) = bare.strip_prefix('#').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
        // gdb, sanitizers and PHP.
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
        let place = rest.rsplit_once(" at ").or_else(|| rest.rsplit_once(" from ")).map(|(_, place)| place);
        let place = place.or_else(|| rest.split_whitespace().last()).unwrap_or(rest);
        // "#0 0x000055d0f1a2 llvm::sys::PrintStackTrace"
        return Some(if place.contains(['/', '\\', '.']) { place } else { "<function>" });
    }
    let ruby = bare.strip_prefix("from ").filter(|rest| is_indented && rest.contains(".rb:"));
    if let Some(place) = ruby.or_else(|| bare.strip_prefix("--> ")) {
        return Some(place);
    }
    // Go prints the function, and its place on the next line.
    if line.starts_with('\t')
        && bare.split(" +0x").next().is_some_and(|place| place.contains(".go:") && !place.contains(' '))
    {
        return Some(bare);
    }
    if bare.ends_with(')') && following.first().is_some_and(|next| next.starts_with('\t') && next.contains(".go:")) {
        return Some("<function>");
    }
    // Rust backtraces number their functions and print the place on the next line.
    let (number, _) = bare.split_once(": ")?;
    let is_numbered = is_indented && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    is_numbered.then_some("<function>")
}

pub(super) fn is_python_frame(bare: &str) -> bool {
    bare.starts_with("File \"") && bare.contains("\", line ")
}

/// Whether a place is in the project's code, not in a library or a runtime.
pub(super) fn is_own(place: &str, project: &str) -> bool {
    static FOREIGN: WordList = WordList::phrases(
        "node_modules|site-packages|dist-packages|node:|internal/|<frozen|<string>|<anonymous>|<function>|/rustc/|\
         .cargo/|/usr/|/lib/|/lib64/|/opt/|vendor/|/gems/|/go/src/|/go/pkg/|libc.|???|sysdeps|webpack:|native|\
         [internal|<internal|Native Method|/nix/store|/opt/homebrew|Unknown Source",
    );
    static FOREIGN_NAMES: WordList = WordList::words(
        "java. javax. jdk. sun. kotlin. kotlinx. scala. org.junit junit. org.springframework org.gradle org.apache \
         org.hibernate com.sun. io.netty reactor. android. androidx. com.android. System. Microsoft. groovy.",
    );
    if !project.is_empty() && place.contains(project) {
        let inner = place.rsplit(project).next().unwrap_or(place);
        return !["node_modules", "site-packages", "/vendor/", "/.venv/", "/target/"]
            .iter()
            .any(|folder| inner.contains(folder));
    }
    !FOREIGN.occurs_in(place) && !FOREIGN_NAMES.begins(place)
}

/// Returns a frame without its number and address, as in `#3  0x000055d0 in hoist () at lib/LICM.cpp:167`.
pub(super) fn without_address(line: &str) -> &str {
    let numbered = line.strip_prefix('#').and_then(|rest| rest.split_once(' '));
    let address = numbered.map(|(_, rest)| rest.trim_start()).filter(|rest| rest.starts_with("0x"));
    let named = address.and_then(|address| address.split_once(' ')).map(|(_, rest)| rest.trim_start());
    named.map_or(line, |named| named.strip_prefix("in ").unwrap_or(named))
}

/// Returns the `file:line` in a text.
pub(super) fn location(text: &str) -> Option<&str> {
    text.split([' ', '(', ')', '"', ',']).find(|word| {
        word.rsplit_once(':')
            .is_some_and(|(file, line)| file.contains('.') && line.bytes().next().is_some_and(|b| b.is_ascii_digit()))
    })
}
