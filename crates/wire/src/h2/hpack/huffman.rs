//! The Huffman code of HPACK (RFC 7541, section 5.2 and appendix B).
//!
//! The code is canonical: shorter codes come first, and codes of one length count up with their symbols. So the lengths
//! are all there is to write down; every table is made of them when this is compiled.

use super::HpackError;

/// Bits of each symbol's code; the last one is the end of string (RFC 7541, appendix B).
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12,
    10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6,
    5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22,
    22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20,
    22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28,
    27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28,
    27, 27, 27, 27, 27, 26, 30,
];

const END_OF_STRING: u16 = 256;

const LONGEST: usize = 30;

/// Codes of up to this many bits, which are those of almost all text, are decoded with one look into a table.
const QUICK_BITS: u32 = 10;

struct Code {
    /// Each symbol's code, in its lowest bits.
    codes: [u32; 257],
    /// Symbols in the order of their codes.
    symbols: [u16; 257],
    /// For each length: what the next 32 bits are below when they begin with a code of that length or a shorter one.
    below: [u64; LONGEST + 1],
    /// For each length: what to add to a code, modulo 2^32, for its place among the symbols.
    place: [u32; LONGEST + 1],
    /// For the next bits: the symbol, and the length of its code; zero where that is longer.
    quick: [(u8, u8); 1 << QUICK_BITS],
}

static CODE: Code = Code::new();

impl Code {
    const fn new() -> Self {
        let mut made = Self {
            codes: [0; 257],
            symbols: [0; 257],
            below: [0; LONGEST + 1],
            place: [0; LONGEST + 1],
            quick: [(0, 0); 1 << QUICK_BITS],
        };
        let mut code = 0_u32;
        let mut count = 0;
        let mut length = 1;
        while length <= LONGEST {
            code <<= 1;
            made.place[length] = (count as u32).wrapping_sub(code);
            let mut symbol = 0;
            while symbol < LENGTHS.len() {
                if LENGTHS[symbol] as usize == length {
                    made.codes[symbol] = code;
                    made.symbols[count] = symbol as u16;
                    count += 1;
                    if length <= QUICK_BITS as usize {
                        let unused = QUICK_BITS as usize - length;
                        let mut rest = 0;
                        while rest < 1 << unused {
                            made.quick[((code as usize) << unused) + rest] = (symbol as u8, length as u8);
                            rest += 1;
                        }
                    }
                    code += 1;
                }
                symbol += 1;
            }
            made.below[length] = (code as u64) << (32 - length);
            length += 1;
        }
        made
    }

    /// The symbol that the window begins with, and the length of its code.
    #[inline]
    fn symbol(&self, window: u64) -> (u16, u32) {
        let (symbol, length) = self.quick[(window >> (64 - QUICK_BITS)) as usize];
        if length != 0 {
            return (u16::from(symbol), u32::from(length));
        }
        let next = window >> 32;
        // The code is complete: the longest codes leave no gap.
        let length = (QUICK_BITS as usize + 1..LONGEST).find(|length| next < self.below[*length]).unwrap_or(LONGEST);
        let code = (next >> (32 - length)) as u32;
        (self.symbols[self.place[length].wrapping_add(code) as usize], length as u32)
    }
}

/// Appends what `coded` stands for.
///
/// # Errors
///
/// When the end of string is coded, or the padding is not the beginning of its code and shorter than a byte.
pub(super) fn decode(coded: &[u8], out: &mut Vec<u8>) -> Result<(), HpackError> {
    // The shortest code has five bits.
    out.reserve(coded.len() * 8 / 5);
    // The next bits of the string, the first one on top.
    let mut window = 0_u64;
    let mut bits = 0_u32;
    let mut rest = coded;
    loop {
        if let Some((eight, _)) = rest.split_first_chunk::<8>() {
            // Fills the window up; bits of a byte that does not fit as a whole are read again, as they are.
            window |= u64::from_be_bytes(*eight) >> bits;
            rest = &rest[((63 - bits) / 8) as usize..];
            bits |= 56;
        } else {
            while bits <= 56
                && let Some((&byte, after)) = rest.split_first()
            {
                window |= u64::from(byte) << (56 - bits);
                bits += 8;
                rest = after;
            }
        }
        if rest.is_empty() {
            return decode_last(window, bits, out);
        }
        while bits >= LONGEST as u32 {
            let (symbol, length) = CODE.symbol(window);
            let symbol = u8::try_from(symbol).map_err(|_| HpackError::Huffman)?;
            out.push(symbol);
            window <<= length;
            bits -= length;
        }
    }
}

/// Decodes the string's last bits.
fn decode_last(mut window: u64, mut bits: u32, out: &mut Vec<u8>) -> Result<(), HpackError> {
    loop {
        // No code of less than eight bits has but ones.
        if bits < 8 && window.leading_ones() >= bits {
            return Ok(());
        }
        let (symbol, length) = CODE.symbol(window);
        if length > bits || symbol == END_OF_STRING {
            return Err(HpackError::Huffman);
        }
        out.push(symbol as u8);
        window <<= length;
        bits -= length;
    }
}

/// How many bytes `text` takes when it is coded.
pub(super) fn coded_len(text: &[u8]) -> usize {
    let bits: usize = text.iter().map(|byte| usize::from(LENGTHS[usize::from(*byte)])).sum();
    bits.div_ceil(8)
}

/// Appends the code of `text`.
pub(super) fn encode(text: &[u8], out: &mut Vec<u8>) {
    let mut window = 0_u64;
    let mut bits = 0;
    for byte in text {
        let symbol = usize::from(*byte);
        window = window << LENGTHS[symbol] | u64::from(CODE.codes[symbol]);
        bits += u32::from(LENGTHS[symbol]);
        while bits >= 8 {
            bits -= 8;
            out.push((window >> bits) as u8);
        }
    }
    if bits > 0 {
        // Padded with the beginning of the end of string, which is ones.
        out.push((window << (8 - bits)) as u8 | 0xff >> bits);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decoded(coded: &[u8]) -> Result<Vec<u8>, HpackError> {
        let mut out = Vec::new();
        decode(coded, &mut out).map(|()| out)
    }

    fn encoded(text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        encode(text, &mut out);
        out
    }

    #[test]
    fn codes_are_those_of_the_rfc() {
        // Rows of RFC 7541, appendix B: the first and the last code of some lengths.
        for (symbol, code, length) in [
            (48, 0x0, 5),
            (116, 0x9, 5),
            (32, 0x14, 6),
            (117, 0x2d, 6),
            (122, 0x7b, 7),
            (90, 0xfd, 8),
            (63, 0x3fc, 10),
            (124, 0x7fc, 11),
            (94, 0x3ffc, 14),
            (123, 0x7ffe, 15),
            (92, 0x7fff0, 19),
            (1, 0x7fffd8, 23),
            (249, 0xffffffe, 28),
            (22, 0x3ffffffe, 30),
            (256, 0x3fffffff, 30),
        ] {
            assert_eq!((CODE.codes[symbol], LENGTHS[symbol]), (code, length), "{symbol}");
        }
    }

    #[test]
    fn wrong_endings_are_refused() {
        let cases: [(&str, &[u8]); 5] = [
            ("a byte of padding", &[0x1f, 0xff]),
            ("padding with a zero", &[0x1e]),
            ("end of string", &[0xff, 0xff, 0xff, 0xff]),
            ("end of string before more text", &[0xff, 0xff, 0xff, 0xfc, 0, 0, 0, 0, 0, 0, 0, 0]),
            ("a code that is cut", &[0xff]),
        ];
        for (name, coded) in cases {
            assert_eq!(decoded(coded), Err(HpackError::Huffman), "{name}");
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(text in prop::collection::vec(any::<u8>(), 0..200)) {
            let coded = encoded(&text);
            prop_assert_eq!(coded.len(), coded_len(&text));
            prop_assert_eq!(decoded(&coded), Ok(text));
        }

        /// A code has one spelling: what decodes is what would be encoded.
        #[test]
        fn what_is_decoded_is_encoded(coded in prop::collection::vec(prop_oneof![any::<u8>(), Just(0xff)], 0..40)) {
            if let Ok(text) = decoded(&coded) {
                prop_assert_eq!(encoded(&text), coded);
            }
        }
    }
}
