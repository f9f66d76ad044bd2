//! What to type in place of a name that is not known.

/// The name among `known` that was probably meant, or else all of them.
pub(crate) fn suggest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    let all = || format!("use {}", known.clone().into_iter().collect::<Vec<_>>().join(", "));
    suggest_or(typed, known.clone(), all)
}

/// The name among `known` that was probably meant, or else what there is to say where none is near.
pub(crate) fn suggest_or<'a>(
    typed: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
    otherwise: impl FnOnce() -> String,
) -> String {
    let slip = slip(typed, known.clone());
    let meant = slip.map_or_else(|| near(typed, known), |name| vec![name]);
    if meant.is_empty() { otherwise() } else { format!("did you mean {}?", either(&meant)) }
}

/// `a`, or `a, b or c`.
fn either(names: &[&str]) -> String {
    match names {
        [others @ .., before, last] => {
            let others: String = others.iter().map(|name| format!("{name}, ")).collect();
            format!("{others}{before} or {last}")
        }
        few => few.concat(),
    }
}

/// The names among `known` that were probably meant: the first that contain what was typed, or else the nearest.
fn near<'a>(typed: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> Vec<&'a str> {
    const MOST: usize = 3;
    let typed = typed.to_lowercase();
    let containing = known.clone().into_iter().filter(|name| typed.len() > 1 && name.contains(&typed));
    let containing: Vec<&str> = containing.take(MOST).collect();
    if containing.is_empty() { nearest(&typed, known).into_iter().collect() } else { containing }
}

/// What to do about a value of this flag that is not known, of a flag that [`OrList`](crate::OrList) reads.
#[must_use]
pub fn or_list<'a>(flag: &str, typed: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    let all = format!("{flag} help lists all");
    let meant = near(typed, known);
    if meant.is_empty() { all } else { format!("did you mean {}? {all}", either(&meant)) }
}

/// The name among `known` that was probably meant: one that is a slip of the finger away (edit distance of at most 1, or
/// a quarter of what was typed), or else the most similar one that contains what was typed or resembles it
/// (Jaro-Winkler similarity of at least 0.75).
fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let slip = slip(typed, known.clone());
    let similar = known
        .into_iter()
        .map(|name| {
            let similarity = strsim::jaro_winkler(typed, name);
            (if name.contains(typed) && typed.len() > 1 { similarity.max(0.9) } else { similarity }, name)
        })
        .filter(|(similarity, _)| *similarity >= 0.75)
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    slip.or(similar.map(|(_, name)| name))
}

/// The name that is a slip of the finger away.
fn slip<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distances = known.into_iter().map(|name| (strsim::osa_distance(typed, name), name));
    let most = (typed.chars().count() / 4).max(1);
    distances.filter(|(distance, _)| *distance <= most).min().map(|(_, name)| name)
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
        assert_eq!(suggest("golang", known), "did you mean go?");
        assert_eq!(suggest("ngnix-fpm", known), "did you mean nginx-fpm?");
        assert_eq!(suggest("php", known), "did you mean apache-mod-php or php-cli-server?");
        assert_eq!(suggest("fpm", ["a-fpm", "b-fpm", "c-fpm", "go"]), "did you mean a-fpm, b-fpm or c-fpm?");
        assert_eq!(suggest("zzz", known), "use apache-mod-php, nginx-fpm, php-cli-server, go");
        for (typed, meant) in
            [("PHP", &["apache-mod-php", "php-cli-server"][..]), ("ngnix-fpm", &["nginx-fpm"]), ("zzz", &[])]
        {
            assert_eq!(near(typed, known), meant, "{typed}");
        }
    }
}
