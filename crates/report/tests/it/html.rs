//! Pages for a browser.

use std::io::Read;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::read::GzDecoder;
use stampede_analysis::METRICS;
use stampede_core::{CaseId, Outcome, StudyKind};
use stampede_report::{FORMATS, ReportAnswer, StudyView, csv, html};

use crate::samples::{Sample, four_runtimes, many, plain, with_failures, with_instances, with_trust, without_limits};

/// What a name might hold that wants to be more than a name.
const HOSTILE: [&str; 6] = [
    "<script>hacked=1</script>",
    "</script><script>hacked=2</script>",
    "\"><img src=x onerror=hacked=3>",
    "' onmouseover='hacked=4",
    "javascript:hacked=5",
    "{{ 7 * 7 }}\u{0}\u{202e}<!--",
];

/// A study whose every text is hostile.
fn hostile() -> Sample {
    let mut sample = many(HOSTILE.len(), 3);
    let study = &mut sample.study;
    study.workload = stampede_core::WorkloadId::new(HOSTILE[1]);
    study.machine.cpu_model = HOSTILE[2].to_owned();
    study.machine.kernel = HOSTILE[3].to_owned();
    study.stampede_version = HOSTILE[0].to_owned();
    let names: Vec<(CaseId, CaseId)> =
        study.cases.iter().zip(HOSTILE).map(|(case, name)| (case.id.clone(), CaseId::new(name))).collect();
    for (case, (_, name)) in study.cases.iter_mut().zip(&names) {
        case.id = name.clone();
        case.runtime_version = HOSTILE[1].to_owned();
        case.tuning.give(HOSTILE[2], HOSTILE[3]);
    }
    for trial in &mut sample.trials {
        trial.case = names.iter().find(|(old, _)| *old == trial.case).unwrap().1.clone();
        trial.answers[0].exchange = HOSTILE[0].to_owned();
    }
    let [first, second, ..] = &mut sample.trials[..] else { panic!("trials") };
    first.outcome = Outcome::Failed(HOSTILE.join("\n"));
    first.measurement = None;
    second.outcome = Outcome::Invalid(HOSTILE.join(" "));
    sample
}

fn page(sample: &Sample) -> String {
    sample.render(html::study)
}

/// What stands in a page beside its script, style and data.
fn markup(page: &str) -> String {
    let mut rest = page;
    let mut text = String::new();
    while let Some((before, from)) =
        ["<script", "<style"].iter().filter_map(|tag| rest.split_once(tag)).min_by_key(|(before, _)| before.len())
    {
        text.push_str(before);
        let ends = ["</script>", "</style>"];
        rest = ends.iter().filter_map(|end| from.split_once(end)).min_by_key(|(inside, _)| inside.len()).unwrap().1;
    }
    text + rest
}

#[test]
fn the_schema_of_a_pages_document_is_current() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/schema.json");
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(file, html::schema()).unwrap();
    }
    let published = std::fs::read_to_string(file).unwrap_or_default();
    assert!(
        published == html::schema(),
        "run: UPDATE_SCHEMA=1 cargo test -p stampede-report schema; scripts/web.sh build"
    );
}

#[test]
fn a_page_says_the_result_first_and_all_of_the_rest() {
    let text = page(&with_trust());
    let order = [
        "class=\"lead\"",
        "Undecided between apache-mod-php and nginx-fpm",
        "s0-figures",
        "s0-charts",
        "s0-findings",
        "s0-latency",
        "s0-configuration",
        "s0-method",
        "s0-trials",
        "s0-again",
    ];
    let mut from = 0;
    for part in order {
        from += text[from..].find(part).unwrap_or_else(|| panic!("{part} is not in its place"));
    }
    for part in [
        "noise floor 1.8 % (10 pairs)",
        "stampede compare markdown --runtimes apache-mod-php,go,nginx-fpm,php-cli-server --cpus 0.5 --memory 256Mi \
         --load closed:16 --duration 5s --rounds 3 --seed 1 --set nginx-fpm.pm.max_children=8",
        "class=\"band\"",
        "rank 1",
        "(explained in docs",
    ] {
        assert!(text.contains(part), "{part}");
    }
}

#[test]
fn a_page_is_headed_by_the_application_and_what_serves_it() {
    for (kind, heading) in [
        (StudyKind::Compare, "markdown on apache-mod-php, nginx-fpm, php-cli-server and go"),
        (StudyKind::Calibrate, "markdown on apache-mod-php, compared with itself"),
        (StudyKind::Gate, "markdown on apache-mod-php, before and after a change"),
        (StudyKind::Tune, "markdown on apache-mod-php: settings that were tried"),
    ] {
        let mut sample = four_runtimes();
        sample.study.kind = kind;
        let text = page(&sample);
        for part in [
            format!("<title>{heading} · Stampede report</title>"),
            format!("<h1>{heading}</h1>"),
            "<p class=\"note origin\">study 20260713-121314-compare-markdown, 2026-07-13 12:13 UTC</p>".to_owned(),
        ] {
            assert!(text.contains(&part), "{kind:?}: {part}");
        }
    }
}

#[test]
fn hostile_names_stay_text() {
    let text = page(&hostile());
    let markup = markup(&text);
    for (index, name) in HOSTILE.iter().enumerate() {
        let raw = name.contains(['<', '"', '\'']);
        assert!(!raw || !markup.contains(name), "{name} is not escaped");
        assert!(!text.contains(&format!("<script>hacked={}", index + 1)));
    }
    assert!(!markup.contains("<img") && !markup.contains("onerror=hacked=3>"), "an element came out of a name");
    assert!(!text.contains("href=\"javascript:"));
    assert!(!text.contains(['\u{0}', '\u{202e}']));
    assert!(text.contains("{{ 7 * 7 }}"), "names are no templates");
    // One script that runs, one that holds the data, one style: no more came out of names.
    assert_eq!((text.matches("<script").count(), text.matches("<style").count()), (2, 1));
}

#[test]
fn a_page_asks_the_network_for_nothing() {
    for sample in [four_runtimes(), hostile(), many(12, 5)] {
        let text = page(&sample);
        let markup = markup(&text);
        for attribute in
            [" src=", " srcset=", " action=", " data=", "<link", "<iframe", "<object", "<base", "@import", "url("]
        {
            let lower = markup.replace("&quot;", "").to_lowercase();
            // What a name says is text: it stands behind an escaped bracket or quote.
            let found = lower.match_indices(attribute).any(|(at, _)| !lower[..at].ends_with("&lt;img"));
            assert!(!found, "{attribute}");
        }
        for (at, _) in markup.match_indices("href=\"") {
            let target = &markup[at + 6..];
            assert!(["#", "https://", "http://"].iter().any(|begin| target.starts_with(begin)), "{}", &target[..40]);
        }
        assert!(text.contains("default-src 'none'; script-src 'sha256-"));
        assert!(!text.contains("unsafe-inline"));
    }
}

#[test]
fn studies_that_say_nothing_say_so() {
    let mut none = four_runtimes();
    none.trials.clear();
    none.finished_at = None;
    let mut one = four_runtimes();
    one.study.cases.truncate(1);
    for (name, sample, told) in [
        (
            "no trial yet",
            none,
            &[
                "No trial has finished yet",
                "This study is not finished: it is running, or was interrupted. Trials so far: 0 of 12",
            ][..],
        ),
        ("interrupted", with_failures(), &["This study is not finished", "Address already in use", "--resume"]),
        ("nothing counts", without_limits(), &["None of the trials counts", "LIMITS WERE NOT ENFORCED"]),
        ("one case", one, &["apache-mod-php: 1,398 requests per second ("]),
    ] {
        let text = page(&sample);
        for told in told {
            assert!(text.contains(told), "{name}: {told}");
        }
    }
}

#[test]
fn a_page_is_small_enough_to_be_sent_and_made_quickly() {
    let sample = many(12, 20);
    let text = page(&sample);
    assert!(text.len() < 1_500_000, "{} bytes", text.len());

    let large = many(50, 20);
    let analysis = stampede_analysis::analyse(&large.study, &large.trials);
    let view = StudyView {
        study: &large.study,
        finished_at: large.finished_at,
        trials: &large.trials,
        yard_stick: &large.yard_stick,
        analysis: &analysis,
        open_part: None,
    };
    // By this thread's own time on a processor: other tests run beside it (proc_schedstat: the first figure, in ns).
    let now = || -> u64 {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        text.split(' ').next().unwrap().parse().unwrap()
    };
    let began = now();
    html::study(&view);
    let took = Duration::from_nanos(now() - began);
    // A program that is not optimised takes some ten times as long.
    let most = Duration::from_secs(if cfg!(debug_assertions) { 10 } else { 1 });
    assert!(took < most, "{took:?}");
}

#[test]
fn a_page_of_services_begins_with_what_their_instances_did() {
    let page = page(&with_instances()).replace("&#x2f;", "/");
    for told in [
        "large on markdown answers every request: 91",
        "small: small, 0.5 CPU and 256Mi an instance, scaled by cloud-run, 0 to 6 instances that share 1 processor",
        "<th scope=\"row\">instances min/mean/max</th><td>1/2.20/3</td>",
        "<th scope=\"row\">\u{2013} in all, ms p50/max</th><td>300/300</td>",
        "id=\"s0-course\"",
    ] {
        assert!(page.contains(told), "{told}\n{}", markup(&page));
    }
}

/// What docs/samples shows is small, and says nothing of where it was measured: what a script reads included.
#[test]
fn the_samples_of_the_documentation_can_be_given_to_anybody() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/samples");
    let mut pages = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let most = if path.extension().is_some_and(|ending| ending == "html") { 1_000_000 } else { 250_000 };
        assert!(path.metadata().unwrap().len() < most, "{}", path.display());
        if most < 1_000_000 {
            continue;
        }
        pages += 1;
        let page = std::fs::read_to_string(&path).unwrap();
        let packed = page.split_once("id=\"document\">").unwrap().1.split_once('<').unwrap().0;
        let mut document = String::new();
        let bytes = BASE64_STANDARD.decode(packed).unwrap();
        GzDecoder::new(&bytes[..]).read_to_string(&mut document).unwrap();
        for text in [markup(&page).replace("&#x2f;", "/"), document] {
            for folder in ["/tmp/", "/home/", "/root/", "/stampede-"] {
                assert!(!text.contains(folder), "{} tells {folder}", path.display());
            }
        }
    }
    assert!(pages > 0, "no pages in {folder}");
}

#[test]
fn cases_as_csv_have_a_row_each_with_their_means() {
    let sample = four_runtimes();
    let format = FORMATS.iter().find(|format| format.flag == "--cases").unwrap();
    let text = sample.render(|view| (format.write)(&ReportAnswer::Study(*view)));
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let heading = reader.headers().unwrap().clone();
    let at = |name: &str| heading.iter().position(|column| column == name).unwrap();
    let rows: Vec<::csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), sample.study.cases.len());
    for row in &rows {
        let [mean, low, high] = ["throughput_rps", "throughput_rps_low", "throughput_rps_high"]
            .map(|key| row[at(key)].parse::<f64>().unwrap());
        assert!(low <= mean && mean <= high, "{row:?}");
    }
}

#[test]
fn trials_as_csv_have_a_row_each() {
    let sample = hostile();
    let text = sample.render(|view| csv::render(&[*view, *view]));
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let heading = reader.headers().unwrap().clone();
    let at = |name: &str| heading.iter().position(|column| column == name).unwrap();
    let rows: Vec<::csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 2 * sample.trials.len());
    for (row, trial) in rows.iter().zip(&sample.trials) {
        assert_eq!(&row[at("case")], trial.case.as_str());
        assert_eq!(row[at("throughput_rps")].is_empty(), trial.measurement.is_none());
    }
    assert_eq!(&rows[0][at("reason")], HOSTILE.join("\n"));
    assert!(METRICS.iter().all(|metric| heading.iter().any(|name| name == metric.key)));
}

#[test]
fn a_chart_stands_by_itself() {
    let chart = with_trust().render(html::chart).unwrap();
    insta::assert_snapshot!(chart);
    let mut none = four_runtimes();
    none.trials.clear();
    assert!(none.render(html::chart).is_none());
    assert!(!hostile().render(html::chart).unwrap().contains("<script"));
}

/// The most memory that this process ever had (proc_pid_status(5), `VmHWM`).
fn peak_memory_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim_end_matches("kB").trim().parse::<u64>().unwrap() / 1_024
}

/// Writes the pages that a browser then looks at, to the folder in `STAMPEDE_PAGES` (scripts/web.sh).
#[test]
#[ignore = "writes pages for the tests in a browser"]
fn pages_for_a_browser() {
    let folder = std::path::PathBuf::from(std::env::var_os("STAMPEDE_PAGES").unwrap());
    let mut none = four_runtimes();
    none.trials.clear();
    none.finished_at = None;
    let fifty = page(&many(50, 20));
    // This test runs in a process of its own, and nothing was before it.
    let peak = peak_memory_mib();
    assert!(peak < 200, "a study of 50 cases with 20 trials each took {peak} MiB");
    for (name, text) in [
        ("twelve", page(&many(12, 5))),
        ("fifty", fifty),
        ("trust", page(&with_trust())),
        ("instances", page(&with_instances())),
        ("failures", page(&with_failures())),
        ("without-limits", page(&without_limits())),
        ("none", page(&none)),
        ("hostile", page(&hostile())),
        ("replication", crate::replication::page()),
    ] {
        std::fs::write(folder.join(format!("{name}.html")), text).unwrap();
    }
}

#[test]
fn a_page_answers_what_its_study_asked() {
    let mut why = plain(&[
        ("nginx-fpm", &[100.0, 101.0, 99.0, 100.0, 102.0]),
        ("more CPU", &[200.0, 203.0, 197.0, 201.0, 199.0]),
        ("more memory", &[200.0, 201.0, 199.0, 202.0, 198.0]),
    ]);
    why.study.kind = StudyKind::Why;
    why.study.cases[1].limits.cpus = "1".parse().unwrap();
    why.study.cases[2].limits.memory = "512Mi".parse().unwrap();
    let mut capacity = many(3, 1);
    capacity.study.kind = StudyKind::Capacity;
    for (sample, parts) in [
        (why, ["Each change alone", "CPU quota 0.5 -&gt; 1", "Confirmed: "]),
        (capacity, ["no result, since no rate was probed", "Closed loads", "random gaps (Poisson)"]),
    ] {
        let text = page(&sample);
        let markup = markup(&text);
        for part in parts {
            assert!(markup.contains(part), "{part}");
        }
        assert!(!markup.contains("No result: no two cases") && !markup.contains("equally fast"));
    }
}
