//! Tells command lines that change something from those that only look.

/// Programs that build, test, install, deploy or move files, whatever their arguments.
const CHANGING: [&str; 62] = [
    "ansible-playbook",
    "apt",
    "apt-get",
    "brew",
    "bun",
    "bundle",
    "bunx",
    "cargo",
    "chmod",
    "chown",
    "cmake",
    "composer",
    "cp",
    "ctest",
    "dnf",
    "docker-compose",
    "dotnet",
    "flutter",
    "gem",
    "go",
    "gradle",
    "gradlew",
    "helm",
    "jest",
    "just",
    "ln",
    "make",
    "mix",
    "mkdir",
    "mv",
    "mvn",
    "mvnw",
    "mypy",
    "ninja",
    "nox",
    "npm",
    "npx",
    "nx",
    "patch",
    "phpunit",
    "pip",
    "pip3",
    "playwright",
    "pnpm",
    "podman",
    "poetry",
    "pre-commit",
    "pytest",
    "rake",
    "rm",
    "rspec",
    "ruff",
    "rustup",
    "sbt",
    "swift",
    "terraform",
    "tox",
    "tsc",
    "uv",
    "vitest",
    "yarn",
    "zig",
];

/// Programs that change something only with one of these arguments.
const CHANGING_WITH: [(&str, &[&str]); 5] = [
    (
        "git",
        &[
            "add",
            "am",
            "apply",
            "checkout",
            "cherry-pick",
            "clone",
            "commit",
            "fetch",
            "init",
            "merge",
            "mv",
            "pull",
            "push",
            "rebase",
            "reset",
            "restore",
            "revert",
            "rm",
            "stash",
            "submodule",
            "switch",
            "tag",
            "worktree",
        ],
    ),
    ("gh", &["pr", "release", "issue", "workflow", "run"]),
    ("docker", &["build", "compose", "create", "pull", "push", "rm", "rmi", "run", "start", "stop", "tag"]),
    ("kubectl", &["apply", "create", "delete", "edit", "patch", "rollout", "scale", "set"]),
    ("sed", &["-i"]),
];

/// Words before a program that do not say what is run.
const PREFIXES: [&str; 6] = ["sudo", "time", "env", "nohup", "exec", "command"];

/// Whether a shell's command line changes something, as far as its words tell.
pub(super) fn changes_something(line: &str) -> bool {
    line.split(['\n', ';', '|', '&', '(', ')', '`']).any(part_changes)
}

fn part_changes(part: &str) -> bool {
    let is_assignment = |word: &str| word.split_once('=').is_some_and(|(name, _)| !name.contains(['/', '"', '\'']));
    let mut words = part.split_whitespace().skip_while(|word| PREFIXES.contains(word) || is_assignment(word));
    let Some(program) = words.next() else { return false };
    let program = program.rsplit(['/', '\\']).next().unwrap_or(program).trim_end_matches(".exe");
    if CHANGING.binary_search(&program).is_ok() {
        return true;
    }
    if let "python" | "python3" | "node" = program {
        return words.any(|word| matches!(word, "pytest" | "unittest" | "--test" | "pip"));
    }
    let with = CHANGING_WITH.iter().find(|(name, _)| *name == program);
    with.is_some_and(|(_, arguments)| words.any(|word| arguments.contains(&word)))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn the_table_is_in_order_for_the_search() {
        assert!(CHANGING.is_sorted());
    }

    #[rstest]
    #[case("cargo test -p billing", true)]
    #[case("cd app && npm ci", true)]
    #[case("RUST_LOG=debug ./gradlew build", true)]
    #[case("git -C .. commit -m 'x'", true)]
    #[case("git status && git log | head", false)]
    #[case("sudo docker run --rm x", true)]
    #[case("docker ps", false)]
    #[case("ls -la; cat a.txt; echo done", false)]
    #[case("grep -rn make src", false)]
    #[case("python3 -m pytest", true)]
    #[case("sed -n 1,3p a", false)]
    #[case("", false)]
    fn builds_and_changes_are_told_from_looks(#[case] line: &str, #[case] changes: bool) {
        assert_eq!(changes_something(line), changes);
    }
}
