//! What exists, as the binary knows it.

use std::path::{Path, PathBuf};

use stampede_core::Runtime;

/// What exists: a plan names things, the catalogue has them.
pub trait Catalogue {
    /// Every runtime, in the order in which they are listed.
    fn runtimes(&self) -> &[&'static dyn Runtime];

    /// Names of the built-in workloads.
    fn workloads(&self) -> Vec<String>;

    /// The folder of a built-in workload.
    ///
    /// # Errors
    ///
    /// When its files cannot be unpacked: the error's text.
    fn workload_folder(&self, name: &str) -> Result<PathBuf, String>;

    /// The folder with what a workload's command writes, run in the workload's folder with the name of the other one as its
    /// last argument. It is not run again as long as the workload is the same.
    ///
    /// # Errors
    ///
    /// When the command fails: its words.
    fn generated(&self, workload: &Path, command: &[String]) -> Result<PathBuf, String>;
}

/// The name among `known` that was probably meant: one that is a slip of the finger away (edit distance of at most 1, or
/// a quarter of what was typed), or else the most similar one that contains what was typed or resembles it
/// (Jaro-Winkler similarity of at least 0.75).
pub(crate) fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let slip = known
        .clone()
        .into_iter()
        .map(|name| (strsim::osa_distance(typed, name), name))
        .filter(|(distance, _)| *distance <= (typed.chars().count() / 4).max(1))
        .min();
    let similar = known
        .into_iter()
        .map(|name| {
            let similarity = strsim::jaro_winkler(typed, name);
            (if name.contains(typed) && typed.len() > 1 { similarity.max(0.9) } else { similarity }, name)
        })
        .filter(|(similarity, _)| *similarity >= 0.75)
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    slip.map(|(_, name)| name).or(similar.map(|(_, name)| name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_suggested_and_a_far_one_is_not() {
        let known = ["apache-mod-php", "nginx-fpm", "php-cli-server", "go"];
        for (typed, meant) in [
            ("ngnix-fpm", Some("nginx-fpm")),
            ("fpm", Some("nginx-fpm")),
            ("apache", Some("apache-mod-php")),
            ("golang", Some("go")),
            ("zzz", None),
            ("gp", Some("go")),
        ] {
            assert_eq!(nearest(typed, known), meant, "{typed}");
        }
    }
}
