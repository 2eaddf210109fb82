//! The coding-memory benchmark: measures our product, and other MCP servers that a file describes. docs/dev/coding.md has the figures.
//!
//! `cargo run --release -p jikime-memory-tests --bin coding -- [--peer NAME,FILE.json --peers-installed FOLDER] [--parts sde,notes,pairs,
//! stories,code] [--minutes N] [--with REPORT.json,…]
//! [--programs FOLDER] [--json FILE] [--svg FILE] [--markdown docs/dev/coding.md]`. Without `--programs` it
//! builds the programs as README.md does. Servers of `--with`, earlier reports, are not measured again.

mod arguments;
mod figures;
mod measure;
mod report;

use std::error::Error;
use std::fs;
use std::path::Path;

use harness::Binaries;
use harness::benchmark::{install_program, replace_block};
use harness::coding::MemoryServer;
use harness::peer::Peer;

use arguments::CodingArguments;
use figures::ServerFigures;
use measure::OURS;

/// Markers of the generated block.
const BEGIN: &str = "<!-- coding: begin -->";
const END: &str = "<!-- coding: end -->";

#[expect(clippy::print_stdout, reason = "a benchmark's output is its result")]
fn main() -> Result<(), Box<dyn Error>> {
    let arguments = CodingArguments::read(std::env::args().skip(1))?;
    let folder = tempfile::tempdir()?;
    let mut servers = vec![MemoryServer::ours(&programs(&arguments)?, &folder.path().join("bin"))?];
    for name in &arguments.peers {
        // Servers start in another folder.
        let installed =
            if name == OURS { folder.path().join("bin") } else { std::path::absolute(&arguments.installed)? };
        servers.push(MemoryServer::described(Peer::named(name, &installed)?));
    }
    let earlier = earlier(&arguments)?;
    let measured = measure::measure(&servers, &arguments, earlier)?;
    let block = report::markdown(&measured);
    println!("{block}");
    if let Some(path) = &arguments.json {
        fs::write(path, report::json(&measured))?;
    }
    if let Some(path) = &arguments.svg {
        fs::write(path, report::svg(&measured))?;
    }
    if let Some(path) = &arguments.markdown {
        let picture = path.with_extension("svg");
        let name = picture.file_name().unwrap_or_default().to_string_lossy();
        replace_block(path, BEGIN, END, &format!("\n{block}\n![all figures]({name})\n"))?;
        fs::write(picture, report::svg(&measured))?;
    }
    Ok(())
}

/// Reads the earlier reports.
fn earlier(arguments: &CodingArguments) -> Result<Vec<ServerFigures>, Box<dyn Error>> {
    let mut servers = Vec::new();
    for path in &arguments.earlier {
        let read = report::read_json(&fs::read_to_string(path)?);
        servers.extend(read.map_err(|reason| format!("{}: {reason}", path.display()))?);
    }
    Ok(servers)
}

fn programs(arguments: &CodingArguments) -> Result<Binaries, Box<dyn Error>> {
    let Some(folder) = &arguments.programs else {
        let hook = install_program("jikime-hook", &["--config", "hooks-client/small.toml"])?;
        return Ok(Binaries { memory: install_program("jikime-memory", &[])?, hook });
    };
    let program =
        |name: &str| fs::canonicalize(Path::new(folder).join(name).with_extension(std::env::consts::EXE_EXTENSION));
    Ok(Binaries { memory: program("jikime-memory")?, hook: program("jikime-hook")? })
}
