//! Adds documents: collects terms in memory and writes them as a segment.

use std::collections::HashMap;

use rusqlite::{Connection, Result, params};

use super::merge;
use super::postings::Posting;
use crate::text;
use crate::text::token_hashes::{StemCache, TokenHasher};

/// Postings in memory, about 16 bytes each.
const MAX_POSTINGS: usize = 1 << 20;

/// Weight of an occurrence in the title.
const TITLE: u16 = 5;

/// Parameter of the impact `n / (n + 0.7·norm)` with `norm = 0.65 + 0.35·length / 60`, at most 4.
/// [`crate::search::relevance`] uses the same formula for documents of usual length.
const SATURATION: f32 = 0.7;
const LENGTH: f32 = 0.35;
const AVERAGE_LENGTH: f32 = 60.0;
const MAX_LENGTH_RATIO: f32 = 4.0;

/// Documents can be found after `finish`.
#[derive(Debug)]
pub struct SegmentWriter<'c> {
    connection: &'c Connection,
    /// Indices into `terms` by hash.
    places: HashMap<u64, usize, TokenHasher>,
    terms: Vec<TermCounts>,
    postings: usize,
    /// Numbers and lengths of unwritten documents.
    documents: Vec<(u32, u32)>,
    /// Terms of the current document.
    read: Vec<(usize, u16)>,
}

/// A term's documents with their counts, ascending.
#[derive(Debug)]
struct TermCounts {
    term: Box<str>,
    counts: Vec<(u32, u16)>,
}

impl<'c> SegmentWriter<'c> {
    pub(super) fn new(connection: &'c Connection) -> Self {
        Self {
            connection,
            places: HashMap::default(),
            terms: Vec::new(),
            postings: 0,
            documents: Vec::new(),
            read: Vec::new(),
        }
    }

    /// Adds a document under an unused row number.
    pub fn insert(&mut self, rowid: i64, title: &str, body: &str) -> Result<()> {
        let mut statement = self
            .connection
            .prepare_cached("INSERT INTO fulltext_documents (document, length) VALUES (?1, ?2) RETURNING number")?;
        let mut stems = StemCache::for_thread();
        self.add_text(&mut stems, title, TITLE);
        self.add_text(&mut stems, body, 1);
        let length = self.read.len() as u32;
        let number: u32 = statement.query_one(params![rowid, length], |row| row.get(0))?;
        for (place, times) in self.read.drain(..) {
            let counts = &mut self.terms[place].counts;
            match counts.last_mut() {
                Some((document, count)) if *document == number => *count = count.saturating_add(times),
                _ => {
                    counts.push((number, times));
                    self.postings += 1;
                }
            }
        }
        self.documents.push((number, length));
        if self.postings >= MAX_POSTINGS { self.write_segment() } else { Ok(()) }
    }

    /// Counts the terms of a text, each `times` times.
    fn add_text(&mut self, stems: &mut StemCache, text: &str, times: u16) {
        text::visit(text, |piece| {
            let place = *self.places.entry(stems.token_hash(piece)).or_insert_with(|| {
                self.terms.push(TermCounts { term: piece.token().into(), counts: Vec::new() });
                self.terms.len() - 1
            });
            self.read.push((place, times));
        });
    }

    pub fn finish(mut self) -> Result<()> {
        self.write_segment()?;
        merge::join_small(self.connection)
    }

    fn write_segment(&mut self) -> Result<()> {
        let (Some((first, _)), Some((last, _))) = (self.documents.first(), self.documents.last()) else {
            return Ok(());
        };
        let (first, last) = (*first, *last);
        let segment = merge::new_segment(self.connection, first, last, self.documents.len(), merge::SEARCHED)?;
        let norms: HashMap<u32, f32, TokenHasher> =
            self.documents.iter().map(|(number, length)| (*number, length_norm(*length))).collect();
        self.places.clear();
        let mut terms = std::mem::take(&mut self.terms);
        terms.sort_unstable_by(|a, b| a.term.cmp(&b.term));
        for TermCounts { term, counts } in terms {
            let strength = |(number, count): &(u32, u16)| (*number, quantized_impact(*count, norms[number]));
            let postings: Vec<Posting> = counts.iter().rev().map(strength).collect();
            merge::write_list(self.connection, segment, &term, last, &postings)?;
        }
        let tokens: u64 = self.documents.iter().map(|(_, length)| u64::from(*length)).sum();
        let mut total = self
            .connection
            .prepare_cached("UPDATE fulltext_totals SET documents = documents + ?1, tokens = tokens + ?2")?;
        total.execute(params![self.documents.len() as i64, tokens as i64])?;
        self.documents.clear();
        self.postings = 0;
        Ok(())
    }
}

fn length_norm(length: u32) -> f32 {
    (1.0 - LENGTH + LENGTH * length as f32 / AVERAGE_LENGTH).min(MAX_LENGTH_RATIO)
}

fn quantized_impact(count: u16, norm: f32) -> u8 {
    let count = f32::from(count);
    (255.0 * count / (count + SATURATION * norm)).round().clamp(1.0, 255.0) as u8
}
