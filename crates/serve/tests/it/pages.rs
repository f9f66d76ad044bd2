//! What the pages hold.

use stampede_core::{CaseId, Revision, StudyKind, WorkloadId};
use stampede_store::StoredStudy;

use crate::client::{Site, named, sample};

/// What a name might hold that wants to be more than a name.
const HOSTILE: [&str; 4] =
    ["<script>hacked=1</script>", "\"><img src=x onerror=hacked=3>", "' onmouseover='hacked=4", "{{ 7 * 7 }}<!--"];

/// A study whose every name is hostile.
pub(crate) fn hostile() -> StoredStudy {
    let mut stored = named("hostile", 5);
    stored.study.workload = WorkloadId::new(HOSTILE[0]);
    stored.study.machine.cpu_model = HOSTILE[1].to_owned();
    let old: Vec<CaseId> = stored.study.cases.iter().map(|case| case.id.clone()).collect();
    for (case, name) in stored.study.cases.iter_mut().zip(HOSTILE) {
        case.id = CaseId::new(name);
        case.runtime = stampede_core::RuntimeId::new(name);
        case.runtime_version = HOSTILE[2].to_owned();
        case.tuning.give(HOSTILE[1], HOSTILE[3]);
    }
    for trial in &mut stored.trials {
        let place = old.iter().position(|case| *case == trial.case).unwrap();
        trial.case = stored.study.cases[place].id.clone();
    }
    stored.study.groundwork.warm_ups.clear();
    stored
}

#[test]
fn an_empty_store_says_what_to_do_on_every_page() {
    let site = Site::of(&[]);
    let said = site.get("/");
    assert!(said.status == 200 && said.body.contains("stampede compare markdown"), "{}", said.body);
    assert_eq!(site.get("/history").status, 200);
    let unknown = site.get("/study?id=latest");
    assert!(unknown.status == 404 && unknown.body.contains("stampede compare"), "{}", unknown.body);
}

#[test]
fn studies_are_listed_found_and_turned() {
    let mut studies: Vec<StoredStudy> = (0..120).map(|hour| named(&format!("study-{hour:03}"), hour)).collect();
    // A list needs no trials, and storing them all takes a while.
    studies.iter_mut().for_each(|study| study.trials.clear());
    studies[7].study.kind = StudyKind::Gate;
    studies[8].finished_at = None;
    studies[9].study.workload = WorkloadId::new("hello");
    let site = Site::of(&studies);
    let listed = |target: &str| -> Vec<String> {
        let said = site.get(target);
        assert_eq!(said.status, 200, "{target}");
        let rows = said.body.split("<h2><a href=\"/study?id=").skip(1);
        rows.map(|row| row.split('"').next().unwrap().to_owned()).collect()
    };
    let first = listed("/");
    assert_eq!((first.len(), first[0].as_str(), first[24].as_str()), (25, "study-119", "study-095"));
    assert_eq!(listed("/?page=5").len(), 20);
    // Nobody gets lost.
    for page in ["0", "99", "-1", "x", "18446744073709551616"] {
        assert!(!listed(&format!("/?page={page}")).is_empty(), "{page}");
    }
    for (query, found) in [
        ("q=STUDY-007", vec!["study-007"]),
        ("q=gate", vec!["study-007"]),
        ("question=gate", vec!["study-007"]),
        ("state=unfinished", vec!["study-008"]),
        ("workload=hello", vec!["study-009"]),
        ("q=nothing+like+this", vec![]),
        ("workload=hello&state=unfinished", vec![]),
    ] {
        assert_eq!(listed(&format!("/?{query}")), found, "{query}");
    }
    let none = site.get("/?q=nothing+like+this").body;
    assert!(none.contains("No stored study matches") && none.contains("value=\"nothing like this\""), "{none}");
    let second = site.get("/?q=study&page=2").body;
    assert!(second.contains("href=\"/?q=study&amp;page=1\"") && second.contains("2 / 5"), "{second}");
}

#[test]
fn a_study_is_compared_with_one_of_another_page() {
    let mut studies: Vec<StoredStudy> = (0..120).map(|hour| named(&format!("study-{hour:03}"), hour)).collect();
    studies.iter_mut().for_each(|study| study.trials.clear());
    studies[7].study.cases[0].revision = Some(Revision { commit: "5c1d".repeat(10), is_dirty: true });
    let site = Site::of(&studies);
    let page = site.get("/study?id=study-119").body;
    assert!(page.contains("href=\"/?a=study-119\""), "{page}");
    let first = site.get("/").body;
    assert!(first.contains("href=\"/?a=study-119\"") && !first.contains("/compare"), "{first}");
    // It is remembered by every link and form of the list.
    let chosen = site.get("/?a=study-119&q=study").body;
    for part in [
        "A: <a href=\"/study?id=study-119\">study-119</a>",
        "<a href=\"/?q=study\">Choose another A</a>",
        "<input type=\"hidden\" name=\"a\" value=\"study-119\">",
        "href=\"/?a=study-119\">show all",
        "href=\"/?q=study&amp;page=2&amp;a=study-119\"",
        "href=\"/compare?a=study-119&amp;b=study-118\"",
    ] {
        assert!(chosen.contains(part), "{part}\n{chosen}");
    }
    assert!(!chosen.contains("b=study-119"), "{chosen}");
    let second = site.get("/?a=study-119&q=5C1D5C1D5C&page=9").body;
    assert!(second.contains("b=study-007") && second.contains("5c1d5c1d5c-dirty"), "{second}");
    assert_eq!(second.matches("/compare?").count(), 1, "{second}");
    // None of that name: nothing is chosen.
    assert_eq!(site.get("/?a=%22%3E%3Cimg%20src%3Dx%3E").body, first);
}

#[test]
fn a_studys_page_is_its_report_with_a_way_back() {
    let site = Site::of(&[sample()]);
    let page = site.get("/study?id=0713-a").body;
    for part in ["id=\"s0-figures\"", "nginx-fpm", "<a href=\"/\">All studies</a>", "id=\"document\""] {
        assert!(page.contains(part), "{part}");
    }
    // The beginning of a name is enough, as on the command line.
    assert_eq!(site.get("/study?id=0713").body, page);
    assert_eq!(site.get("/study?id=latest").body, page);
}

#[test]
fn two_studies_stand_beside_each_other() {
    let mut later = named("later", 3);
    later.study.cases[0].tuning.give("pm.max_children", "32");
    later.study.cases.pop();
    later.trials.retain(|trial| trial.case.as_str() == "nginx-fpm");
    later.study.machine.kernel = "7.0.0".to_owned();
    later.study.cases[0].revision = Some(Revision { commit: "5c1d".repeat(10), is_dirty: false });
    for trial in &mut later.trials {
        if let Some(measured) = &mut trial.measurement {
            measured.requests.ok *= 2;
        }
    }
    let site = Site::of(&[sample(), later]);
    let page = site.get("/compare?a=0713-a&b=later").body;
    for part in [
        "<h2>nginx-fpm</h2>",
        "<td>2.00</td>",
        "pm.max_children",
        "<td>32</td>",
        "Only in 0713-a: go",
        "Linux 7.0.0",
        "stampede gate study:0713-a study:later",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    // Revisions are conditions, and whether they differ is told.
    assert!(page.contains("revision") && page.contains(&"5c1d".repeat(10)), "{page}");
    let same = site.get("/compare?a=0713-a&b=0713-a").body;
    assert!(same.contains("Conditions and settings are the same in both") && !same.contains("Only in"), "{same}");
    assert_eq!(site.get("/compare?a=0713-a").status, 400);
    assert_eq!(site.get("/compare?a=0713-a&b=none").status, 404);
}

#[test]
fn a_ratio_has_an_interval_where_conditions_are_equal() {
    // Three trials of one case, near a rate.
    let repeated = |id: &str, hours: i64, rates: [u64; 3]| {
        let mut stored = named(id, hours);
        stored.study.cases.truncate(1);
        let first = stored.trials[0].clone();
        stored.trials = (1..)
            .zip(rates)
            .map(|(block, ok)| {
                let mut trial = stampede_core::Trial { block, ..first.clone() };
                trial.measurement.as_mut().unwrap().requests.ok = ok;
                trial
            })
            .collect();
        stored
    };
    let (before, after) = (repeated("before", 0, [1_000, 1_010, 990]), repeated("after", 1, [500, 505, 495]));
    let mut elsewhere = after.clone();
    elsewhere.study.id = stampede_core::StudyId::new("elsewhere");
    elsewhere.study.machine.cpu_model = "another".to_owned();
    let site = Site::of(&[before, after, elsewhere]);
    let page = site.get("/compare?a=before&b=after").body;
    assert!(page.contains("<td>0.500 (0.4"), "{page}");
    let page = site.get("/compare?a=before&b=elsewhere").body;
    assert!(page.contains("<td>0.500</td>") && page.contains("another"), "{page}");
}

#[test]
fn a_metric_is_followed_over_studies_of_equal_conditions() {
    let mut studies: Vec<StoredStudy> = (0..5).map(|hour| named(&format!("study-{hour}"), hour)).collect();
    studies[3].study.cases[0].limits.cpus = stampede_core::Cpus::from_millis(2_000);
    studies[4].finished_at = None;
    for (study, commit) in studies.iter_mut().zip(["aaaa", "bbbb", "cccc"]) {
        study.study.cases[0].revision = Some(Revision { commit: commit.repeat(10), is_dirty: commit == "bbbb" });
    }
    let site = Site::of(&studies);
    let page = site.get("/history?workload=markdown&runtime=nginx-fpm-runtime&metric=throughput_rps").body;
    // Four points of finished studies on two lines, one of which has one point.
    let count = |what: &str| page.matches(what).count();
    assert_eq!((count("class=\"mark\""), count("class=\"c0\""), count("class=\"c1\"")), (4, 2, 2), "{page}");
    assert_eq!(count("<line class=\"line\""), 4, "two joints beside two swatches: {page}");
    assert!(page.contains("href=\"/study?id=study-0\"") && !page.contains("study-4"), "{page}");
    for part in [">aaaaaaaaaa</text>", ">bbbbbbbbbb-dirty</text>", ", revision cccccccccc: ", "<td>cccccccccc</td>"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    // What is not asked for is chosen.
    let chosen = site.get("/history").body;
    assert!(chosen.contains("<option selected>markdown</option>"), "{chosen}");
    let nothing = site.get("/history?workload=none");
    assert!(nothing.status == 200 && nothing.body.contains("No finished comparison"), "{}", nothing.body);
    assert_eq!(site.get("/history?metric=none").status, 404);
}

#[test]
fn hostile_names_stay_text_on_every_page() {
    let site = Site::of(&[hostile(), sample()]);
    let workload = "%3Cscript%3Ehacked%3D1%3C%2Fscript%3E";
    for target in [
        "/".to_owned(),
        format!("/?q={workload}"),
        format!("/?workload={workload}&question=%22%3E%3Cimg%20src%3Dx%3E"),
        "/study?id=hostile".to_owned(),
        "/compare?a=hostile&b=0713-a".to_owned(),
        "/compare?a=hostile&b=hostile".to_owned(),
        "/history".to_owned(),
        format!("/history?workload={workload}&runtime={workload}"),
        format!("/study?id={workload}"),
        format!("/compare?a={workload}&b={workload}"),
    ] {
        let said = site.get(&target);
        for raw in ["<script>hacked", "<img", "' onmouseover='hacked=4", "7 * 7 }}<!--", ">49<"] {
            assert!(!said.body.contains(raw), "{target} holds {raw}");
        }
    }
    let history = site.get(&format!("/history?workload={workload}&runtime={workload}")).body;
    assert!(history.contains("class=\"mark\""), "{history}");
}
