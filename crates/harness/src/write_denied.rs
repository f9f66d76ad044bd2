//! An application that may not write where it wants to. Servers log that as a warning among others, and the answer that
//! follows from it rarely says so.

/// What to make of a log in which the system refused a write.
pub(crate) fn hint(log: &[String]) -> Option<String> {
    // EACCES, EROFS and EPERM as strerror(3) words them.
    const REFUSALS: [&str; 3] = ["permission denied", "read-only file system", "operation not permitted"];
    let refused = log.iter().rev().find(|line| {
        let line = line.to_lowercase();
        REFUSALS.iter().any(|refusal| line.contains(refusal))
    })?;
    Some(format!(
        "a program was refused access: {}\n  an application may write in its own folder (a copy that is removed after the \
         trial) and in PHP's folder for temporary files, and nowhere else",
        refused.trim()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_refusal_is_told() {
        for (lines, told) in [
            (
                &["PHP Warning: file_put_contents(/srv/a): Failed to open stream: Permission denied", "x"][..],
                Some("/srv/a"),
            ),
            (&["mkdir(): Read-only file system"], Some("mkdir")),
            (&["all is well"], None),
            (&[], None),
        ] {
            let lines: Vec<_> = lines.iter().map(|line| (*line).to_owned()).collect();
            let hint = hint(&lines);
            assert_eq!(hint.is_some(), told.is_some(), "{lines:?}");
            assert!(hint.unwrap_or_default().contains(told.unwrap_or_default()));
        }
    }
}
