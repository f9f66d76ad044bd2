//! Bytes that gzip may have packed.

use std::io::{self, BufRead, Read};

use flate2::read::MultiGzDecoder;

/// The first bytes of what gzip has packed (RFC 1952, 2.3.1).
const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Reads bytes as they were before gzip packed them, where it has.
///
/// # Errors
///
/// When the first bytes cannot be read.
pub fn unpacked<'a>(mut packed: impl BufRead + 'a) -> io::Result<Box<dyn Read + 'a>> {
    match packed.fill_buf()?.starts_with(&MAGIC) {
        true => Ok(Box::new(MultiGzDecoder::new(packed))),
        false => Ok(Box::new(packed)),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn packed_or_not_the_bytes_are_the_same() {
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(b"bytes").unwrap();
        for bytes in [packed.finish().unwrap(), b"bytes".to_vec()] {
            let mut read = Vec::new();
            unpacked(&bytes[..]).unwrap().read_to_end(&mut read).unwrap();
            assert_eq!(read, b"bytes");
        }
    }
}
