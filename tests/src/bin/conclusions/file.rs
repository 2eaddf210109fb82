//! Writes the file of the network. Token vectors have 4 bits per value and a scale per dimension. The other weights have 8 bits and a scale
//! per filter and layer.

use schema::host::classifier::network::{DIMS, FILTERS, Member};

use crate::training::Trained;
use crate::vocabulary::Pieces;

/// The number of standard deviations at which vector values are clipped.
const CUT: f32 = 3.0;

/// Returns a file in the format that `ClassifierNetwork::parse` reads.
pub(crate) fn write(pieces: &Pieces, trained: &[Trained]) -> Vec<u8> {
    let mut file = Vec::new();
    for number in [pieces.hashes.len(), DIMS, FILTERS, trained.len()] {
        file.extend((number as u16).to_le_bytes());
    }
    file.extend(pieces.hashes.iter().flat_map(|hash| hash.to_le_bytes()));
    for Trained { member, table } in trained {
        let scales: Vec<f32> = (0..DIMS).map(|at| spread(table.iter().map(|row| row[at]))).collect();
        file.extend(scales.iter().flat_map(|scale| scale.to_le_bytes()));
        for row in table {
            let nibble = |at: usize| ((row[at] / scales[at]).round().clamp(-8.0, 7.0) + 8.0) as u8;
            file.extend((0..DIMS).step_by(2).map(|at| nibble(at) | nibble(at + 1) << 4));
        }
        write_member(member, &mut file);
    }
    file
}

/// Returns the scale with the least loss for most values in 4 bits. The few larger values are clipped.
fn spread(values: impl Iterator<Item = f32> + Clone) -> f32 {
    let (count, sum) = (values.clone().count(), values.map(|value| value * value).sum::<f32>());
    ((sum / count.max(1) as f32).sqrt() * CUT / 7.5).max(f32::MIN_POSITIVE)
}

fn write_member(member: &Member, file: &mut Vec<u8>) {
    for filters in &member.filters {
        for (at, bias) in filters.biases.iter().enumerate() {
            file.extend(bias.to_le_bytes());
            let weights: Vec<f32> = filters.weights.iter().map(|all| all[at]).collect();
            write_scaled(&weights, file);
        }
    }
    for layer in member.output.iter().chain([&member.features]) {
        write_scaled(layer.as_flattened(), file);
    }
    file.extend(member.bias.iter().flat_map(|bias| bias.to_le_bytes()));
}

fn write_scaled(values: &[f32], file: &mut Vec<u8>) {
    let scale = scale(values.iter());
    file.extend(scale.to_le_bytes());
    file.extend(values.iter().map(|value| byte(*value, scale)));
}

fn scale<'a>(values: impl Iterator<Item = &'a f32>) -> f32 {
    let greatest = values.fold(0.0f32, |greatest, value| greatest.max(value.abs()));
    if greatest == 0.0 { 1.0 } else { greatest / 127.0 }
}

fn byte(value: f32, scale: f32) -> u8 {
    ((value / scale).round() as i8) as u8
}
