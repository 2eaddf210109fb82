//! Crashes: programs are killed at named points and at random moments, round by round, and the store is looked at after the next
//! opening. What somebody was told to be kept is there once, and all is in step.

mod attempt;
mod changes;
mod field;
mod ways_in;

use std::time::Duration;

use crate::proof::{Random, Tally};
use crate::sandbox::Binaries;
use field::Field;

pub use attempt::Blow;

/// What goes on when something is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// A hook that writes by itself.
    Direct,
    /// A hook that finds the store taken, and whoever keeps later what it laid aside.
    Spool,
    /// A server that keeps what hooks send.
    Socket,
    /// A save on the command line, and one by a server.
    Save,
    /// Rows and chunks brought in step with Markdown that changed.
    Index,
    /// The index made anew and put in the place of the old one.
    Rebuild,
    /// Memories forgotten.
    Forget,
    /// A database of the Go version taken over.
    Upgrade,
    /// A database of an earlier version taken over.
    Earlier,
    /// Transcripts taken in.
    Import,
}

impl Work {
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
            Self::Spool => "hook, by the spool",
            Self::Socket => "hook, by a server",
            Self::Save => "save",
            Self::Index => "index",
            Self::Rebuild => "rebuild",
            Self::Forget => "forget",
            Self::Upgrade => "upgrade",
            Self::Earlier => "upgrade from an earlier version",
            Self::Import => "import",
        }
    }

    /// The points that it comes by.
    pub fn points(self) -> &'static [&'static str] {
        match self {
            Self::Direct => {
                &["store.created", "log.half", "log.appended", "capture.logged", "capture.done", "track.kept"]
            }
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

    /// Whether it comes by its points more than once.
    fn comes_by_often(self) -> bool {
        matches!(self, Self::Socket | Self::Index | Self::Import)
    }

    /// How long the program that is killed may take, in microseconds: what random moments begin with.
    fn span(self) -> usize {
        match self {
            Self::Direct | Self::Socket => 20_000,
            Self::Save => 50_000,
            Self::Spool => 130_000,
            Self::Index | Self::Rebuild | Self::Forget | Self::Upgrade | Self::Earlier => 90_000,
            Self::Import => 250_000,
        }
    }

    fn round(self, field: &mut Field, blow: &Blow, random: &mut Random) {
        match self {
            Self::Direct => ways_in::direct(field, blow, random),
            Self::Spool => ways_in::spool(field, blow, random),
            Self::Socket => ways_in::socket(field, blow, random),
            Self::Save => ways_in::save(field, blow, random),
            Self::Index => changes::index(field, blow, random),
            Self::Rebuild => changes::rebuild(field, blow, random),
            Self::Forget => changes::forget(field, blow, random),
            Self::Upgrade => changes::upgrade(field, blow, random),
            Self::Earlier => changes::upgrade_of_earlier_version(field, blow, random),
            Self::Import => changes::import(field, blow, random),
        }
    }
}

/// Whether programs have points to be killed at, as the hook shows: those of a release build have none.
pub fn has_points(binaries: &Binaries) -> bool {
    Field::new(binaries.clone()).is_killed_at("capture.done")
}

/// Does so many rounds of one kind of work, the points in turn with random moments.
pub fn run(binaries: &Binaries, work: Work, rounds: usize, seed: u64) -> Tally {
    let mut tally = Tally::new("crash", work.name());
    let has_points = has_points(binaries);
    let mut missed = Vec::new();
    let mut span = work.span();
    for round in 0..rounds {
        let mut random = Random::new(seed ^ (round as u64) << 8 ^ (work as u64) << 32);
        let blow = blow(work, has_points, round, span, &mut random);
        let mut field = Field::new(binaries.clone());
        work.round(&mut field, &blow, &mut random);
        let hits = field.hits();
        tally.rounds += 1;
        tally.faults += hits;
        match (hits, &blow) {
            (0, Blow::At { point, .. }) => missed.push(*point),
            // How long it takes depends on the machine: two of three moments are to meet it at work.
            (0, Blow::After(_)) => span = (span - span / 10).max(SHORTEST_SPAN),
            (_, Blow::After(_)) => span = (span + span / 20).min(4 * work.span()),
            _ => {}
        }
        let told = |finding| format!("round {round} of seed {seed}, {blow:?}: {finding}");
        tally.findings.extend(field.findings().into_iter().map(told));
    }
    tally.measured = match has_points {
        true => {
            let at_points = rounds.div_ceil(2);
            format!("{at_points} rounds at points, of which {} were not come by", missed.len())
        }
        false => "points skipped, as these programs have none; random moments only".to_owned(),
    };
    tally
}

/// Below that a program has hardly begun, in microseconds.
const SHORTEST_SPAN: usize = 2_000;

/// Points in even rounds, random moments of a span in odd ones.
fn blow(work: Work, has_points: bool, round: usize, span: usize, random: &mut Random) -> Blow {
    let points = work.points();
    if round.is_multiple_of(2) && has_points {
        let point = points[round / 2 % points.len()];
        // The first time that it is come by, and later ones once all were tried.
        let time = if round / 2 < points.len() || !work.comes_by_often() { 1 } else { 1 + random.below(3) };
        return Blow::At { point, time };
    }
    Blow::After(Duration::from_micros(random.below(span) as u64))
}
