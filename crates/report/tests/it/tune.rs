//! What a search for settings comes to.

use stampede_analysis::{Knob, LadderStep, Space, Tried, analyse, metric};
use stampede_core::{Latencies, Limits, Load, Objective, Role, RuntimeId, Slo};
use stampede_report::ladder::{self, LadderView};
use stampede_report::tune::{Held, TuneView, page};
use stampede_report::{Medium, StudyView, html};

use crate::samples::{Sample, plain};

/// What is said first.
fn conclusion(cases: &[(&str, &[f64])], slo: Option<&str>, slow: &[&str]) -> String {
    let text = told(cases, slo, slow, |view| page(view, Medium::Terminal).terminal(10_000, false));
    text.split("\n\n").next().unwrap().trim().to_owned()
}

/// A winner of two workers where one is the default, compared with the others in these blocks.
pub(crate) fn told(
    cases: &[(&str, &[f64])],
    slo: Option<&str>,
    slow: &[&str],
    render: impl FnOnce(&TuneView<'_>) -> String,
) -> String {
    let Sample { study, finished_at, mut trials, yard_stick } = plain(cases);
    // All answers of a slow case take half a second.
    for trial in trials.iter_mut().filter(|trial| slow.contains(&trial.case.as_str())) {
        let mut response = Latencies::new();
        (0..10_000).for_each(|_| response.record_ns(500_000_000));
        trial.measurement.as_mut().unwrap().response = response;
    }
    let analysis = analyse(&study, &trials);
    let view = StudyView {
        study: &study,
        finished_at,
        trials: &trials,
        yard_stick: &yard_stick,
        analysis: &analysis,
        open_part: None,
    };
    let knob =
        Knob { name: "workers".into(), role: Role::PoolSize, levels: vec!["1".into(), "2".into()], ordered: true };
    let space = Space { knobs: vec![knob], default: vec![0] };
    let tried = [(0, 0.0), (1, 0.5)].map(|(level, score)| Tried { point: vec![level], score: Some(score) });
    let slo: Option<Slo> = slo.map(|slo| slo.parse().unwrap());
    let limits: Limits = study.cases[0].limits;
    let load: Load = "closed:16".parse().unwrap();
    render(&TuneView {
        id: "search",
        limits: &limits,
        runtime: Some(RuntimeId::new("fpm")),
        workload: "hello",
        load: &load,
        objective: Objective::Throughput,
        slo: slo.as_ref(),
        metric: metric("throughput_rps").unwrap(),
        space: &space,
        tried: &tried,
        winner: &tried[1],
        documented: Some("the manual"),
        held: &[Held { share: 1.0, view }],
        out: None,
    })
}

#[test]
fn a_page_draws_what_sizes_near_the_winner_did() {
    let page = told(&[("tuned", &[2_000.0, 2_010.0]), ("default", &[1_000.0, 1_010.0])], None, &[], html::tune);
    assert!(page.contains("<figcaption>workers</figcaption>"));
    assert!(page.contains("<title>1: 0.607</title>") && page.contains("<title>2: best</title>"));
}

#[test]
fn nothing_in_a_setting_breaks_a_table_in_markdown() {
    let cases: [(&str, &[f64]); 2] =
        [("tuned", &[2_000.0, 2_010.0, 2_005.0, 1_990.0]), ("default", &[1_000.0, 1_010.0, 1_003.0, 998.0])];
    let text = told(&cases, None, &[], |view| {
        let knob =
            |knob: &Knob| Knob { name: "filter|<b>".into(), levels: vec!["a|b".into(), "<c>".into()], ..knob.clone() };
        let space = Space { knobs: view.space.knobs.iter().map(knob).collect(), ..view.space.clone() };
        page(&TuneView { space: &space, ..view.clone() }, Medium::Markdown).markdown()
    });
    assert!(text.contains("\n| filter\\|\\<b\\> | a\\|b: 0.607, \\<c\\>: best |\n"), "{text}");
    assert!(text.contains("--set fpm.filter\\|\\<b\\>=\\<c\\>**"), "{text}");

    let step = LadderStep {
        study: "s".into(),
        change: Some("log: a|b".into()),
        reason: "<b> is slow".into(),
        figure: None,
        p99_us: None,
        kept: false,
    };
    let (limits, state) = (plain(&[("a", &[1.0])]).study.cases[0].limits, ["log: <b>".to_owned()]);
    let steps = ladder::page(&LadderView {
        id: "search",
        workload: "hello",
        load: "closed:16",
        limits: &limits,
        metric: metric("throughput_rps").unwrap(),
        steps: &[step],
        state: &state,
        beside: None,
        held: None,
        held_by_p99: None,
    });
    let text = steps.markdown();
    assert!(text.contains("| log: a\\|b | \\<b\\> is slow |\n") && text.ends_with("- log: \\<b\\>\n"), "{text}");
}

#[test]
fn settings_are_advised_that_were_shown_to_be_better_and_meet_the_slo() {
    let more: &[f64] = &[2_000.0, 2_010.0, 2_005.0, 1_990.0];
    let few: &[f64] = &[1_000.0, 1_010.0, 1_003.0, 998.0];
    let like: &[f64] = &[1_001.0, 1_008.0, 1_004.0, 998.0];
    let most: &[f64] = &[3_000.0, 3_010.0, 3_006.0, 2_990.0];
    let slo = Some("p99<400ms");
    let (better, use_it) =
        ("have 1.996 times the requests per second of the defaults.", "Use them with: --set fpm.workers=2");
    for (name, cases, slo, slow, said, advised) in [
        ("better", &[("tuned", more), ("default", few)][..], None, &[][..], better, true),
        ("worse", &[("tuned", few), ("default", more)], None, &[], "were worse in new rounds", false),
        ("the same", &[("tuned", few), ("default", like)], None, &[], "equal within", false),
        (
            "slower, and alone in time",
            &[("tuned", few), ("default", more)],
            slo,
            &["default"],
            "meet p99<400ms; the defaults do not, by 1.25",
            true,
        ),
        (
            "faster, and late",
            &[("tuned", more), ("default", few)],
            slo,
            &["tuned"],
            "The defaults meet p99<400ms",
            false,
        ),
        (
            "both late",
            &[("tuned", more), ("default", few)],
            slo,
            &["tuned", "default"],
            "No settings that were tried meet p99<400ms",
            true,
        ),
        (
            "the manual knows better",
            &[("tuned", more), ("default", few), ("documented", most)],
            None,
            &[],
            "the settings of the manual are better",
            false,
        ),
        (
            "the manual is late",
            &[("tuned", more), ("default", few), ("documented", most)],
            slo,
            &["documented"],
            better,
            true,
        ),
    ] {
        let text = conclusion(cases, slo, slow);
        assert!(text.contains(said), "{name}: {text}");
        assert_eq!(text.contains(use_it), advised, "{name}: {text}");
    }
}
