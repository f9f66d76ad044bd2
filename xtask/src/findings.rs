//! Every finding has a page in `docs/findings`, and every page a finding.

use std::fs;
use std::path::{Path, PathBuf};

const RULES: &str = "crates/analysis/src/rules";
const PAGES: &str = "docs/findings";
const INDEX: &str = "README";

pub(crate) fn check(root: &Path) -> Vec<String> {
    let rules = texts(&root.join(RULES), "rs");
    let code: String = rules.iter().map(|(_, text)| text.as_str()).collect();
    let pages: Vec<String> = texts(&root.join(PAGES), "md").into_iter().map(|(name, _)| name).collect();
    problems(&code, &pages)
}

fn problems(code: &str, pages: &[String]) -> Vec<String> {
    let ids = code.split("id: \"").skip(1).filter_map(|rest| rest.split('"').next());
    let unwritten = ids
        .filter(|id| !pages.iter().any(|page| page == id))
        .map(|id| format!("finding {id} has no page: write {PAGES}/{id}.md"));
    let stale = pages
        .iter()
        .filter(|page| *page != INDEX && !code.contains(&format!("\"{page}\"")))
        .map(|page| format!("{PAGES}/{page}.md is of no finding: delete it"));
    unwritten.chain(stale).collect()
}

/// Stems and texts of a folder's files with this ending.
fn texts(folder: &Path, ending: &str) -> Vec<(String, String)> {
    let files = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    let of = |path: PathBuf| Some((path.file_stem()?.to_str()?.to_owned(), fs::read_to_string(&path).ok()?));
    files.filter(|path| path.extension().is_some_and(|found| found == ending)).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_and_pages_belong_together() {
        let code = "const THROTTLED: &str = \"cpu-throttled\"; Finding { id: \"pool-full\".to_owned() }";
        let pages = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert!(problems(code, &pages(&["pool-full", "cpu-throttled", "README"])).is_empty());
        assert_eq!(problems(code, &pages(&["cpu-throttled"])).len(), 1);
        assert_eq!(problems(code, &pages(&["pool-full", "gone"])).len(), 1);
    }
}
