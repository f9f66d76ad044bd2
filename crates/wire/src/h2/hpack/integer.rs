//! Integers (RFC 7541, section 5.1).

use super::HpackError;

/// The largest integer that is read: far beyond any length or index that is allowed.
const LARGEST: usize = 1 << 28;

/// Appends `value`, which begins in the lowest `bits` bits of a byte whose other bits are `flags`.
pub(super) fn encode(value: usize, bits: u32, flags: u8, out: &mut Vec<u8>) {
    let most = (1_usize << bits) - 1;
    if value < most {
        return out.push(flags | value as u8);
    }
    out.push(flags | most as u8);
    let mut rest = value - most;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Takes an integer that begins in the lowest `bits` bits of the first byte.
#[inline]
pub(super) fn decode(block: &mut &[u8], bits: u32) -> Result<usize, HpackError> {
    let (&first, mut rest) = block.split_first().ok_or(HpackError::Truncated)?;
    let most = (1_usize << bits) - 1;
    let mut value = usize::from(first) & most;
    if value == most {
        let mut shift = 0;
        loop {
            let (&byte, after) = rest.split_first().ok_or(HpackError::Truncated)?;
            rest = after;
            value += usize::from(byte & 0x7f) << shift;
            // The shift also bounds how many bytes of nothing may follow.
            shift += 7;
            if value > LARGEST || shift > 28 {
                return Err(HpackError::Integer);
            }
            if byte & 0x80 == 0 {
                break;
            }
        }
    }
    *block = rest;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_examples_of_the_rfc() {
        // RFC 7541, appendix C.1.
        for (value, bits, bytes) in
            [(10, 5, &[0b01010][..]), (1337, 5, &[0b11111, 0b1001_1010, 0b1010]), (42, 8, &[42])]
        {
            let mut out = Vec::new();
            encode(value, bits, 0, &mut out);
            assert_eq!(out, bytes, "{value}");
            assert_eq!(decode(&mut &bytes[..], bits), Ok(value), "{value}");
        }
    }

    #[test]
    fn integers_have_an_end() {
        assert_eq!(decode(&mut &[0x7f, 0x80, 0x80, 0x80, 0x80, 0x00][..], 7), Err(HpackError::Integer));
        assert_eq!(decode(&mut &[0x7f, 0xff, 0xff, 0xff, 0xff, 0x7f][..], 7), Err(HpackError::Integer));
        assert_eq!(decode(&mut &[0x7f, 0x80][..], 7), Err(HpackError::Truncated));
        assert_eq!(decode(&mut &[][..], 7), Err(HpackError::Truncated));
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(value in 0..=LARGEST / 2, bits in 1..=8_u32) {
            let mut out = Vec::new();
            encode(value, bits, 0, &mut out);
            prop_assert_eq!(decode(&mut out.as_slice(), bits), Ok(value));
        }
    }
}
