//! Lists for a terminal: what there is, each in as many lines as it takes.

use jiff::Timestamp;

use crate::layout::wrap;

/// Names that line up, each with its texts beside it, in lines of at most so many characters.
pub fn named(rows: impl IntoIterator<Item = (String, Vec<String>)>, width: usize) -> Vec<String> {
    let rows: Vec<_> = rows.into_iter().collect();
    let longest = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let lines = rows.iter().flat_map(|(name, texts)| {
        let firsts = [format!("{name:<longest$}  ")].into_iter().chain(std::iter::repeat(" ".repeat(longest + 2)));
        firsts.zip(texts).flat_map(move |(first, text)| wrap(&first, text, longest + 2, width))
    });
    lines.collect()
}

/// A study in a list.
#[derive(Clone, Debug)]
pub struct StudyEntry {
    /// Its name.
    pub id: String,
    /// When it was finished, if it was.
    pub finished_at: Option<Timestamp>,
    /// How many trials are stored: `12`, or `12/30`.
    pub trials: String,
    /// What it asks, and of what: `compare shop: nginx-fpm, frankenphp`.
    pub question: String,
}

/// Studies in lines of at most so many characters, below their heading.
pub fn studies(entries: &[StudyEntry], width: usize) -> Vec<String> {
    let longest = |of: fn(&StudyEntry) -> &str, heading: &str| {
        entries.iter().map(|entry| of(entry).chars().count()).chain([heading.len()]).max().unwrap_or(0)
    };
    let (name, trials) = (longest(|entry| &entry.id, "study"), longest(|entry| &entry.trials, "trials"));
    let line = |id: &str, finished: &str, stored: &str, question: &str| {
        let first = format!("{id:<name$}  {finished:<16}  {stored:>trials$}  ");
        wrap(&first, question, first.chars().count(), width)
    };
    let mut lines = line("study", "finished (UTC)", "trials", "question: cases");
    for StudyEntry { id, finished_at, trials, question } in entries {
        let finished =
            finished_at.map_or_else(|| "not finished".to_owned(), |at| at.strftime("%Y-%m-%d %H:%M").to_string());
        lines.extend(line(id, &finished, trials, question));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_line_up_and_their_texts_are_broken_beside_them() {
        let text = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let rows = [
            ("go".to_owned(), text(&["Go 1.26"])),
            ("frankenphp".to_owned(), text(&["not installed", "needs the program frankenphp"])),
        ];
        assert_eq!(
            named(rows, 30),
            [
                "go          Go 1.26",
                "frankenphp  not installed",
                "            needs the program",
                "            frankenphp"
            ]
        );
    }

    #[test]
    fn studies_line_up_within_the_width() {
        let entry = |id: &str, finished: bool, trials: &str, cases: &str| StudyEntry {
            id: id.to_owned(),
            finished_at: finished.then(|| "2026-11-27T11:13:14Z".parse().unwrap()),
            trials: trials.to_owned(),
            question: format!("compare shop: {cases}"),
        };
        let entries = [
            entry("20261127-111213-b688", true, "3/3", "nginx-fpm"),
            entry("20261127-111213-b689", false, "3", "apache-mod-php, apache-fpm, caddy-fpm, php-cli-server"),
        ];
        assert_eq!(
            studies(&entries, 80),
            [
                "study                 finished (UTC)    trials  question: cases",
                "20261127-111213-b688  2026-11-27 11:13     3/3  compare shop: nginx-fpm",
                "20261127-111213-b689  not finished           3  compare shop: apache-mod-php,",
                "                                                apache-fpm, caddy-fpm,",
                "                                                php-cli-server",
            ]
        );
    }
}
