//! Why studies take the time that they take: what else was tried.

use crate::document::Section;

/// What `--rounds auto` is held against. Figures of `crates/stats/tests/shortest.rs`, which takes too long to be run each time.
pub(crate) fn possible() -> Section {
    let mut section = Section::new("Why not 0.6");
    section.paragraph(
        "The figures of this part are those of `cargo test --release -p stampede-stats --test shortest -- --ignored --nocapture`: normal \
         noise of 4 % and two cases, as above, 20,000 studies each. \"x\" is the mean time over 0, 2, 5, 10 and 50 % beside that of 10 \
         fixed blocks, \"found\" how often 5 % is found.",
    );
    section.paragraph(
        "How short can it be at all? A search, which is no proof, chose the blocks of five looks, the share of the error that each spends, and exact \
         boundaries, for this noise alone. In the first two rows a study ends by a direction, or when a difference of 5 % is ruled out \
         as `equivalent` asks, or with its last block. In the others it may also give up, that is, rule out 5 % with more \
         error than two one-sided tests at 5 % have: it would say \"undecided\" though the time that is left would very likely decide.",
    );
    let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
    section.table(&[
        row(&["blocks at most", "ends", "best looks found", "x", "found"]),
        row(&["27 (10 minutes)", "decided", "3, 5, 9, 15, 27", "0.76", "96.4 %"]),
        row(&["12", "decided", "3, 5, 6, 9, 12", "0.64", "89.3 %"]),
        row(&["27", "may give up", "3, 5, 6, 11, 27", "0.63", "90.1 %"]),
        row(&["16", "may give up", "3, 5, 7, 10, 16", "0.62", "89.6 %"]),
    ]);
    section.paragraph(
        "So 0.6 is about where a design ends that is told how much the machine scatters, has no power to spare, and gives up on cases \
         that are equal. `--rounds auto` is told nothing, has 10 minutes, and goes on until it can say something. What its \
         settings make of it (the error is that any of its intervals of two cases misses the truth, 5 % wanted):",
    );
    section.table(&[
        row(&["looks after blocks", "clock from", "x", "found", "error"]),
        row(&["4, 6, 10, 17, 27", "40 %", "0.92", "98.2 %", "5.3 %"]),
        row(&["4, 6, 10, 17, 27", "60 %", "0.85", "97.6 %", "5.3 %"]),
        row(&["4, 6, 10, 17, 27", "70 %", "0.83", "97.2 %", "5.4 %"]),
        row(&["3, 5, 9, 16, 27", "40 %", "0.94", "98.2 %", "5.4 %"]),
        row(&["3, 5, 9, 16, 27", "60 %", "0.85", "97.5 %", "5.3 %"]),
        row(&["4, 5, 7, 10, 13", "40 %", "0.75", "95.5 %", "5.2 %"]),
        row(&["4, 5, 7, 10, 13", "60 %", "0.70", "94.1 %", "5.5 %"]),
        row(&["3, 4, 6, 9, 13", "60 %", "0.69", "93.5 %", "5.5 %"]),
    ]);
    for tried in [
        "**More of the error early** saves time where cases differ and takes power from the last look: the further the clock is set \
         forward, the fewer equal cases are shown to be equal within 3 %. `--rounds auto` has the first row.",
        "**A first look after three blocks** saves at 50 % what the looks after it lose elsewhere.",
        "**Less time** is the greatest gain, and the user's to choose: with `--max-time` of 5 minutes, 13 blocks, a study takes 0.75 of \
         the fixed one and finds 5 % in 95 %.",
        "**Giving up** what cannot be decided in the time that is left with a probability of 20 % costs no error and is done; at this \
         noise hardly any study is of that kind. To give up what can be decided would save time for the figure and not for the user.",
        "**Looks that follow from how the first blocks scatter** took about 0.6, found 5 % in 8 of 10 studies, and had 8 to 12 % of false \
         directions with the default precision.",
        "**A noise floor** is not given to these studies: they are those of a machine that was not calibrated. Ten pairs that scatter \
         by 4 % make a floor of about 3 %; claims beyond it are safer, and take more time, not less.",
    ] {
        section.paragraph(tried);
    }
    section
}
