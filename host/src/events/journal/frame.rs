//! Frames: how a record lies in a file, so that a torn one is never taken for a whole one.
//!
//! `[length u32 LE][CRC-32 of the payload u32 LE][payload]`. Knows nothing of what a payload says;
//! the checksum finds accidents, the chain of hashes finds rewriting.

/// Bytes before a payload.
pub(super) const HEADER_LEN: usize = 8;
/// Longest payload: over three times what the bounds of `record` add up to.
pub(super) const PAYLOAD_MAX_LEN: usize = 96 * 1024;

/// What lies at a place.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found<'a> {
    /// A whole frame; `end` is where the next begins.
    Frame { payload: &'a [u8], end: usize },
    /// Nothing has been written from here on: the bytes end, or a length is zero.
    End,
    /// Something that is no whole frame.
    Torn,
}

/// Leaves room for a header; the payload is to be appended, then [`seal`]ed.
pub(super) fn begin(buffer: &mut Vec<u8>) -> usize {
    let start = buffer.len();
    buffer.extend_from_slice(&[0; HEADER_LEN]);
    start
}

/// Writes the header of the frame that begins at `start` and ends with the buffer. False, and
/// nothing done, if the payload is empty or too long.
pub(super) fn seal(buffer: &mut [u8], start: usize) -> bool {
    let Some((header, payload)) =
        buffer.get_mut(start..).and_then(|frame| frame.split_at_mut_checked(HEADER_LEN))
    else {
        return false;
    };
    let Ok(len) = u32::try_from(payload.len()) else { return false };
    if payload.is_empty() || payload.len() > PAYLOAD_MAX_LEN {
        return false;
    }
    let (len_place, crc_place) = header.split_at_mut(4);
    len_place.copy_from_slice(&len.to_le_bytes());
    crc_place.copy_from_slice(&crc32fast::hash(payload).to_le_bytes());
    true
}

/// Appends a whole frame. False, and nothing appended, if the payload is empty or too long.
pub(super) fn push(buffer: &mut Vec<u8>, payload: &[u8]) -> bool {
    let start = begin(buffer);
    buffer.extend_from_slice(payload);
    let sealed = seal(buffer, start);
    if !sealed {
        buffer.truncate(start);
    }
    sealed
}

/// Looks at the place `at`.
pub(super) fn at(bytes: &[u8], at: usize) -> Found<'_> {
    let rest = bytes.get(at..).unwrap_or_default();
    if rest.is_empty() {
        return Found::End;
    }
    let Some((header, rest)) = rest.split_first_chunk::<HEADER_LEN>() else {
        return if rest.iter().all(|byte| *byte == 0) { Found::End } else { Found::Torn };
    };
    let [a, b, c, d, crc @ ..] = *header;
    let len = usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap_or(usize::MAX);
    if len == 0 {
        return Found::End;
    }
    match rest.get(..len) {
        Some(payload)
            if len <= PAYLOAD_MAX_LEN && crc32fast::hash(payload) == u32::from_le_bytes(crc) =>
        {
            Found::Frame { payload, end: at + HEADER_LEN + len }
        }
        _ => Found::Torn,
    }
}

/// The whole frames from `from` on, up to the first place that holds none.
pub(super) fn all(bytes: &[u8], from: usize) -> impl Iterator<Item = (&[u8], usize)> {
    let mut place = from;
    std::iter::from_fn(move || match at(bytes, place) {
        Found::Frame { payload, end } => {
            place = end;
            Some((payload, end))
        }
        Found::End | Found::Torn => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames() -> Vec<u8> {
        let mut bytes = Vec::new();
        for payload in [&b"one"[..], b"", b"second", b"x"] {
            assert_eq!(push(&mut bytes, payload), !payload.is_empty());
        }
        bytes
    }

    fn payloads(bytes: &[u8]) -> Vec<&[u8]> {
        all(bytes, 0).map(|(payload, _)| payload).collect()
    }

    #[test]
    fn frames_read_back_also_with_room_after_them() {
        let mut bytes = frames();
        assert_eq!(payloads(&bytes), [&b"one"[..], b"second", b"x"]);
        assert_eq!(at(&bytes, bytes.len()), Found::End);
        let end = bytes.len();
        for room in [1, 7, 8, 100] {
            bytes.resize(end + room, 0);
            assert_eq!(payloads(&bytes).len(), 3);
            assert_eq!(at(&bytes, end), Found::End);
        }
    }

    #[test]
    fn a_cut_at_any_byte_leaves_the_whole_frames_before_it() {
        let bytes = frames();
        let ends: Vec<usize> = all(&bytes, 0).map(|(_, end)| end).collect();
        for cut in 0..bytes.len() {
            let whole = ends.iter().filter(|end| **end <= cut).count();
            assert_eq!(payloads(&bytes[..cut]).len(), whole, "cut at {cut}");
        }
    }

    #[test]
    fn a_flipped_bit_anywhere_spoils_its_frame() {
        let bytes = frames();
        for place in 0..bytes.len() {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[place] ^= 1 << bit;
                assert_ne!(payloads(&flipped), payloads(&bytes), "bit {bit} of byte {place}");
            }
        }
    }

    #[test]
    fn a_payload_above_the_bound_is_refused_and_not_believed() {
        let mut bytes = Vec::new();
        assert!(push(&mut bytes, &vec![b'x'; PAYLOAD_MAX_LEN]));
        assert!(!push(&mut bytes, &vec![b'x'; PAYLOAD_MAX_LEN + 1]));
        assert_eq!(payloads(&bytes).len(), 1);
        let long = vec![b'x'; PAYLOAD_MAX_LEN + 1];
        let mut forged = u32::try_from(long.len()).unwrap().to_le_bytes().to_vec();
        forged.extend(crc32fast::hash(&long).to_le_bytes());
        forged.extend(long);
        assert_eq!(at(&forged, 0), Found::Torn);
    }
}
