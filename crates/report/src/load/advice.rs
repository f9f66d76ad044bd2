//! What makes the figures of a load mean less than they seem to.

use stampede_core::ErrorClass;
use stampede_seam::{LoadResult, Saturation};

use super::SampleCount;

/// Each thing, and what to do about it.
pub fn advice(result: &LoadResult, samples: Option<SampleCount>) -> Vec<[String; 2]> {
    let mut all = Vec::new();
    let mut add = |what: String, advice: &str| all.push([what, advice.to_owned()]);
    if let Some(saturation) = &result.saturation {
        let advice = match saturation {
            Saturation::Late { .. } => {
                "leave it a processor of its own, add --threads, or lower the load; see the lateness row"
            }
            Saturation::Accounts { .. } => "this is a fault of the program: please report it with the command",
        };
        add(format!("{saturation}: these figures say too much about the generator"), advice);
    }
    if result.total.unsent > 0 {
        let what = format!("{} requests found no free connection before the end", result.total.unsent);
        add(what, "the server is slower than the rate: lower it, or raise --connections");
    }
    if let Some(SampleCount { lost: lost @ 1.., .. }) = samples {
        let what = format!("{lost} requests are not in the file of --samples: the disk did not follow");
        add(what, "write to a faster disk, such as /dev/shm, or lower the load; the figures above count them");
    }
    for capture in &result.unmatched_captures {
        let advice = "look at an answer of that step, and correct the header, pointer or expression";
        add(format!("the capture {capture} never found a value"), advice);
    }
    for feeder in &result.exhausted_feeders {
        let what = format!("the feeder {feeder} ran out of rows: users who needed one ended");
        add(what, "give it more rows, or order: loop");
    }
    let count = |class| result.total.errors.get(&class).copied().unwrap_or(0);
    if count(ErrorClass::Exhausted) > 0 {
        let what = "connections could not be opened: no port or file descriptor was left".to_owned();
        add(what, "raise ulimit -n, or lower --connections; without keep-alive, lower the rate");
    }
    if count(ErrorClass::Unwritable) > 0 {
        let what = format!("{} requests could not be written, and never left", count(ErrorClass::Unwritable));
        add(what, "this is a fault of the scenario, not of the server: look at the values of that step");
    }
    all
}

#[cfg(test)]
mod tests {
    use stampede_testkit::samples::load_result;

    use super::*;

    #[test]
    fn what_makes_figures_mean_less_is_told_with_what_to_do() {
        let mut result = load_result();
        result.total.errors = [(ErrorClass::Unwritable, 3), (ErrorClass::Exhausted, 1)].into();
        result.total.unsent = 2;
        result.unmatched_captures = vec!["visit/post: etag".to_owned()];
        result.exhausted_feeders = vec!["payloads".to_owned()];
        let told: Vec<String> =
            advice(&result, Some(SampleCount { written: 1, lost: 4 })).iter().map(|told| told.join("; ")).collect();
        for (told, expected) in told.iter().zip([
            "2 requests found no free connection before the end; the server is slower than the rate",
            "4 requests are not in the file of --samples: the disk did not follow; write to a faster disk",
            "the capture visit/post: etag never found a value; look at an answer of that step",
            "the feeder payloads ran out of rows: users who needed one ended; give it more rows",
            "connections could not be opened: no port or file descriptor was left; raise ulimit -n",
            "3 requests could not be written, and never left; this is a fault of the scenario, not of the server",
        ]) {
            assert!(told.starts_with(expected), "{told}");
        }
        assert_eq!(told.len(), 6, "{told:?}");
    }
}
