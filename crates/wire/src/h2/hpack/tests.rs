//! The examples of RFC 7541, appendix C, and both directions against each other.

use proptest::prelude::*;

use super::*;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}

fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<String, HpackError> {
    let mut fields = String::new();
    decoder.decode(block, |name, value, _| {
        fields += &format!("{}: {}\n", String::from_utf8_lossy(name), String::from_utf8_lossy(value));
    })?;
    Ok(fields)
}

/// A block, its fields, and the size of the dynamic table afterwards.
type Example<'a> = (&'a str, &'a str, usize);

fn holds(examples: &[Example<'_>], table_size: usize) {
    let mut decoder = Decoder::new();
    decoder.table.resize(table_size);
    for (block, fields, size) in examples {
        assert_eq!(decode(&mut decoder, &bytes(block)).as_deref(), Ok(*fields));
        assert_eq!(decoder.table.size, *size, "{fields}");
    }
}

#[test]
fn fields_of_appendix_c_2() {
    holds(
        &[("400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572", "custom-key: custom-header\n", 55)],
        4096,
    );
    holds(&[("040c 2f73 616d 706c 652f 7061 7468", ":path: /sample/path\n", 0)], 4096);
    holds(&[("1008 7061 7373 776f 7264 0673 6563 7265 74", "password: secret\n", 0)], 4096);
    holds(&[("82", ":method: GET\n", 0)], 4096);
}

const REQUESTS: [&str; 3] = [
    ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\n",
    ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\ncache-control: no-cache\n",
    ":method: GET\n:scheme: https\n:path: /index.html\n:authority: www.example.com\ncustom-key: custom-value\n",
];

/// The blocks of appendix C.4.
const CODED_REQUESTS: [&str; 3] = [
    "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
    "8286 84be 5886 a8eb 1064 9cbf",
    "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
];

#[test]
fn requests_of_appendix_c_3() {
    holds(
        &[
            ("8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", REQUESTS[0], 57),
            ("8286 84be 5808 6e6f 2d63 6163 6865", REQUESTS[1], 110),
            ("8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65", REQUESTS[2], 164),
        ],
        4096,
    );
}

#[test]
fn requests_of_appendix_c_4() {
    let [first, second, third] = CODED_REQUESTS;
    holds(&[(first, REQUESTS[0], 57), (second, REQUESTS[1], 110), (third, REQUESTS[2], 164)], 4096);
}

#[test]
fn requests_are_encoded_as_in_appendix_c_4() {
    let mut encoder = Encoder::new();
    for (fields, block) in REQUESTS.iter().zip(CODED_REQUESTS) {
        let mut out = Vec::new();
        for line in fields.lines() {
            let colon = line.rfind(": ").unwrap();
            encoder.encode(&Field::new(&line[..colon], &line[colon + 2..]), &mut out);
        }
        assert_eq!(out, bytes(block), "{fields}");
    }
}

const RESPONSES: [&str; 3] = [
    ":status: 302\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 GMT\nlocation: https://www.example.com\n",
    ":status: 307\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 GMT\nlocation: https://www.example.com\n",
    ":status: 200\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:22 GMT\nlocation: https://www.example.com\n\
     content-encoding: gzip\nset-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1\n",
];

#[test]
fn responses_of_appendix_c_5_evict_entries() {
    holds(
        &[
            (
                "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32
                 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
                RESPONSES[0],
                222,
            ),
            ("4803 3330 37c1 c0bf", RESPONSES[1], 222),
            (
                "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970
                 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61
                 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
                RESPONSES[2],
                215,
            ),
        ],
        256,
    );
}

#[test]
fn responses_of_appendix_c_6_evict_entries() {
    holds(
        &[
            (
                "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad
                 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
                RESPONSES[0],
                222,
            ),
            ("4883 640e ffc1 c0bf", RESPONSES[1], 222),
            (
                "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2
                 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
                RESPONSES[2],
                215,
            ),
        ],
        256,
    );
}

#[test]
fn blocks_that_cannot_be_read_say_why() {
    use HpackError::*;
    let cases = [
        ("index 0", "80", Index),
        ("index past both tables", "be", Index),
        ("name's index past both tables", "7e 00", Index),
        ("a cut integer", "ff", Truncated),
        ("an integer without an end", "ff 80 80 80 80 80 80", Integer),
        ("a cut name", "40 03 61", Truncated),
        ("no value", "40 01 61", Truncated),
        ("a name of 256 MiB", "40 7f 81 ff ff 7f", Truncated),
        ("a wrong Huffman code", "40 01 61 81 00", Huffman),
        ("a table larger than announced", "3f e2 1f", TableSize),
        ("a table resized after a field", "82 20", TableSize),
    ];
    for (name, block, error) in cases {
        assert_eq!(decode(&mut Decoder::new(), &bytes(block)), Err(error), "{name}");
    }
}

#[test]
fn the_table_can_be_resized_before_the_first_field() {
    let mut decoder = Decoder::new();
    assert!(decode(&mut decoder, &bytes("40 01 61 01 62")).is_ok());
    assert_eq!(decoder.table.size, 34);
    // To nothing, and then to the largest.
    assert_eq!(decode(&mut decoder, &bytes("20 3f e1 1f 82")).as_deref(), Ok(":method: GET\n"));
    assert_eq!(decoder.table.size, 0);
    assert_eq!(decode(&mut decoder, &bytes("be")), Err(HpackError::Index));
}

#[test]
fn an_encoder_tells_a_smaller_table_at_once() {
    let field = Field::new("a", "b");
    let mut encoder = Encoder::new();
    let block = |encoder: &mut Encoder| {
        let mut out = Vec::new();
        encoder.begin_block(&mut out);
        encoder.encode(&field, &mut out);
        out
    };
    assert_eq!(block(&mut encoder), bytes("40 01 61 01 62"));
    assert_eq!(block(&mut encoder), bytes("be"));
    encoder.allow_size(40);
    // Most of such a table is not given to one field.
    assert_eq!(block(&mut encoder), bytes("3f 09 00 01 61 01 62"));
    encoder.allow_size(0);
    encoder.allow_size(100_000);
    assert_eq!(block(&mut encoder), bytes("20 3f e1 1f 40 01 61 01 62"));
    assert_eq!(block(&mut encoder), bytes("be"));
}

#[test]
fn fields_that_vary_stay_out_of_the_table() {
    let mut encoder = Encoder::new();
    let mut path = Field::new(":path", "/");
    let mut out = Vec::new();
    for value in ["/a", "/b"] {
        path.vary(value);
        encoder.encode(&path, &mut out);
    }
    encode_content_length(0, &mut out);
    encode_content_length(1024, &mut out);
    let fields = decode(&mut Decoder::new(), &out);
    assert_eq!(fields.as_deref(), Ok(":path: /a\n:path: /b\ncontent-length: 0\ncontent-length: 1024\n"));
    assert_eq!(encoder.size, 0);
}

proptest! {
    /// Through evictions and resizes, what one side encodes is what the other one decodes.
    #[test]
    fn what_is_encoded_is_decoded(
        blocks in prop::collection::vec(
            (prop::collection::vec(("[a-e]{1,3}", "[ -~]{0,300}"), 0..12), prop::option::of(0..5000_usize)),
            1..12,
        ),
    ) {
        let mut encoder = Encoder::new();
        let mut decoder = Decoder::new();
        for (fields, resize) in blocks {
            if let Some(size) = resize {
                encoder.allow_size(size);
            }
            let mut out = Vec::new();
            encoder.begin_block(&mut out);
            let mut expected = String::new();
            for (name, value) in &fields {
                encoder.encode(&Field::new(name, value), &mut out);
                expected += &format!("{name}: {value}\n");
            }
            prop_assert_eq!(decode(&mut decoder, &out), Ok(expected));
            prop_assert_eq!(decoder.table.size, encoder.size);
        }
    }
}
