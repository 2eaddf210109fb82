//! The packages of a release, made from placeholders for the programs of all platforms. `.ci/packages` installs real ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use harness::{report_skip, repository_root};
use serde_json::{Value, json};
use tempfile::TempDir;

const VERSION: &str = env!("CARGO_PKG_VERSION");

const TARGETS: [&str; 7] = [
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-musl",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-msvc",
];

/// A complete release, or `None` without Python.
fn packed() -> Option<TempDir> {
    let folder = tempfile::tempdir().unwrap();
    for name in ["jikime-memory", "jikime-hook"] {
        for ending in ["", ".exe"] {
            fs::write(folder.path().join(format!("{name}{ending}")), static_elf()).unwrap();
        }
    }
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let mut runs: Vec<Vec<String>> = TARGETS
        .iter()
        .map(|target| vec!["platform".into(), (*target).into(), text(folder.path()), text(&out)])
        .collect();
    runs.push(vec!["release".into(), text(&out)]);
    for run in runs {
        let output = Command::new("python3").arg(repository_root().join("server/packaging/pack")).args(&run).output();
        let Ok(output) = output else {
            report_skip("there is no python3 here");
            return None;
        };
        assert!(output.status.success(), "{run:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Some(folder)
}

/// The header of a Linux program without segments, which counts as static.
fn static_elf() -> Vec<u8> {
    let mut header = vec![0; 64];
    header[..6].copy_from_slice(b"\x7fELF\x02\x01");
    header
}

fn files(folder: &TempDir) -> BTreeMap<String, Vec<u8>> {
    let items = fs::read_dir(folder.path().join("out")).unwrap().map(|item| item.unwrap());
    items.map(|item| (item.file_name().into_string().unwrap(), fs::read(item.path()).unwrap())).collect()
}

/// A file in an archive of the release.
fn unpacked(folder: &TempDir, archive: &str, file: &str) -> String {
    let read = if archive.ends_with("gz") {
        "import sys, tarfile; print(tarfile.open(sys.argv[1]).extractfile(sys.argv[2]).read().decode('latin-1'))"
    } else {
        "import sys, zipfile; print(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]).decode('latin-1'))"
    };
    let output =
        Command::new("python3").args(["-c", read]).arg(folder.path().join("out").join(archive)).arg(file).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{archive} {file}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn release_is_complete_and_reproducible() {
    let (Some(first), Some(second)) = (packed(), packed()) else { return };
    let (files, again) = (files(&first), files(&second));
    assert!(files == again, "two runs differ");
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    insta::assert_snapshot!(names.join("\n").replace(VERSION, "VERSION"), @r"
    SHA256SUMS
    install.ps1
    install.sh
    jikime-memory-VERSION.tgz
    jikime-memory-darwin-arm64-VERSION.tgz
    jikime-memory-darwin-x64-VERSION.tgz
    jikime-memory-linux-arm64-VERSION.tgz
    jikime-memory-linux-arm64-musl-VERSION.tgz
    jikime-memory-linux-x64-VERSION.tgz
    jikime-memory-linux-x64-musl-VERSION.tgz
    jikime-memory-vVERSION-aarch64-apple-darwin.mcpb
    jikime-memory-vVERSION-aarch64-apple-darwin.tar.gz
    jikime-memory-vVERSION-aarch64-unknown-linux-gnu.mcpb
    jikime-memory-vVERSION-aarch64-unknown-linux-gnu.tar.gz
    jikime-memory-vVERSION-aarch64-unknown-linux-musl.mcpb
    jikime-memory-vVERSION-aarch64-unknown-linux-musl.tar.gz
    jikime-memory-vVERSION-plugin-darwin-arm64.zip
    jikime-memory-vVERSION-plugin-darwin-x64.zip
    jikime-memory-vVERSION-plugin-linux-arm64-musl.zip
    jikime-memory-vVERSION-plugin-linux-arm64.zip
    jikime-memory-vVERSION-plugin-linux-x64-musl.zip
    jikime-memory-vVERSION-plugin-linux-x64.zip
    jikime-memory-vVERSION-plugin-win32-x64.zip
    jikime-memory-vVERSION-x86_64-apple-darwin.mcpb
    jikime-memory-vVERSION-x86_64-apple-darwin.tar.gz
    jikime-memory-vVERSION-x86_64-pc-windows-msvc.mcpb
    jikime-memory-vVERSION-x86_64-pc-windows-msvc.zip
    jikime-memory-vVERSION-x86_64-unknown-linux-gnu.mcpb
    jikime-memory-vVERSION-x86_64-unknown-linux-gnu.tar.gz
    jikime-memory-vVERSION-x86_64-unknown-linux-musl.mcpb
    jikime-memory-vVERSION-x86_64-unknown-linux-musl.tar.gz
    jikime-memory-win32-x64-VERSION.tgz
    jikime-memory.rb
    jikime.jikime-memory.installer.yaml
    jikime.jikime-memory.locale.en-US.yaml
    jikime.jikime-memory.yaml
    jikime_memory-VERSION-py3-none-macosx_10_12_x86_64.whl
    jikime_memory-VERSION-py3-none-macosx_11_0_arm64.whl
    jikime_memory-VERSION-py3-none-manylinux_2_17_aarch64.manylinux2014_aarch64.whl
    jikime_memory-VERSION-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl
    jikime_memory-VERSION-py3-none-musllinux_1_1_aarch64.whl
    jikime_memory-VERSION-py3-none-musllinux_1_1_x86_64.whl
    jikime_memory-VERSION-py3-none-win_amd64.whl
    marketplace-darwin-arm64.json
    marketplace-darwin-x64.json
    marketplace-linux-arm64-musl.json
    marketplace-linux-arm64.json
    marketplace-linux-x64-musl.json
    marketplace-linux-x64.json
    marketplace-win32-x64.json
    server.json
    ");
    let sums = String::from_utf8(files["SHA256SUMS"].clone()).unwrap();
    assert_eq!(sums.lines().count(), files.len() - 1);
    for name in ["install.sh", "install.ps1", "jikime-memory.rb", "jikime.jikime-memory.installer.yaml"] {
        let text = String::from_utf8(files[name].clone()).unwrap();
        assert!(text.contains(VERSION), "{name}");
        let archives =
            sums.lines().filter(|line| line.ends_with(".tar.gz") || line.contains(".zip") && !line.contains("plugin"));
        let known = archives.filter(|line| text.contains(&line[..64])).count();
        let expected = match name {
            "install.sh" => 7,
            "jikime-memory.rb" => 4,
            _ => 1,
        };
        assert_eq!(known, expected, "{name}: {text}");
    }
}

#[test]
fn npm_packages_need_no_install_script() {
    let Some(folder) = packed() else { return };
    let manifest = |archive: &str| -> Value { unpacked(&folder, archive, "package/package.json").parse().unwrap() };
    let main = manifest(&format!("jikime-memory-{VERSION}.tgz"));
    let needed = main["optionalDependencies"].as_object().unwrap();
    assert_eq!(needed.len(), TARGETS.len());
    for (name, version) in needed {
        let platform = manifest(&format!("{name}-{VERSION}.tgz"));
        assert_eq!((&platform["name"], &platform["version"], version), (&json!(name), version, &json!(VERSION)));
        assert!(platform["os"].is_array() && platform["cpu"].is_array(), "{platform}");
        assert_eq!(platform["libc"].is_array(), name.contains("linux"), "{platform}");
        assert_eq!(platform.get("scripts").or(main.get("scripts")), None);
    }
}

/// Starts the program that npm installs, with a native program that runs `script`.
#[cfg(unix)]
fn run_npm_program(name: &str, script: &str) -> Option<std::process::ExitStatus> {
    use std::os::unix::fs::PermissionsExt as _;
    let template = fs::read_to_string(repository_root().join("server/packaging/templates/start.js")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let starter = folder.path().join("start.js");
    fs::write(&starter, template.replace("@PROGRAM@", name)).unwrap();
    let os = if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS };
    let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    for libc in ["", "-musl"] {
        let package = folder.path().join(format!("node_modules/jikime-memory-{os}-{arch}{libc}"));
        fs::create_dir_all(package.join("bin")).unwrap();
        fs::write(package.join("package.json"), "{}").unwrap();
        let program = package.join("bin").join(name);
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let status = Command::new("node").arg(&starter).status();
    if status.is_err() {
        report_skip("there is no node here");
    }
    status.ok()
}

#[cfg(unix)]
#[test]
fn npm_program_ends_like_the_native_one() {
    use std::os::unix::process::ExitStatusExt as _;
    let cases = [
        ("jikime-memory", "exit 3", (Some(3), None)),
        ("jikime-memory", "kill -TERM $$", (None, Some(15))),
        ("jikime-memory", "kill -KILL $$", (None, Some(9))),
        // Node.js ignores this one.
        ("jikime-memory", "kill -PIPE $$", (Some(141), None)),
        ("jikime-hook", "kill -TERM $$", (Some(0), None)),
    ];
    for (name, script, expected) in cases {
        let Some(status) = run_npm_program(name, script) else { return };
        assert_eq!((status.code(), status.signal()), expected, "{name}: {script}");
    }
}

#[test]
fn description_on_pypi_has_absolute_links() {
    let Some(folder) = packed() else { return };
    let info = format!("jikime_memory-{VERSION}.dist-info/METADATA");
    let text = unpacked(&folder, &format!("jikime_memory-{VERSION}-py3-none-win_amd64.whl"), &info);
    let images: Vec<&str> = text.lines().filter(|line| line.starts_with("![")).collect();
    assert!(!images.is_empty() && images.iter().all(|image| image.contains("/raw/v")), "{images:#?}");
    let relative = text.split("](").skip(1).filter(|link| !link.starts_with("https:") && !link.starts_with('#'));
    assert_eq!(relative.collect::<Vec<_>>(), [""; 0]);
    assert!(text.contains("/blob/v"), "{text}");
}

/// `cargo binstall` must find both programs in the archives.
#[test]
fn binstall_metadata_names_the_archives() {
    let Some(folder) = packed() else { return };
    for (member, program) in [("server", "jikime-memory"), ("hooks-client", "jikime-hook")] {
        let manifest = fs::read_to_string(repository_root().join(member).join("Cargo.toml")).unwrap();
        let section = |head: &str| {
            let rest = manifest.split_once(&format!("[package.metadata.binstall{head}]\n")).unwrap().1;
            rest.split("\n[").next().unwrap().to_owned()
        };
        let field = |section: &str, name: &str| {
            let line = section.lines().find_map(|line| line.strip_prefix(&format!("{name} = \""))).unwrap();
            line.trim_end_matches('"').to_owned()
        };
        for target in TARGETS {
            let is_windows = target.contains("windows");
            let usual = section("");
            let url =
                field(&if is_windows { section(&format!(".overrides.{target}")) } else { usual.clone() }, "pkg-url");
            let fill = |template: &str| {
                let suffix = if is_windows { ".exe" } else { "" };
                [
                    ("version", VERSION),
                    ("target", target),
                    ("bin", program),
                    ("binary-ext", suffix),
                    ("repo", "https://x"),
                ]
                .iter()
                .fold(template.to_owned(), |text, (name, value)| text.replace(&format!("{{ {name} }}"), value))
            };
            let archive = fill(&url).rsplit('/').next().unwrap().to_owned();
            assert!(unpacked(&folder, &archive, &fill(&field(&usual, "bin-dir"))).starts_with("\x7fELF"), "{archive}");
        }
    }
}

#[test]
fn plugin_of_a_release_starts_its_own_programs() {
    let Some(folder) = packed() else { return };
    for (node, suffix) in [("linux-x64", ""), ("win32-x64", ".exe")] {
        let archive = format!("jikime-memory-v{VERSION}-plugin-{node}.zip");
        let own = |name: &str| format!("${{CLAUDE_PLUGIN_ROOT}}/bin/{name}{suffix}");
        let hooks: Value = unpacked(&folder, &archive, "hooks/hooks.json").parse().unwrap();
        for groups in hooks["hooks"].as_object().unwrap().values() {
            assert_eq!(groups[0]["hooks"][0]["command"], own("jikime-hook"));
        }
        let server: Value = unpacked(&folder, &archive, ".mcp.json").parse().unwrap();
        assert_eq!(server["mcpServers"]["jikime-memory"]["command"], own("jikime-memory"));
        assert!(unpacked(&folder, &archive, &format!("bin/jikime-hook{suffix}")).starts_with("\x7fELF"));
        let files = files(&folder);
        let marketplace: Value = serde_json::from_slice(&files[&format!("marketplace-{node}.json")]).unwrap();
        let source = &marketplace["plugins"][0]["source"];
        let sums = String::from_utf8(files["SHA256SUMS"].clone()).unwrap();
        assert!(sums.contains(&format!("{}  {archive}\n", source["sha256"].as_str().unwrap())), "{source}");
        assert!(source["url"].as_str().unwrap().ends_with(&archive), "{source}");
    }
}

/// The published rules of the registry of MCP servers (2025-12-11) for the fields that we use; other fields are forbidden.
fn registry_rules() -> Value {
    let text = |most: u64| json!({ "type": "string", "minLength": 1, "maxLength": most });
    let version =
        json!({ "type": "string", "pattern": "^[0-9]+\\.[0-9]+\\.[0-9]+(-[0-9A-Za-z.-]+)?$", "maxLength": 255 });
    let stdio = json!({ "const": { "type": "stdio" } });
    let serve = json!({ "const": [{ "type": "positional", "value": "serve" }] });
    let started = |kind: &str, runtime: &str| {
        json!({
            "type": "object",
            "required": ["registryType", "identifier", "version", "transport", "packageArguments"],
            "additionalProperties": false,
            "properties": {
                "registryType": { "const": kind }, "identifier": { "const": "jikime-memory" }, "version": version,
                "runtimeHint": { "const": runtime }, "transport": stdio, "packageArguments": serve,
            },
        })
    };
    let bundle = json!({
        "type": "object",
        "required": ["registryType", "identifier", "transport", "fileSha256"],
        "additionalProperties": false,
        "properties": {
            "registryType": { "const": "mcpb" },
            "identifier": { "type": "string", "pattern": "^https://.+/[^/]+\\.mcpb$" },
            "fileSha256": { "type": "string", "pattern": "^[a-f0-9]{64}$" },
            "transport": stdio,
        },
    });
    let repository =
        json!({ "type": "object", "required": ["url", "source"], "properties": { "source": { "const": "github" } } });
    let packages = json!({ "oneOf": [started("npm", "npx"), started("pypi", "uvx"), bundle] });
    json!({
        "type": "object",
        "required": ["$schema", "name", "description", "version"],
        "additionalProperties": false,
        "properties": {
            "$schema": { "const": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json" },
            "name": { "type": "string", "minLength": 3, "maxLength": 200, "pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$" },
            "title": text(100),
            "description": text(100),
            "version": version,
            "repository": repository,
            "packages": { "type": "array", "items": packages },
        },
    })
}

#[test]
fn registry_accepts_server_and_release_metadata() {
    let check = |server: &Value| jsonschema::validate(&registry_rules(), server).map_err(|error| error.to_string());
    let mut server: Value =
        serde_json::from_slice(&fs::read(repository_root().join("server/server.json")).unwrap()).unwrap();
    check(&server).unwrap();
    server["description"] = "x".repeat(101).into();
    assert!(check(&server).is_err());
    let Some(folder) = packed() else { return };
    let release: Value = serde_json::from_slice(&files(&folder)["server.json"]).unwrap();
    check(&release).unwrap();
    assert_eq!(release["packages"].as_array().unwrap().len(), TARGETS.len() + 2);
    // The registry looks for its name in the packages.
    let name = release["name"].as_str().unwrap();
    let main: Value =
        unpacked(&folder, &format!("jikime-memory-{VERSION}.tgz"), "package/package.json").parse().unwrap();
    assert_eq!(main["mcpName"], name);
    let wheel = format!("jikime_memory-{VERSION}-py3-none-win_amd64.whl");
    let metadata = unpacked(&folder, &wheel, &format!("jikime_memory-{VERSION}.dist-info/METADATA"));
    assert!(metadata.contains(&format!("mcp-name: {name} ")), "{metadata}");
}
