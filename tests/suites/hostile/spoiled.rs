//! Bytes that are no component, or may not be one.

use crate::guests::built;
use crate::guests::outcomes::Spoiled;

/// The component that is spoiled: small, so that each of its bytes can be.
const WHOLE: &str = "counter";
/// The magic number and version that every component begins with (Component Model, `Binary.md`).
const MAGIC: [u8; 8] = [0, b'a', b's', b'm', 0x0d, 0, 1, 0];
const NOISE_BYTES: usize = 1024;

/// All the files that `spoiled` stands for.
pub(super) fn files(spoiled: Spoiled) -> Vec<Vec<u8>> {
    let whole = built::wat(WHOLE);
    match spoiled {
        Spoiled::Empty => vec![Vec::new()],
        Spoiled::Noise => vec![noise()],
        Spoiled::NoiseBehindMagic => vec![[MAGIC.as_slice(), &noise()].concat()],
        Spoiled::CutShort => vec![whole[..whole.len() - 1].to_vec()],
        Spoiled::EveryPrefix => (0..whole.len()).map(|length| whole[..length].to_vec()).collect(),
        Spoiled::EveryByteTurned => (0..whole.len()).map(|index| turned(&whole, index)).collect(),
        Spoiled::Text => vec![built::wat_text(WHOLE).into_bytes()],
    }
}

fn turned(whole: &[u8], index: usize) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    bytes[index] = !bytes[index];
    bytes
}

/// The same noise in each run, from a linear congruential generator (Numerical Recipes' constants).
fn noise() -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    (0..NOISE_BYTES).map(|_| next()).collect()
}
