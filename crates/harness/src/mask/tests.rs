//! Whether wrong answers are found, and rightly differing ones pass, in pages of made-up moments and runtimes.
//!
//! The lines that vary are those that the makers' own pages print: CodeIgniter 4.7's footer, Laravel 11's welcome page, Symfony's
//! toolbar (`toolbar_js.html.twig`), and forms as these frameworks write them.

use std::time::Instant;

use stampede_core::{Body, Masked, Piece, Random};

use super::{Learnt, SHOWN, Sample, UnderLoad, fits, learn, under_load};
use crate::difference::difference;
use crate::known::Known;

/// Seeded tries of each kind.
const TRIES: u64 = 60;

/// A runtime as it is known to the bench, and what its applications print of it.
struct Machine {
    php: &'static str,
    sapi: &'static str,
    software: &'static str,
}

const MACHINES: [Machine; 3] = [
    Machine { php: "8.2.36", sapi: "fpm-fcgi", software: "nginx/1.22.1" },
    Machine { php: "8.4.1", sapi: "frankenphp", software: "FrankenPHP" },
    Machine { php: "8.2.36", sapi: "cli", software: "Apache/2.4.62 (Debian)" },
];

fn pick(random: &mut Random, below: u64) -> u64 {
    random.draw() % below
}

fn text_of(random: &mut Random, alphabet: &[u8], length: u64) -> String {
    (0..length).map(|_| char::from(alphabet[pick(random, alphabet.len() as u64) as usize])).collect()
}

const HEX: &[u8] = b"0123456789abcdef";
const ALPHANUMERIC: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const BASE64: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/";

/// What a shop of a seed sells: the same on all runtimes.
struct Shop {
    seed: u64,
    kind: u64,
    products: Vec<(String, String, String)>,
}

impl Shop {
    fn new(seed: u64) -> Self {
        let random = &mut Random(seed ^ 0x51ed);
        const NAMES: [&str; 8] = ["Anna", "Zoë", "Müller", "O'Neil", "2 Pac", "Model 3", "R2D2", "Ünal"];
        let mut product = |number: u64| {
            let name = format!("{} {}", NAMES[pick(random, 8) as usize], text_of(random, b"abcdefgh", 4));
            let price = format!("{}.{:02}", 1 + pick(random, 2000), pick(random, 100));
            let paragraph = format!("{} MB, ready in {} days, number {number}", pick(random, 64), 1 + pick(random, 9));
            (name, price, paragraph)
        };
        let products = (0..30).map(&mut product).collect();
        Self { seed, kind: seed % 4, products }
    }

    /// The page of a moment: all that varies follows from `moment`, the rest from the shop.
    fn page(&self, machine: &Machine, port: u16, moment: u64) -> String {
        let random = &mut Random(self.seed.wrapping_mul(31).wrapping_add(moment));
        let Machine { php, sapi, software } = machine;
        let (second, took) = (pick(random, 60), pick(random, 9000));
        let mut page = format!(
            "<!DOCTYPE html>\n<html>\n<head><meta name=\"csrf-token\" content=\"{}\">\n\
             <link rel=\"canonical\" href=\"http://127.0.0.1:{port}/shop\">\n</head>\n<body>\n\
             <time>2026-11-26 06:27:{second:02}</time>\n",
            text_of(random, ALPHANUMERIC, 40)
        );
        for (number, (name, price, paragraph)) in self.products.iter().enumerate() {
            page += &format!(
                "<h2>{name}</h2>\n<b class=\"price\">{price}</b>\n<p>{paragraph}</p>\n<hr class=\"h{number}\">\n"
            );
        }
        page += &match self.kind {
            0 => format!(
                "<footer class=\"py-16 text-center text-sm text-black dark:text-white/70\">\n    \
                 Laravel v11.33.2 (PHP v{php})\n</footer>\n<input type=\"hidden\" name=\"_token\" value=\"{}\" autocomplete=\"off\">\n",
                text_of(random, ALPHANUMERIC, 40)
            ),
            1 => format!(
                "<p>Page rendered in {}.{took:04} seconds using {}.{:03} MB of memory.</p>\n<p>Environment: production</p>\n",
                pick(random, 2),
                1 + pick(random, 9),
                pick(random, 1000)
            ),
            2 => {
                let token = text_of(random, HEX, 6);
                format!(
                    "<div id=\"sfwdt{token}\" class=\"sf-toolbar sf-display-none\" role=\"region\">\n\
                     <script nonce=\"{}\">Sfjs.loadToolbar('{token}');</script>\n\
                     <a href=\"http://127.0.0.1:{port}/_profiler/{token}?panel=db\">db</a>\n\
                     <input type=\"hidden\" id=\"form__token\" name=\"form[_token]\" value=\"{}.{}-{}\">\n",
                    text_of(random, HEX, 32),
                    text_of(random, HEX, 14),
                    text_of(random, ALPHANUMERIC, 22),
                    text_of(random, ALPHANUMERIC, 21)
                )
            }
            _ => format!(
                "<p>Server API: {sapi} on {software}, PHP {php}</p>\n<p>Thu, 26 Nov 2026 06:27:{second:02} GMT</p>\n\
                 <p>It is 2026-11-26T06:27:{second:02}+00:00, took {} ms</p>\n<p>request {}</p>\n<i data-id=\"{}-{}-4{}-8{}-{}\"></i>\n\
                 <input name=sid value='{}=='>\n",
                1 + pick(random, 50),
                100 + moment,
                text_of(random, HEX, 8),
                text_of(random, HEX, 4),
                text_of(random, HEX, 3),
                text_of(random, HEX, 3),
                text_of(random, HEX, 12),
                text_of(random, BASE64, 22)
            ),
        };
        page + "</body>\n</html>\n"
    }
}

fn known(machine: &Machine, port: u16) -> Known {
    Known {
        php_version: Some(machine.php.to_owned()),
        sapi: None,
        software: vec![machine.software.to_owned()],
        addresses: vec![format!("127.0.0.1:{port}")],
        host: None,
        ports: vec![port.to_string()],
        folders: Vec::new(),
    }
}

/// What is learnt of a shop on the first runtime, from two deployments.
fn learnt(shop: &Shop) -> Masked {
    let sample = |number: u64| {
        let port = 2000 + (number / 3) as u16;
        let sapi = Some(MACHINES[0].sapi.to_owned());
        let body = shop.page(&MACHINES[0], port, number).into_bytes();
        Sample { body, known: Known { sapi, ..known(&MACHINES[0], port) } }
    };
    let samples: Vec<_> = (0..6).map(sample).collect();
    match learn(&samples) {
        Ok(Learnt { body: Body::Masked(masked), .. }) => masked,
        other => panic!("seed {}: {other:?}", shop.seed),
    }
}

#[test]
fn pages_with_differences_that_are_allowed_pass() {
    let mut passed = 0;
    for seed in 0..TRIES {
        let shop = Shop::new(seed);
        let masked = learnt(&shop);
        let (body, mask) = masked.written();
        assert_eq!(Masked::read(&body, &mask).as_ref(), Some(&masked), "as it is written, so it is read");
        let all = MACHINES.iter().zip([3000, 3001, 3002]).all(|(machine, port)| {
            (100..103).all(|moment| {
                let page = shop.page(machine, port, moment);
                let fit = fits(&masked, page.as_bytes(), &known(machine, port));
                if fit.is_err() {
                    eprintln!("seed {seed}: {}", difference(&masked, page.as_bytes(), &known(machine, port)));
                }
                fit.is_ok()
            })
        });
        passed += u64::from(all);
    }
    assert_eq!(passed, TRIES);
}

#[test]
fn a_wrong_price_a_wrong_name_and_a_missing_paragraph_are_found_and_shown() {
    let mut found = [0, 0, 0];
    for seed in 0..TRIES {
        let shop = Shop::new(seed);
        let masked = learnt(&shop);
        for (kind, found) in found.iter_mut().enumerate() {
            let random = &mut Random(seed * 3 + kind as u64);
            let wrong = pick(random, 3) as usize;
            let (name, price, paragraph) = &shop.products[pick(random, 30) as usize];
            let tells: Vec<String> = MACHINES
                .iter()
                .enumerate()
                .map(|(number, machine)| {
                    let port = 3000 + number as u16;
                    let mut page = shop.page(machine, port, 200 + seed);
                    if number == wrong {
                        page = match kind {
                            0 => page.replacen(&format!(">{price}<"), &format!(">{price}1<"), 1),
                            1 => page.replacen(&format!(">{name}<"), &format!(">{name}a<"), 1),
                            _ => page.replace(&format!("<p>{paragraph}</p>\n"), ""),
                        };
                    }
                    let known = known(machine, port);
                    match fits(&masked, page.as_bytes(), &known) {
                        Ok(()) => String::new(),
                        Err(_) => difference(&masked, page.as_bytes(), &known),
                    }
                })
                .collect();
            let part = [
                format!("+ <b class=\"price\">{price}1</b>"),
                format!("+ <h2>{name}a</h2>"),
                format!("- <p>{paragraph}</p>"),
            ];
            let is_shown = tells.iter().enumerate().all(|(number, told)| match number == wrong {
                true => told.contains(&part[kind]) && told.lines().filter(|line| line.starts_with("  -")).count() <= 1,
                false => told.is_empty(),
            });
            if !is_shown {
                eprintln!("seed {seed}, kind {kind}, runtime {wrong}: {tells:#?}");
            }
            *found += u64::from(is_shown);
        }
    }
    assert_eq!(found, [TRIES; 3]);
}

fn samples(bodies: &[&[u8]]) -> Vec<Sample> {
    bodies.iter().map(|body| Sample { body: body.to_vec(), known: Known::default() }).collect()
}

fn texts(bodies: &[&str]) -> Result<String, String> {
    let bodies: Vec<_> = bodies.iter().map(|body| body.as_bytes()).collect();
    learn(&samples(&bodies)).map(|learnt| match learnt.body {
        Body::Masked(masked) => String::from_utf8(masked.written().0).unwrap(),
        Body::Bytes(bytes) => String::from_utf8(bytes).unwrap(),
        other => format!("{other:?}"),
    })
}

#[test]
fn what_varies_is_masked_as_a_whole_value() {
    for (what, bodies, expected) in [
        ("nothing", ["hello", "hello", "hello"], "hello"),
        (
            "a date, of which only seconds differ",
            [
                "<p>Sun, 22 Nov 2026 02:42:44 GMT</p>",
                "<p>Sun, 22 Nov 2026 02:42:44 GMT</p>",
                "<p>Sun, 22 Nov 2026 02:42:46 GMT</p>",
            ],
            "<p>⟨time⟩</p>",
        ),
        (
            "a duration in other units",
            ["built in 900 \u{b5}s\n", "built in 3 ms\n", "built in 1.2 s\n"],
            "built in ⟨duration⟩\n",
        ),
        (
            "a duration that was the same each time",
            ["<p>generated in 3 ms</p>", "<p>generated in 3 ms</p>", "<p>generated in 3 ms</p>"],
            "<p>generated in ⟨duration⟩</p>",
        ),
        (
            "memory beside a duration",
            ["<p>0.1 s, 2 MB</p><p>2 MB</p>", "<p>0.2 s, 2 MB</p><p>2 MB</p>", "<p>0.1 s, 2 MB</p><p>2 MB</p>"],
            "<p>⟨duration⟩, ⟨memory⟩</p><p>2 MB</p>",
        ),
        (
            "a token with signs in it",
            [
                "<input name=csrf value=\"a+b/c=\">",
                "<input name=csrf value=\"dd+e/f\">",
                "<input name=csrf value=\"g/hi+j\">",
            ],
            "<input name=csrf value=\"⟨token⟩\">",
        ),
    ] {
        assert_eq!(texts(&bodies).as_deref(), Ok(expected), "{what}");
    }
}

#[test]
fn what_varies_without_a_shape_or_name_is_refused_with_its_place() {
    for (what, bodies, told) in [
        (
            "a number",
            ["<p>a</p>\n<p>17 items</p>", "<p>a</p>\n<p>18 items</p>"],
            "line 2: `<p>17 items</p>` once, `<p>18 items</p>` then",
        ),
        ("a price", ["<b>19.90</b>", "<b>19.80</b>"], "line 1: `<b>19.90</b>` once"),
        ("something more", ["<ul></ul>", "<ul><li>a</li></ul>"], "then\nmake it the same each time"),
        ("everything", ["abc def", "xyz"], "is different each time"),
        (
            "bytes",
            ["\0\u{1}a", "\0\u{1}b"],
            "is no text: 3 bytes were expected and 3 came; from byte 2 on\n  - 61\n  + 62",
        ),
    ] {
        let problem = texts(&bodies).unwrap_err();
        assert!(problem.contains(told), "{what}: {problem}");
    }
}

#[test]
fn a_page_that_is_mostly_masked_is_refused_with_the_places() {
    let page = |seed: u64, filling: usize| {
        let token = text_of(&mut Random(seed), HEX, 600);
        format!("<p>{}</p>\n<input name=\"_token\" value=\"{token}\">", "x".repeat(filling))
    };
    let problem = texts(&[&page(1, 5000), &page(2, 5000)]).unwrap_err();
    assert!(problem.contains("varies in 11 % of its bytes, of which 5 % may"), "{problem}");
    assert!(problem.contains("line 2: 600 bytes of token"), "{problem}");
    assert!(texts(&[&page(1, 20_000), &page(2, 20_000)]).is_ok());
    // A token in a short answer is no reason.
    let short = |seed: u64| format!("{{\"token\":\"{}\"}}", text_of(&mut Random(seed), HEX, 32));
    assert_eq!(texts(&[&short(1), &short(2)]).as_deref(), Ok("{\"token\":\"⟨token⟩\"}"));
}

#[test]
fn a_page_in_another_character_set_is_compared_as_others() {
    // ISO 8859-1: an é is one byte, which is no UTF-8.
    let page = |took: &str, price: &str| {
        let text = format!("<p>caf\u{e9} {price}</p>\n<p>rendered in {took} s</p>\n");
        text.chars().map(|character| character as u8).collect::<Vec<u8>>()
    };
    let learnt = learn(&samples(&[&page("0.1", "3"), &page("0.2", "3")])).unwrap();
    let Body::Masked(masked) = learnt.body else { panic!("{learnt:?}") };
    assert!(fits(&masked, &page("0.31", "3"), &Known::default()).is_ok());
    let shown = difference(&masked, &page("0.31", "4"), &Known::default());
    assert!(shown.contains("- <p>caf\u{e9} 3</p>\n  + <p>caf\u{e9} 4</p>"), "{shown}");
}

/// In a test's unoptimised build it takes about ten times as long as in a release.
#[test]
fn a_page_of_5_mb_is_learnt_compared_and_shown_in_a_second() {
    let page = |seed: u64, is_one_line: bool| {
        let random = &mut Random(seed);
        let end = if is_one_line { "" } else { "\n" };
        let mut page = String::new();
        for number in 0..60_000 {
            page += &format!(
                "<tr><td>{number}</td><td class=\"name\">product of the name {number}</td><td>{}.99</td></tr>{end}",
                number % 999
            );
            if number % 6000 == 0 {
                page += &format!("<input name=\"_token\" value=\"{}\">{end}", text_of(random, ALPHANUMERIC, 40));
            }
        }
        page.into_bytes()
    };
    for is_one_line in [false, true] {
        let pages: Vec<_> = (0..3).map(|seed| page(seed, is_one_line)).collect();
        assert!(pages[0].len() > 4_900_000, "{}", pages[0].len());
        let begun = Instant::now();
        let samples = samples(&[&pages[0], &pages[1]]);
        let learnt = learn(&samples).unwrap();
        let learning = begun.elapsed();
        let Body::Masked(masked) = learnt.body else { panic!("one line: {is_one_line}") };
        assert_eq!(masked.classes().count(), 10);
        let begun = Instant::now();
        assert!(fits(&masked, &pages[2], &Known::default()).is_ok());
        let comparing = begun.elapsed();
        let mut wrong = pages[2].clone();
        let at = wrong.len() / 2;
        wrong[at] ^= 1;
        let begun = Instant::now();
        let shown = difference(&masked, &wrong, &Known::default());
        let showing = begun.elapsed();
        assert!(shown.len() < 2000, "{shown}");
        eprintln!("one line: {is_one_line}; learnt in {learning:?}, compared in {comparing:?}, shown in {showing:?}");
        for (what, took) in [("learning", learning), ("comparing", comparing), ("showing", showing)] {
            assert!(took.as_secs() < 5, "{what} took {took:?}");
        }
    }
}

#[test]
fn bytes_that_are_no_text_are_the_same_each_time() {
    let image = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR 12 ms".as_slice();
    let learnt = learn(&samples(&[image, image])).unwrap();
    assert_eq!(learnt, Learnt { body: Body::Bytes(image.to_vec()), masked: 0 });
    let whole = Masked::new([Piece::Text(image.to_vec())]);
    let shown = difference(&whole, b"\x89PNG\r\n\x1a\n\0\0\0\rIDAT", &Known::default());
    assert!(shown.contains("24 bytes were expected and 16 came") || shown.contains("from byte 13 on"), "{shown}");
}

fn masked(text: &str) -> Masked {
    Masked::read(text.as_bytes(), SHOWN).unwrap_or_else(|| Masked::new([Piece::Text(text.as_bytes().to_vec())]))
}

#[test]
fn a_body_must_have_the_texts_in_order_and_values_of_the_classes_between_them() {
    let known = Known { php_version: Some("8.4.1".to_owned()), ..Known::default() };
    for (expected, body, came) in [
        ("<p>a</p><p>b</p>", "<p>a</p><p>b</p>", None),
        ("<p>a</p>", "<p>a</p><p>b</p>", Some(8)),
        ("<p>⟨…⟩</p>", "<p>a</p><p>b</p>", None),
        ("⟨…⟩", "<p>a</p><p>b</p>", None),
        ("⟨…⟩", "", None),
        ("<p>⟨…⟩</p><p>⟨…⟩</p>", "<p>a</p><p>b</p>", None),
        ("<p>⟨…⟩b⟨…⟩a⟨…⟩</p>", "<p>a</p><p>b</p>", Some(12)),
        ("(PHP v⟨PHP version⟩)", "(PHP v8.4.1)", None),
        ("(PHP v⟨PHP version⟩)", "(PHP v8.2.1)", Some(6)),
        ("in ⟨duration⟩.", "in 0.0123 seconds.", None),
        ("in ⟨duration⟩.", "in 3 ms.", None),
        ("in ⟨duration⟩.", "in 3 EUR.", Some(3)),
        ("in ⟨duration⟩.", "in .", Some(3)),
        ("in ⟨duration⟩ for <b>19.90</b>", "in 3 ms for <b>19.80</b>", Some(18)),
        ("x-⟨token⟩-y", "x-ab12cd-ef34-y", None),
        ("x-⟨token⟩-y", "x-ab12cd-ef34-z", Some(15)),
        ("⟨duration⟩⟨…⟩!", "3 ms!", None),
    ] {
        let fit = fits(&masked(expected), body.as_bytes(), &known);
        assert_eq!(fit.err().map(|mismatch| mismatch.came), came, "{expected} {body}");
    }
}

#[test]
fn the_longest_part_is_looked_for_under_load() {
    let under = |text: &str| Body::Masked(masked(text));
    assert_eq!(under_load(&under("<p>⟨…⟩</p><footer>")), UnderLoad::Part(b"</p><footer>"));
    assert_eq!(under_load(&under("<p>⟨time⟩</p>")), UnderLoad::StatusOnly);
    assert_eq!(under_load(&under("<p>⟨PHP version⟩</p>")), UnderLoad::Whole);
    assert_eq!(under_load(&Body::Any), UnderLoad::Whole);
}
