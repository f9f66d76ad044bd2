//! `/robots.txt`: which paths a site wants no robot to ask for (RFC 9309).

/// Which paths may be asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RobotsFile {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    is_allowed: bool,
    pattern: String,
}

impl RobotsFile {
    /// Reads the rules for robots of any name. Lines that are no rule say nothing.
    pub(crate) fn read(text: &str) -> Self {
        let (mut rules, mut is_ours, mut in_names) = (Vec::new(), false, false);
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default();
            let Some((key, value)) = line.split_once(':') else { continue };
            let value = value.trim();
            match &*key.trim().to_ascii_lowercase() {
                // Several names in a row begin one group.
                "user-agent" => {
                    is_ours = value == "*" || (in_names && is_ours);
                    in_names = true;
                }
                rule @ ("allow" | "disallow") => {
                    in_names = false;
                    // An empty one forbids nothing.
                    if is_ours && !value.is_empty() {
                        rules.push(Rule { is_allowed: rule == "allow", pattern: value.to_owned() });
                    }
                }
                _ => {}
            }
        }
        Self { rules }
    }

    /// Whether a path with its query may be asked for: what the longest rule that fits says, and of equal ones that which allows it
    /// (section 2.2.2).
    pub(crate) fn allows(&self, path: &str) -> bool {
        let fitting = self.rules.iter().filter(|rule| fits(&rule.pattern, path));
        fitting.max_by_key(|rule| (rule.pattern.len(), rule.is_allowed)).is_none_or(|rule| rule.is_allowed)
    }
}

/// Whether a path begins as the pattern says: `*` stands for any characters, `$` for the end (section 2.2.3).
fn fits(pattern: &str, path: &str) -> bool {
    let (pattern, is_whole) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut parts = pattern.split('*');
    let Some(mut rest) = path.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts = parts.peekable();
    let mut has_star = false;
    while let Some(part) = parts.next() {
        has_star = true;
        if is_whole && parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    has_star || !is_whole || rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_rule_that_fits_decides() {
        let file = RobotsFile::read(
            "User-agent: Googlebot\nDisallow: /\n\nuser-agent: other\nUser-agent: * # all\nDisallow: /wp-admin/\n\
             Allow: /wp-admin/admin-ajax.php\nDisallow: /*.pdf$\nDisallow: /search?*q=\nDisallow:\nnonsense\nSitemap: https://a/b.xml",
        );
        for (path, expected) in [
            ("/", true),
            ("/wp-admin/", false),
            ("/wp-admin/admin-ajax.php?a=1", true),
            ("/a.pdf", false),
            ("/a.pdf?x", true),
            ("/search?a=1&q=2", false),
            ("/search", true),
        ] {
            assert_eq!(file.allows(path), expected, "{path}");
        }
        assert!(RobotsFile::read("User-agent: *\nDisallow:").allows("/a"));
        assert!(!RobotsFile::read("User-agent: *\nDisallow: /").allows("/a"));
        assert!(RobotsFile::read("Disallow: /\n").allows("/a"), "no group has begun");
        assert!(!RobotsFile::read("User-agent: *\nDisallow: /a$").allows("/a"));
        assert!(RobotsFile::read("User-agent: *\nDisallow: /a$").allows("/ab"));
    }
}
