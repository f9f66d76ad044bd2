//! How a load ends.

use stampede_conduct::Exit;
use stampede_core::ErrorClass;
use stampede_seam::LoadResult;

/// How a load ends, whoever drove it.
pub(crate) fn exit_of(result: &LoadResult, interrupted: bool) -> Exit {
    // What could not be written says nothing about the server, but the load was not the one that was asked for.
    let spoils = |class: &ErrorClass| class.is_wrong() || *class == ErrorClass::Unwritable;
    let is_spoilt = result.total.errors.iter().any(|(class, count)| *count > 0 && spoils(class));
    let sent = result.total.requests.sent;
    let none_left = sent > 0 && result.total.errors.get(&ErrorClass::Unwritable) == Some(&sent);
    if interrupted {
        Exit::Interrupted
    } else if result.total.requests.ok == 0 && !none_left {
        Exit::TrialFailed
    } else if result.saturation.is_some() || is_spoilt {
        Exit::Invalid
    } else {
        Exit::Done
    }
}

#[cfg(test)]
mod tests {
    use stampede_testkit::samples::load_result;

    use super::*;

    #[test]
    fn wrong_answers_and_requests_that_could_not_be_written_end_with_4() {
        let exit = |failed: u64, class: ErrorClass| {
            let mut result = load_result();
            result.total.requests.ok -= failed;
            result.total.requests.failed = failed;
            result.total.errors.insert(class, failed);
            exit_of(&result, false)
        };
        let all = load_result().total.requests.sent;
        for class in ErrorClass::ALL {
            let few = if class.is_wrong() || class == ErrorClass::Unwritable { Exit::Invalid } else { Exit::Done };
            assert_eq!(exit(1, class), few, "{class:?}");
            // A server that was sent nothing has not failed.
            let whole = if class == ErrorClass::Unwritable { Exit::Invalid } else { Exit::TrialFailed };
            assert_eq!(exit(all, class), whole, "{class:?}");
        }
    }
}
