//! Extracts the commands that a command line is for, without those that only prepare them or format their output.

use super::split::{self, Then};
use super::{INTERPRETERS, SimpleCommand, effective_program, is_known, lists, only_prints, program_name};
use crate::model::word_list::WordList;

/// One of the commands that a line is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MainCommand {
    /// The program, with its subcommand if it has subcommands.
    pub(crate) name: String,
    /// The arguments without options.
    pub(crate) operands: Vec<String>,
    options: Vec<String>,
}

/// Programs that prepare a command, print something or shorten output.
static LEADING: WordList = WordList::words(
    ". : awk cat cd clear column cut date echo egrep export fgrep grep head jq less ls mkdir more popd printf pushd \
     pwd rg sed set sleep sort source tail tee tr true uniq unset wc xargs",
);

/// Programs whose first argument is a subcommand.
static WITH_SUBCOMMANDS: WordList = WordList::words(
    "alembic apt apt-get ansible aws az bazel brew buf bun bundle cargo cmake composer conda dart deno diesel docker \
     docker-compose dotnet flutter flyctl gcloud gem gh git go gradle helm heroku idf.py kubectl lake manage.py mise \
     mix mvn netlify nix npm nx pdm pip pio platformio pnpm poetry prisma pulumi rails rustup sbt sqlx stack supabase \
     swift systemctl terraform tox turbo uv vercel west wrangler yarn zig",
);

/// Programs that run another program, and the subcommand that does so.
static RUNNERS: WordList = WordList::phrases(
    "bundle exec|hatch run|npm exec|pdm run|pipenv run|pnpm exec|poetry run|rye run|uv run|yarn exec",
);
const DIRECT_RUNNERS: &[&str] = &["bunx", "npx", "pipx", "uvx"];

/// Programs or subcommands that check something. Without operands they check everything.
static CHECKS: WordList = WordList::phrases(
    "ava|bazel build|bazel test|black|bun test|cargo build|cargo check|cargo clippy|cargo nextest|cargo run|\
     cargo test|ctest|dart analyze|dart test|deno check|deno lint|deno test|dotnet build|dotnet test|eslint|flake8|\
     flutter analyze|flutter test|go build|go test|go vet|golangci-lint|gradle build|gradle check|gradle test|\
     idf.py build|jest|ktlint|meson|mix test|mocha|mvn compile|mvn package|mvn test|mvn verify|mypy|ninja|npm build|\
     npm lint|npm run|npm test|phpunit|pio run|pio test|playwright|pnpm build|pnpm lint|pnpm run|pnpm test|pylint|\
     pyright|pytest|rails test|rspec|rubocop|ruff|rustc|shellcheck|stylelint|swift build|swift test|tox|tsc|unittest|\
     vitest|west build|yarn build|yarn lint|yarn run|yarn test|zig build|zig test",
);

/// Checks, and those that they include: tests are compiled first.
const INCLUDED: [(&str, &[&str]); 4] = [
    ("cargo test", &["cargo build", "cargo check"]),
    ("dotnet test", &["dotnet build"]),
    ("go test", &["go build"]),
    ("swift test", &["swift build"]),
];

/// Options with which tests are not compiled.
static WITHOUT_BUILD: WordList = WordList::words("--no-build --skip-build");

impl MainCommand {
    /// Whether this command does what the other one does, or does that first. A build with options of its own may be another one.
    pub(crate) fn includes(&self, other: &Self) -> bool {
        let has = |option: &String| self.options.contains(option);
        let builds = || !self.options.iter().any(|option| WITHOUT_BUILD.contains(option));
        self.name == other.name
            || self.included().contains(&other.name.as_str()) && other.options.iter().all(has) && builds()
    }

    fn included(&self) -> &'static [&'static str] {
        INCLUDED.iter().find(|(name, _)| *name == self.name).map(|(_, included)| *included).unwrap_or_default()
    }

    /// Whether a run with fewer operands checks more.
    pub(crate) fn is_check(&self) -> bool {
        CHECKS.contains(&self.name)
    }

    /// Returns keys. A success settles a failure if they share one.
    pub(crate) fn topics(&self) -> Vec<String> {
        if self.is_check() {
            return [&*self.name].iter().chain(self.included()).map(|name| (*name).to_owned()).collect();
        }
        let mut operands = self.operands.clone();
        operands.sort_unstable();
        let files = self.files().map(|file| format!("{} {file}", self.name));
        let mut topics: Vec<String> = files.chain([format!("{} {}", self.name, operands.join(" "))]).collect();
        topics.dedup();
        topics
    }

    /// Returns the operands that are paths of files, without the script that an interpreter runs.
    pub(crate) fn files(&self) -> impl Iterator<Item = &String> {
        let skipped = usize::from(INTERPRETERS.contains(&self.name.as_str()));
        let is_file = |word: &&String| {
            let name = word.rsplit('/').next().unwrap_or_default();
            let has_extension = name.split_once('.').is_some_and(|(stem, end)| !stem.is_empty() && !end.is_empty());
            has_extension && !word.contains(|c: char| c.is_whitespace() || matches!(c, ':' | '@' | '=' | '*'))
        };
        self.operands.iter().skip(skipped).filter(is_file)
    }

    /// Returns the command in normalized form.
    pub(crate) fn line(&self) -> String {
        let words = std::iter::once(&self.name).chain(&self.options).chain(&self.operands);
        words.map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    fn of(simple: &SimpleCommand) -> Option<Self> {
        let words: Vec<&str> = simple.words.iter().map(String::as_str).collect();
        let (word, arguments) = effective_program(&words)?;
        let (mut name, mut arguments) = (program_name(word), arguments.to_vec());
        // The program that a runner runs may itself be a runner.
        for _ in 0..DEPTH {
            let Some(inner) = run_by(&name, &arguments) else { break };
            name = program_name(arguments[inner]);
            arguments.drain(..=inner);
        }
        // The directory of a script is part of its name.
        if !is_known(&name) && word.contains('/') && name == program_name(word) {
            name = word.trim_start_matches("./").to_owned();
        }
        if WITH_SUBCOMMANDS.contains(&name) {
            let at = arguments.iter().position(|word| !word.starts_with(['-', '+']) && !word.contains('='));
            if let Some(at) = at {
                let subcommand = arguments.remove(at);
                // `:engine:test` of Gradle is the task `test` of the project `:engine`.
                let (project, task) =
                    subcommand.rsplit_once(':').filter(|_| name == "gradle").unwrap_or(("", subcommand));
                name = format!("{name} {task}");
                arguments.splice(at..at, Some(project).filter(|project| !project.is_empty()));
            }
            // `npm run lint` and `npm lint` are the same command.
            if let Some(("npm" | "pnpm" | "yarn" | "bun", "run")) = name.split_once(' ')
                && let Some(at) = arguments.iter().position(|word| !word.starts_with('-'))
            {
                name = format!("{} {}", name.trim_end_matches(" run"), arguments.remove(at));
            }
        }
        let mut command = Self { name, operands: Vec::new(), options: Vec::new() };
        let mut previous = "";
        for word in arguments {
            let is_option = word.starts_with('-') && word.len() > 1 || is_amount(previous, word);
            if is_option { &mut command.options } else { &mut command.operands }.push(word.to_owned());
            previous = word;
        }
        Some(command)
    }
}

/// Whether a word is the number that an option takes, as in `--threads 4` and `-j 4`.
fn is_amount(option: &str, word: &str) -> bool {
    let takes_one = option.starts_with("--") && !option.contains('=') || matches!(option, "-j" | "-n");
    takes_one && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// The maximum nesting of runners that is followed.
const DEPTH: usize = 3;

/// Returns the position of the program that a runner runs among the runner's arguments.
fn run_by(name: &str, arguments: &[&str]) -> Option<usize> {
    if name == "python" {
        return arguments.iter().position(|word| *word == "-m").map(|at| at + 1).filter(|at| *at < arguments.len());
    }
    let skipped = match RUNNERS.value(name) {
        Some(subcommand) if arguments.first() == Some(&subcommand) => 1,
        Some(_) => return None,
        None if DIRECT_RUNNERS.contains(&name) => 0,
        None => return None,
    };
    arguments[skipped..].iter().position(|word| !word.starts_with('-')).map(|at| at + skipped)
}

/// Returns the simple commands of a line, and what `ssh` runs on another machine instead of `ssh` itself.
fn commands(line: &str) -> Vec<SimpleCommand> {
    split::split_commands(line).into_iter().flat_map(run_remotely).collect()
}

fn run_remotely(simple: SimpleCommand) -> Vec<SimpleCommand> {
    let is_ssh = simple.words.first().is_some_and(|program| program == "ssh");
    let Some(line) = simple.words.last().filter(|word| is_ssh && word.contains(' ')) else { return vec![simple] };
    let mut inner = split::split_commands(line);
    if let Some(last) = inner.last_mut() {
        last.then = simple.then;
    }
    inner
}

/// Returns the commands that a line is for, in order. If all commands only prepare something, all are returned.
pub(crate) fn main_commands(line: &str) -> Vec<MainCommand> {
    let all: Vec<MainCommand> = commands(line).iter().filter_map(MainCommand::of).collect();
    let main: Vec<MainCommand> = all.iter().filter(|command| !LEADING.contains(&command.name)).cloned().collect();
    if main.is_empty() { all } else { main }
}

/// Returns the commands that succeeded if the exit code of a line is 0.
///
/// The exit code is that of the last list of commands. In it, a pipe hides the result of a command, and `||` that of all. `passed` is
/// whether the output says that all tests passed.
pub(crate) fn succeeded(line: &str, passed: bool) -> Vec<MainCommand> {
    let mut commands = commands(line);
    commands.retain(|simple| simple.then != Then::Substituted);
    let Some((last, before)) = commands.split_last() else { return Vec::new() };
    let ends_list = |simple: &SimpleCommand| matches!(simple.then, Then::Next | Then::Background);
    let list = &commands[before.iter().rposition(ends_list).map_or(0, |at| at + 1)..];
    if last.then == Then::Background || list.iter().any(|simple| simple.then == Then::Or) {
        return Vec::new();
    }
    let is_shown = passed && shows_result(list);
    let hides = |simple: &&SimpleCommand| simple.then == Then::Pipe && !line.contains("pipefail");
    let is_known = |simple: &&SimpleCommand| !hides(simple) || is_shown && is_check(simple);
    list.iter().filter(is_known).filter(|simple| ran(simple)).filter_map(MainCommand::of).collect()
}

fn is_check(simple: &SimpleCommand) -> bool {
    MainCommand::of(simple).is_some_and(|command| command.is_check())
}

/// Whether the output of a list has the result of its only check: the pipe leaves its end, or all lines with results. A check that
/// continues after a failure may name it further up.
fn shows_result(list: &[SimpleCommand]) -> bool {
    let mut checks = list.iter().enumerate().filter(|(_, simple)| is_check(simple));
    let (Some((at, check)), None) = (checks.next(), checks.next()) else { return false };
    let leaves_result = |simple: &SimpleCommand| match simple.words.first().map(String::as_str) {
        Some("cat" | "tail" | "tee") => true,
        Some("grep") => simple.words.contains(&"test result".to_owned()) && !simple.words.contains(&"-v".to_owned()),
        _ => false,
    };
    let after = &list[at + 1..];
    let end = after.iter().position(|simple| simple.then != Then::Pipe).map_or(after.len(), |last| last + 1);
    !check.words.iter().any(|word| word == "--no-fail-fast") && after[..end].iter().all(leaves_result)
}

/// Whether a command did its work, and was neither negated nor asked to print something else.
fn ran(simple: &SimpleCommand) -> bool {
    let words: Vec<&str> = simple.words.iter().map(String::as_str).collect();
    words.first() != Some(&"!")
        && !words.iter().any(|word| NOT_RUN.contains(word))
        && effective_program(&words).is_some_and(|(_, arguments)| !only_prints(arguments))
}

/// Options with which a program does not do its work.
static NOT_RUN: WordList = WordList::words(
    "--collect-only --co --help --just-print --list --list-tests --listTests --no-run --setup-only --version",
);

/// Programs whose exit code answers a question, and the subcommands or options for which it does.
static ANSWERING: WordList = WordList::words(
    "[ [[ ack ag cmp colordiff command diff egrep expr fgrep findstr grep hash pgrep pidof rg \
     select-string test type where which zgrep",
);
static ANSWERING_WITH: WordList = WordList::phrases(
    "argocd diff|bash -n|git diff,diff-index,diff-files,grep,merge-base,check-ignore,show-ref,rev-parse,ls-files,config,cat-file|\
     helm diff|kubectl diff|npm outdated|pnpm outdated|systemctl is-active,is-enabled,is-failed,status",
);

/// Programs that hardly ever fail. Next to them, a non-zero exit code must come from another command.
static HARMLESS: WordList = WordList::words(
    ": basename cd cut date dirname echo export false head printf pushd popd pwd set sort tail tr true uniq wc xargs",
);

/// Whether an exit code is an answer and not a failure, as when `grep` finds nothing or `diff` finds a difference.
pub(crate) fn is_answer(line: &str, code: i32, output: &str) -> bool {
    if !(code == 1 || matches!(code, 3 | 4) && line.contains("systemctl")) {
        return false;
    }
    let commands = split::split_commands(line);
    let answers = |simple: &SimpleCommand| {
        let words: Vec<&str> = simple.words.iter().map(String::as_str).collect();
        // `command -v x` runs nothing; its exit code is the answer.
        let (program, arguments) = effective_program(&words).unwrap_or_default();
        let name = match words.first() {
            Some(first @ &("command" | "[" | "[[")) => (*first).to_owned(),
            _ => installed_name(program),
        };
        let is_listed = |subcommands: &str| arguments.iter().any(|word| lists(subcommands, word));
        ANSWERING.contains(&name) || ANSWERING_WITH.value(&name).is_some_and(is_listed)
    };
    if !commands.iter().any(answers) {
        return false;
    }
    let is_harmless = |simple: &SimpleCommand| {
        let words: Vec<&str> = simple.words.iter().map(String::as_str).collect();
        effective_program(&words).is_none_or(|(word, _)| HARMLESS.contains(&installed_name(word)))
    };
    // A program that fails prints a reason. A negative answer is silent, or prints differences.
    let complains =
        ["error:", "fatal:", "cannot ", "No such file", "not found", "denied"].iter().any(|word| output.contains(word));
    !complains && (commands.iter().all(|simple| answers(simple) || is_harmless(simple)) || output.trim().is_empty())
}

/// Returns the name of a program, but none for a script of the project: `./test.sh` is not `test`.
fn installed_name(word: &str) -> String {
    let is_script = word.contains(['/', '\\']) && !word.starts_with('/');
    if is_script { String::new() } else { program_name(word) }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::grep("grep -rn foo src", 1, "", true)]
    #[case::in_a_folder("cd src && rg foo", 1, "", true)]
    #[case::script("./test.sh EditMode", 1, "1 failed, 8 passed", false)]
    #[case::piped("git log | grep -q foo", 1, "", true)]
    #[case::diff("diff a b", 1, "1c1\n< x\n---\n> y", true)]
    #[case::test("[ -f build/a.o ]", 1, "", true)]
    #[case::test_with_echo("test -d out && echo yes", 1, "", true)]
    #[case::git("git diff --exit-code", 1, "diff --git a/x b/x", true)]
    #[case::ancestor("git merge-base --is-ancestor a b", 1, "", true)]
    #[case::asked("command -v poetry", 1, "", true)]
    #[case::cluster("kubectl diff -f deploy", 1, "", true)]
    #[case::of_an_app("argocd app diff payments", 1, "< replicas: 7\n---\n> replicas: 3", true)]
    #[case::no_unit("systemctl status x.timer", 4, "Unit x.timer could not be found.", true)]
    #[case::which("which node", 1, "", true)]
    #[case::no_file("grep foo nothing.txt", 2, "grep: nothing.txt: No such file or directory", false)]
    #[case::bad_option("grep --fo x", 1, "error: unknown option", false)]
    #[case::build("make && grep -q ok out.log", 1, "main.c:1: error: x", false)]
    #[case::build_alone("make", 1, "", false)]
    #[case::tests("cargo test | grep FAILED && exit 1", 1, "test x ... FAILED", false)]
    #[case::push("git push", 1, "rejected", false)]
    fn exit_code_may_be_an_answer(#[case] line: &str, #[case] code: i32, #[case] output: &str, #[case] expected: bool) {
        assert_eq!(is_answer(line, code, output), expected);
    }

    #[rstest]
    #[case::alone("cargo test", "cargo test")]
    #[case::after_others("cd app; npm ci && npm test > out.log 2>&1\n", "npm ci; npm test")]
    #[case::in_a_subshell("(cd app && cargo test)", "cd app; cargo test")]
    #[case::before_a_pipe("npm ci && cargo test | tail -5", "npm ci; tail -5")]
    #[case::in_a_piped_subshell("(cd app; cargo test) | tail", "tail")]
    #[case::failing_pipe("set -o pipefail; cargo test 2>&1 | tail", "cargo test; tail")]
    #[case::with_a_fallback("cargo test || true", "")]
    #[case::before_another("cargo test; echo done", "echo done")]
    #[case::on_another_line("cargo test\necho done", "echo done")]
    #[case::over_two_lines("npm ci &&\n  npm test", "npm ci; npm test")]
    #[case::in_the_background("cargo test &", "")]
    #[case::negated("! cargo test", "")]
    #[case::in_a_condition("if cargo test; then :; fi", "fi")]
    #[case::in_a_substitution("x=$(cargo test)", "")]
    #[case::not_run("cargo test --no-run", "")]
    #[case::help("cargo test --help", "")]
    #[case::version("pytest --version", "")]
    fn commands_that_surely_succeeded_are_found(#[case] line: &str, #[case] expected: &str) {
        let found: Vec<String> = succeeded(line, false).iter().map(MainCommand::line).collect();
        assert_eq!(found.join("; "), expected);
    }

    #[rstest]
    #[case::end("cargo test 2>&1 | tail -5", "cargo test; tail -5")]
    #[case::copied("pytest | tee out.log | tail -3", "pytest; tail -3")]
    #[case::all_results("cargo test 2>&1 | grep 'test result'", "cargo test; grep test result")]
    #[case::beginning("cargo test | head -5", "head -5")]
    #[case::only_good_lines("cargo test | grep ok", "grep ok")]
    #[case::without_results("cargo test | grep -v 'test result'", "grep -v test result")]
    #[case::goes_on_after_a_failure("cargo test --no-fail-fast | tail -5", "tail -5")]
    #[case::no_check("make install | tail -5", "tail -5")]
    #[case::two_checks("cargo clippy | tail -5 && cargo test | tail -5", "tail -5; tail -5")]
    #[case::with_a_fallback("cargo test | tail -5 || true", "")]
    fn output_that_all_tests_passed_counts_after_a_pipe(#[case] line: &str, #[case] expected: &str) {
        let found: Vec<String> = succeeded(line, true).iter().map(MainCommand::line).collect();
        assert_eq!(found.join("; "), expected);
    }

    #[rstest]
    #[case::plain("make", "make")]
    #[case::output("cd app && FOO=1 cargo test -p x parser 2>&1 | tail -20", "cargo test -p x parser")]
    #[case::runner("uv run --frozen pytest -q tests/a.py", "pytest -q tests/a.py")]
    #[case::module("python3 -m pytest tests", "pytest tests")]
    #[case::npx("npx tsc --noEmit", "tsc --noEmit")]
    #[case::script("./scripts/deploy.sh prod", "scripts/deploy.sh prod")]
    #[case::npm("npm run lint -- --fix", "npm lint -- --fix")]
    #[case::several("npm ci && npm test", "npm ci; npm test")]
    #[case::only_looks("cat a.txt", "cat a.txt")]
    fn main_commands_of_a_line_are_found(#[case] line: &str, #[case] expected: &str) {
        let found: Vec<String> = main_commands(line).iter().map(MainCommand::line).collect();
        assert_eq!(found.join("; "), expected);
    }
}
