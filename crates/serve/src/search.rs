//! Which of the stored studies are meant.

use stampede_report::html::dashboard::{Filter, ListedStudy};

/// Whether a study is what a filter asks for.
pub(crate) fn is_found(study: &ListedStudy, filter: &Filter) -> bool {
    let Filter { words, question, workload, state } = filter;
    let commits = study.revisions.iter().map(|revision| &revision.commit);
    let text = [&study.id, &study.question, &study.workload].into_iter().chain(&study.cases).chain(commits);
    let text = text.map(|part| part.to_lowercase()).collect::<Vec<_>>().join(" ");
    let in_state = match state.as_str() {
        "finished" => study.finished_at.is_some(),
        "unfinished" => study.finished_at.is_none(),
        "imported" => study.imported,
        _ => true,
    };
    words.to_lowercase().split_whitespace().all(|word| text.contains(word))
        && (question.is_empty() || *question == study.question)
        && (workload.is_empty() || *workload == study.workload)
        && in_state
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use stampede_core::Revision;

    use super::*;

    #[test]
    fn a_study_is_found_by_words_question_workload_and_state() {
        let study = ListedStudy {
            id: "20260713-a".to_owned(),
            question: "compare".to_owned(),
            workload: "markdown".to_owned(),
            cases: vec!["nginx-fpm".to_owned(), "go".to_owned()],
            revisions: vec![Revision { commit: "3f2a91c0b7".repeat(4), is_dirty: false }],
            trials: 3,
            started_at: Timestamp::UNIX_EPOCH,
            finished_at: None,
            imported: false,
            glance: None,
        };
        for (words, question, workload, state, found) in [
            ("", "", "", "", true),
            ("NGINX mark", "", "", "", true),
            ("2026 go compare", "compare", "markdown", "unfinished", true),
            ("3f2a91c0b7 go", "", "", "", true),
            ("nginx apache", "", "", "", false),
            ("", "gate", "", "", false),
            ("", "", "hello", "", false),
            ("", "", "", "finished", false),
            ("", "", "", "imported", false),
            ("", "", "", "no such state", true),
        ] {
            let [words, question, workload, state] = [words, question, workload, state].map(str::to_owned);
            let filter = Filter { words, question, workload, state };
            assert_eq!(is_found(&study, &filter), found, "{filter:?}");
        }
    }
}
