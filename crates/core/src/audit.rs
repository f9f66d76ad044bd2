//! What a load has made: a number that the application and its database tell, and that the load itself knows.

use serde::{Deserialize, Serialize};

use crate::ServiceKind;

/// A number that is asked for before and after a load. Between the two it must have grown by as many as the load was
/// answered: nothing that was promised is lost, and nothing came of requests that were refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    /// What is counted: `people`.
    pub name: String,
    /// The step of the scenario whose answers each make one more.
    pub step: String,
    /// The status of these answers.
    pub status: u16,
    /// Where the application tells the number, as plain text; each replica is asked for it.
    pub path: Option<String>,
    /// How a service is asked for it.
    pub query: Option<AuditQuery>,
}

/// A question to a service whose answer is a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditQuery {
    /// Which service.
    pub service: ServiceKind,
    /// The question in SQL.
    pub sql: String,
}

/// What an audit found in a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRecord {
    /// What was counted.
    pub name: String,
    /// Answers of the whole load, warm-up included, that each made one more.
    pub answered: u64,
    /// Requests of the whole load whose answer is not known, and which may have made one more each.
    pub unknown: u64,
    /// Who told which number.
    pub told: Vec<AuditTold>,
}

/// A number before and after the load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditTold {
    /// Who: `replica-1`, `front`, `postgres`.
    pub by: String,
    /// Before.
    pub before: u64,
    /// After.
    pub after: u64,
}

impl AuditRecord {
    /// What does not agree with what the load was answered, as sentences.
    pub fn problems(&self) -> Vec<String> {
        let Self { name, answered, unknown, told } = self;
        let problem = |AuditTold { by, before, after }: &AuditTold| {
            let wrong = match after.checked_sub(*before) {
                Some(made) if made < *answered => format!("{} are missing", answered - made),
                Some(made) if made > answered + unknown => format!("{} are too many", made - answered - unknown),
                Some(_) => return None,
                None => format!("there were {before} before"),
            };
            Some(format!("{by} has {after} {name} after {answered} were answered: {wrong}"))
        };
        told.iter().filter_map(problem).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_answered_must_be_there_and_no_more_than_may_be() {
        for (answered, unknown, before, after, problem) in [
            (10, 0, 0, 10, None),
            (10, 0, 5, 15, None),
            (10, 2, 0, 12, None),
            (10, 0, 0, 9, Some("postgres has 9 people after 10 were answered: 1 are missing")),
            (10, 2, 0, 13, Some("postgres has 13 people after 10 were answered: 1 are too many")),
            (0, 0, 4, 3, Some("postgres has 3 people after 0 were answered: there were 4 before")),
        ] {
            let told = vec![AuditTold { by: "postgres".to_owned(), before, after }];
            let record = AuditRecord { name: "people".to_owned(), answered, unknown, told };
            assert_eq!(record.problems().first().map(String::as_str), problem);
        }
    }
}
