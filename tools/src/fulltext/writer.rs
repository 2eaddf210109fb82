//! Adds documents: their terms are collected in memory and written as a segment.

use std::collections::HashMap;

use rusqlite::{Connection, Result, params};

use super::list::Posting;
use super::merge;
use crate::text;
use crate::text::hashes::{Hashes, Stems};

/// Postings that are held in memory at most, about 16 bytes each.
const MOST_POSTINGS: usize = 1 << 20;

/// An occurrence in the title counts as so many in the body.
const TITLE: u16 = 5;

/// Of the impact `n / (n + 0.7·norm)` with `norm = 0.65 + 0.35·length / 60`, at most 4: the strength that the relevance of words
/// gives a term too, in a store of documents of this usual length.
const SATURATION: f32 = 0.7;
const LENGTH: f32 = 0.35;
const USUAL_LENGTH: f32 = 60.0;
const LONGEST: f32 = 4.0;

/// Adds documents to the full text; they are found once it is finished.
#[derive(Debug)]
pub struct Writer<'c> {
    connection: &'c Connection,
    /// The places of terms in `terms`, by their hashes.
    places: HashMap<u64, usize, Hashes>,
    terms: Vec<Occurring>,
    postings: usize,
    /// The numbers and lengths of the documents that are not yet written.
    documents: Vec<(u32, u32)>,
    /// The terms of the document that is read, one by one.
    read: Vec<(usize, u16)>,
}

/// How often a term occurs in which documents, in rising order.
#[derive(Debug)]
struct Occurring {
    term: Box<str>,
    counts: Vec<(u32, u16)>,
}

impl<'c> Writer<'c> {
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

    /// Adds a document under a row number that is not in use.
    pub fn insert(&mut self, rowid: i64, title: &str, body: &str) -> Result<()> {
        let mut statement = self
            .connection
            .prepare_cached("INSERT INTO fulltext_documents (document, length) VALUES (?1, ?2) RETURNING number")?;
        let mut stems = Stems::of_thread();
        self.take_in(&mut stems, title, TITLE);
        self.take_in(&mut stems, body, 1);
        let length = self.read.len() as u32;
        let number: u32 = statement.query_row(params![rowid, length], |row| row.get(0))?;
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
        if self.postings >= MOST_POSTINGS { self.write() } else { Ok(()) }
    }

    /// Reads the terms of a text, each of which counts so many times.
    fn take_in(&mut self, stems: &mut Stems, text: &str, times: u16) {
        text::visit(text, |piece| {
            let place = *self.places.entry(stems.token(piece)).or_insert_with(|| {
                self.terms.push(Occurring { term: piece.token().into(), counts: Vec::new() });
                self.terms.len() - 1
            });
            self.read.push((place, times));
        });
    }

    /// Writes what is still in memory.
    pub fn finish(mut self) -> Result<()> {
        self.write()?;
        merge::join_small(self.connection)
    }

    fn write(&mut self) -> Result<()> {
        let (Some((first, _)), Some((last, _))) = (self.documents.first(), self.documents.last()) else {
            return Ok(());
        };
        let (first, last) = (*first, *last);
        let segment = merge::new_segment(self.connection, first, last, self.documents.len(), merge::SEARCHED)?;
        let norms: HashMap<u32, f32, Hashes> =
            self.documents.iter().map(|(number, length)| (*number, norm(*length))).collect();
        self.places.clear();
        let mut terms = std::mem::take(&mut self.terms);
        terms.sort_unstable_by(|a, b| a.term.cmp(&b.term));
        for Occurring { term, counts } in terms {
            let strength = |(number, count): &(u32, u16)| (*number, impact(*count, norms[number]));
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

fn norm(length: u32) -> f32 {
    (1.0 - LENGTH + LENGTH * length as f32 / USUAL_LENGTH).min(LONGEST)
}

fn impact(count: u16, norm: f32) -> u8 {
    let count = f32::from(count);
    (255.0 * count / (count + SATURATION * norm)).round().clamp(1.0, 255.0) as u8
}
