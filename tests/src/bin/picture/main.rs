//! Generates the picture of README.md: runs commands of an installed program in a terminal and draws the screens.
//!
//! `cargo run -p jikime-memory-tests --bin picture -- PATH_OF_JIKIME_MEMORY docs/terminal.svg`

#[cfg(unix)]
mod play;
#[cfg(unix)]
mod svg;

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(unix)]
    {
        let arguments: Vec<std::path::PathBuf> = std::env::args_os().skip(1).map(Into::into).collect();
        if let [program, picture] = &arguments[..] {
            let frames = play::play_scenes(program);
            std::fs::write(picture, svg::draw_picture(&frames))
                .unwrap_or_else(|error| panic!("{}: {error}", picture.display()));
            return ExitCode::SUCCESS;
        }
    }
    ExitCode::from(2)
}
