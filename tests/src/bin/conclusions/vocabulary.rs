//! The word pieces of the network, and their vectors in the static model, with which training starts.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use schema::host::classifier::message::judged;
use schema::host::classifier::network::hash;
use schema::host::classifier::tokens::{Token, Vocabulary};
use tools::embed::LocalModel;

use crate::labelled::Labelled;

/// The pieces in ascending order of their hashes, as in the file of the network.
pub(crate) struct Pieces {
    pub hashes: Vec<u32>,
    /// The vector of each piece.
    pub rows: Vec<Vec<f32>>,
}

impl Vocabulary for Pieces {
    fn piece(&self, text: &str) -> Option<u16> {
        self.hashes.binary_search(&hash(text)).ok().map(|at| at as u16)
    }
}

/// All lower-case Latin and Hangul pieces of the static model.
struct Every(HashMap<String, u16>);

impl Vocabulary for Every {
    fn piece(&self, text: &str) -> Option<u16> {
        self.0.get(text).copied()
    }
}

/// The dimensions of the static model.
pub(crate) const STATIC_DIMS: usize = 320;

/// Chooses `count` pieces: first those that occur at least twice in the messages, then single letters and other pieces that occur once,
/// then the most frequent ones of the model.
pub(crate) fn choose(model: &Path, count: usize, messages: &[Labelled]) -> Pieces {
    let names = names(model);
    let static_model = LocalModel::built_in();
    let is_usable = |name: &str| name.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '\u{AC00}'..='\u{D7A3}'));
    let usable: Vec<u16> = (0..names.len()).filter(|at| is_usable(&names[*at])).map(|at| at as u16).collect();
    let every = Every(usable.iter().map(|at| (names[usize::from(*at)].clone(), *at)).collect());
    let mut met = vec![0usize; names.len()];
    for message in messages {
        let tokens = judged(&every, &message.text, message.speaker).into_iter().flat_map(|judged| judged.tokens);
        for token in tokens {
            if let Token::Piece(piece) = token {
                met[usize::from(piece)] += 1;
            }
        }
    }
    let lengths: HashMap<u16, f32> = usable
        .iter()
        .map(|at| (*at, static_model.piece_direction(u32::from(*at)).map_or(f32::MAX, |(_, length)| length)))
        .collect();
    let rank = |at: u16| {
        let (met, is_letter) = (met[usize::from(at)], names[usize::from(at)].chars().count() == 1);
        let order = if met >= 2 {
            0
        } else if met == 1 && is_letter {
            1
        } else if met == 1 {
            2
        } else {
            3
        };
        // Frequent pieces have short vectors.
        (order, (lengths[&at] * 1e6) as u64, at)
    };
    let mut chosen = usable;
    chosen.sort_by_key(|at| rank(*at));
    chosen.truncate(count);
    chosen.sort_by_key(|at| hash(&names[usize::from(*at)]));
    chosen.dedup_by_key(|at| hash(&names[usize::from(*at)]));
    Pieces {
        hashes: chosen.iter().map(|at| hash(&names[usize::from(*at)])).collect(),
        rows: chosen
            .iter()
            .map(|at| {
                static_model.piece_direction(u32::from(*at)).map_or_else(|| vec![0.0; STATIC_DIMS], |(row, _)| row)
            })
            .collect(),
    }
}

/// Reads the pieces from a model file. It starts with three 32-bit numbers. The third one is the size of the list of pieces, which has one
/// piece per line.
fn names(model: &Path) -> Vec<String> {
    let file = fs::read(model).expect("the model can be read");
    let size = u32::from_le_bytes(file[8..12].try_into().expect("it is four bytes")) as usize;
    String::from_utf8_lossy(&file[12..12 + size]).lines().map(str::to_owned).collect()
}
