//! Hashes and checksums, fed in pieces.
//!
//! Reads no files: `file` feeds it.

use data_encoding::HEXLOWER;
use md5::Md5;
use sha2::{Digest as _, Sha256, Sha512};

use crate::wit::{Algorithm, Digest};

/// A hash under way.
pub(crate) enum Hasher {
    Sha256(Sha256),
    Sha512(Sha512),
    Blake3(Box<blake3::Hasher>),
    Md5(Md5),
    Crc32(crc32fast::Hasher),
}

impl Hasher {
    /// Starts a hash of nothing.
    pub(crate) fn new(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Sha256 => Self::Sha256(Sha256::new()),
            Algorithm::Sha512 => Self::Sha512(Sha512::new()),
            Algorithm::Blake3 => Self::Blake3(Box::new(blake3::Hasher::new())),
            Algorithm::Md5 => Self::Md5(Md5::new()),
            Algorithm::Crc32 => Self::Crc32(crc32fast::Hasher::new()),
        }
    }

    /// Adds the next bytes.
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hasher) => hasher.update(bytes),
            Self::Sha512(hasher) => hasher.update(bytes),
            Self::Blake3(hasher) => {
                hasher.update(bytes);
            }
            Self::Md5(hasher) => hasher.update(bytes),
            Self::Crc32(hasher) => hasher.update(bytes),
        }
    }

    /// The digest in lower-case hex.
    pub(crate) fn finish(self) -> String {
        match self {
            Self::Sha256(hasher) => HEXLOWER.encode(&hasher.finalize()),
            Self::Sha512(hasher) => HEXLOWER.encode(&hasher.finalize()),
            Self::Blake3(hasher) => hasher.finalize().to_hex().to_string(),
            Self::Md5(hasher) => HEXLOWER.encode(&hasher.finalize()),
            Self::Crc32(hasher) => format!("{:08x}", hasher.finalize()),
        }
    }
}

/// Hashes `bytes` at one go.
pub(crate) fn hash_bytes(algorithm: Algorithm, bytes: &[u8]) -> Digest {
    let mut hasher = Hasher::new(algorithm);
    hasher.update(bytes);
    Digest { hex: hasher.finish(), size: bytes.len() as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(algorithm: Algorithm, text: &str) -> String {
        hash_bytes(algorithm, text.as_bytes()).hex
    }

    #[test]
    fn sha2_gives_the_nist_example_digests() {
        // FIPS 180 example values, one block and the empty message.
        assert_eq!(
            hex(Algorithm::Sha256, "abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(
            hex(Algorithm::Sha256, ""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert_eq!(
            hex(Algorithm::Sha512, "abc"),
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
             2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
        );
    }

    #[test]
    fn blake3_of_nothing_is_the_published_digest() {
        assert_eq!(
            hex(Algorithm::Blake3, ""),
            "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
        );
    }

    #[test]
    fn md5_gives_the_rfc_1321_test_suite() {
        // RFC 1321, appendix A.5.
        let suite = [
            ("", "d41d8cd98f00b204e9800998ecf8427e"),
            ("a", "0cc175b9c0f1b6a831c399e269772661"),
            ("abc", "900150983cd24fb0d6963f7d28e17f72"),
            ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
            ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
        ];
        for (text, digest) in suite {
            assert_eq!(hex(Algorithm::Md5, text), digest);
        }
    }

    #[test]
    fn crc32_gives_the_check_value_in_eight_digits() {
        // The check value of CRC-32/ISO-HDLC.
        assert_eq!(hex(Algorithm::Crc32, "123456789"), "cbf43926");
        assert_eq!(hex(Algorithm::Crc32, ""), "00000000");
    }
}
