//! Crashes: kills programs at named points and at random moments, then reopens the store and checks it. Confirmed memories must exist once,
//! and everything must be in sync.

mod capture_crashes;
mod crash_run;
mod index_crashes;
mod kill;

use std::collections::BTreeSet;
use std::time::Duration;

use crate::proof::{ProofResult, SeededRandom};
use crate::sandbox::Binaries;
use crash_run::CrashRun;

pub use kill::KillTime;

/// The work during which a program is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashScenario {
    /// A hook that writes directly.
    Direct,
    /// A hook that queues events on disk, and the process that saves them later.
    Spool,
    /// A server that saves events from hooks.
    Socket,
    /// A save by a command, and one by a server.
    Save,
    /// Synchronisation of rows and chunks with changed Markdown.
    Index,
    /// A rebuild of the index.
    Rebuild,
    Forget,
    /// Upgrade of a database of the Go version.
    Upgrade,
    /// Upgrade of a database of an earlier version.
    Earlier,
    /// Import of transcripts.
    Import,
}

impl CrashScenario {
    pub const ALL: [Self; 10] = [
        Self::Direct,
        Self::Spool,
        Self::Socket,
        Self::Save,
        Self::Index,
        Self::Rebuild,
        Self::Forget,
        Self::Upgrade,
        Self::Earlier,
        Self::Import,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "hook, directly",
            Self::Spool => "hook, through the spool",
            Self::Socket => "hook, through a server",
            Self::Save => "save",
            Self::Index => "index",
            Self::Rebuild => "rebuild",
            Self::Forget => "forget",
            Self::Upgrade => "upgrade",
            Self::Earlier => "upgrade from an earlier version",
            Self::Import => "import",
        }
    }

    /// Returns the named points that this work reaches.
    pub fn points(self) -> &'static [&'static str] {
        match self {
            Self::Direct => &[
                "store.created",
                "log.half",
                "log.appended",
                "capture.logged",
                "capture.done",
                "track.moved",
                "track.kept",
            ],
            Self::Spool => &[
                "spool.half",
                "spool.written",
                "spool.put",
                "spool.kept",
                "capture.logged",
                "capture.done",
                "log.half",
            ],
            Self::Socket => &["log.half", "log.appended", "capture.logged", "capture.done", "queue.kept"],
            Self::Save => {
                &["log.half", "log.appended", "log.rewritten", "log.replaced", "capture.logged", "capture.done"]
            }
            Self::Index => &["sync.batch", "sync.rows", "index.file", "index.memories"],
            Self::Rebuild => &["rebuild.filled", "rebuild.done", "index.file", "sync.rows"],
            Self::Forget => &["forget.hash", "forget.log", "forget.rows", "log.rewritten", "log.replaced"],
            Self::Upgrade => &[
                "upgrade.copied",
                "upgrade.backed-up",
                "log.rewritten",
                "log.replaced",
                "upgrade.logged",
                "upgrade.tables",
                "sync.rows",
            ],
            Self::Earlier => &["upgrade.filled", "upgrade.done", "sync.rows"],
            Self::Import => &["bulk.logged", "bulk.written", "bulk.done", "log.half", "log.appended"],
        }
    }

    /// Whether it reaches its points more than once.
    fn passes_points_often(self) -> bool {
        matches!(self, Self::Socket | Self::Index | Self::Import)
    }

    /// Returns the initial range of random moments, in microseconds.
    fn max_duration_micros(self) -> usize {
        match self {
            Self::Direct | Self::Socket => 20_000,
            Self::Save => 50_000,
            Self::Spool => 130_000,
            Self::Index | Self::Rebuild | Self::Forget | Self::Upgrade | Self::Earlier => 90_000,
            Self::Import => 250_000,
        }
    }

    fn run_round(self, field: &mut CrashRun, blow: &KillTime, random: &mut SeededRandom) {
        match self {
            Self::Direct => capture_crashes::crash_direct(field, blow, random),
            Self::Spool => capture_crashes::crash_spool(field, blow, random),
            Self::Socket => capture_crashes::crash_socket(field, blow, random),
            Self::Save => capture_crashes::crash_save(field, blow, random),
            Self::Index => index_crashes::crash_index(field, blow, random),
            Self::Rebuild => index_crashes::crash_rebuild(field, blow, random),
            Self::Forget => index_crashes::crash_forget(field, blow, random),
            Self::Upgrade => index_crashes::crash_go_upgrade(field, blow, random),
            Self::Earlier => index_crashes::crash_schema_upgrade(field, blow, random),
            Self::Import => index_crashes::crash_import(field, blow, random),
        }
    }
}

/// Whether the programs have named points, which release builds lack.
pub fn has_points(binaries: &Binaries) -> bool {
    CrashRun::new(binaries.clone()).is_killed_at("capture.done")
}

/// The moments at which programs are killed, and their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KillPlan {
    /// At each point in turn.
    AtPoints { rounds: usize },
    /// At random moments, until this many programs were killed at work.
    AtMoments { kills: usize },
}

/// The maximum number of rounds at random moments per wanted kill. About two of three moments hit a program at work once the range is
/// right.
const ROUNDS_FOR_A_KILL: usize = 12;

impl KillPlan {
    fn name(self) -> &'static str {
        match self {
            Self::AtPoints { .. } => "at points",
            Self::AtMoments { .. } => "at random moments",
        }
    }

    fn is_over(self, tally: &ProofResult) -> bool {
        match self {
            Self::AtPoints { rounds } => tally.rounds >= rounds,
            Self::AtMoments { kills } => tally.faults >= kills || tally.rounds >= kills * ROUNDS_FOR_A_KILL,
        }
    }

    fn blow(self, work: CrashScenario, round: usize, span: usize, random: &mut SeededRandom) -> KillTime {
        let Self::AtPoints { .. } = self else {
            return KillTime::After(Duration::from_micros(random.below(span) as u64));
        };
        let points = work.points();
        // First the first occurrence of each point, then later ones.
        let time = if round < points.len() || !work.passes_points_often() { 1 } else { 1 + random.below(3) };
        KillTime::AtPoint { point: points[round % points.len()], time }
    }
}

/// Kills the programs of one kind of work as planned. It is a finding if no program was killed at a point, or if there were too few kills.
pub fn run(binaries: &Binaries, work: CrashScenario, plan: KillPlan, seed: u64) -> ProofResult {
    let mut tally = ProofResult::new("crash", format!("{}, {}", work.name(), plan.name()));
    let (mut tried, mut met) = (BTreeSet::new(), BTreeSet::new());
    let mut misses = 0;
    let mut span = work.max_duration_micros();
    while !plan.is_over(&tally) {
        let round = tally.rounds;
        let mut random = SeededRandom::new(seed ^ (round as u64) << 8 ^ (work as u64) << 32);
        let blow = plan.blow(work, round, span, &mut random);
        let mut field = CrashRun::new(binaries.clone());
        work.run_round(&mut field, &blow, &mut random);
        let hits = field.hits();
        tally.rounds += 1;
        tally.faults += hits;
        misses += usize::from(hits == 0);
        match blow {
            KillTime::AtPoint { point, .. } => {
                tried.insert(point);
                met.extend((hits > 0).then_some(point));
            }
            // The duration depends on the machine. About two of three moments should hit the work.
            KillTime::After(_) if hits == 0 => span = (span - span / 10).max(SHORTEST_SPAN),
            KillTime::After(_) => span = (span + span / 20).min(4 * work.max_duration_micros()),
        }
        let told = |finding| format!("round {round} of seed {seed}, {blow:?}: {finding}");
        tally.findings.extend(field.findings().into_iter().map(told));
    }
    tally.findings.extend(tried.difference(&met).map(|point| format!("no program was killed at {point}")));
    if let KillPlan::AtMoments { kills } = plan
        && tally.faults < kills
    {
        tally.findings.push(format!("{} of {kills} kills in {} rounds", tally.faults, tally.rounds));
    }
    tally.measured = format!("in {misses} of the rounds no program was killed");
    tally
}

/// The minimum range, in microseconds. A shorter run has hardly started.
const SHORTEST_SPAN: usize = 2_000;
