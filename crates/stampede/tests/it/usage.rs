//! What the program says of itself, and to those who mistype.

use insta::assert_snapshot;

use crate::stage::Stage;

fn said(args: &[&str]) -> String {
    let said = Stage::new().run(args);
    format!("exit code: {}\n--- stdout\n{}--- stderr\n{}", said.code.unwrap_or(-1), said.stdout, said.stderr)
}

#[test]
fn help_teaches() {
    assert_snapshot!("help", said(&["--help"]));
    assert_snapshot!("help_compare", said(&["compare", "--help"]));
    assert_snapshot!("help_capacity", said(&["capacity", "--help"]));
    assert_snapshot!("help_scale", said(&["scale", "--help"]));
    assert_snapshot!("help_gate", said(&["gate", "--help"]));
    assert_snapshot!("help_tune", said(&["tune", "--help"]));
    assert_snapshot!("help_size", said(&["size", "--help"]));
    assert_snapshot!("help_report", said(&["report", "--help"]));
    assert_snapshot!("help_why", said(&["why", "--help"]));
    assert_snapshot!("help_inside", said(&["inside", "--help"]));
    assert_snapshot!("help_list", said(&["list", "--help"]));
    assert_snapshot!("help_show", said(&["show", "--help"]));
    assert_snapshot!("help_show_runtime", said(&["show", "runtime", "--help"]));
    assert_snapshot!("help_doctor", said(&["doctor", "--help"]));
    assert_snapshot!("help_clean", said(&["clean", "--help"]));
}

#[test]
fn no_command_shows_the_help() {
    assert_snapshot!("no_command", said(&[]));
}

#[test]
fn an_unknown_command_or_flag_is_told() {
    assert_snapshot!("unknown_command", said(&["compere"]));
    assert_snapshot!("unknown_flag", said(&["compare", "markdown", "--cpu", "1"]));
    assert_snapshot!("no_workload", said(&["compare"]));
    assert_snapshot!("unknown_list", said(&["list", "runtime"]));
}

#[test]
fn an_unknown_workload_or_runtime_gets_the_nearest_name() {
    assert_snapshot!("unknown_workload", said(&["compare", "markdwon"]));
    assert_snapshot!("unknown_runtime", said(&["compare", "markdown", "--runtimes", "ngnix-fpm,apache"]));
}

#[test]
fn all_mistakes_of_a_capacity_are_told_at_once() {
    assert_snapshot!(
        "capacity_mistakes",
        said(&[
            "capacity",
            "ngnix-fpm",
            "markdown",
            "--slo",
            "p99<fast,p98<1s",
            "--set",
            "go.zzz=1",
            "--cpus",
            "0",
            "--max-time",
            "soon",
        ])
    );
    assert_snapshot!("capacity_without_slo", said(&["capacity", "nginx-fpm", "markdown"]));
    let short = ["capacity", "nginx-fpm", "markdown", "--slo", "p99<100ms", "--max-time", "1m"];
    assert_snapshot!("capacity_budget", said(&short));
    assert_snapshot!("capacity_of_a_scenario", said(&["capacity", "nginx-fpm", "rinha", "--slo", "p99<100ms"]));
}

#[test]
fn what_no_service_can_be_is_told_before_anything_is_started() {
    let php = ["scale", "php-cli-server", "markdown"];
    let typed = ["--concurrency", "many", "--policy", "aws", "--price", "free", "--queue-limit", "soon"];
    assert_snapshot!("scale_typed", said(&[&php[..], &typed, &["--cpus", "0", "--rounds", "auto"]].concat()));
    assert_snapshot!(
        "scale_max_below_min",
        said(&[&php[..], &["--min-instances", "2", "--max-instances", "1"]].concat())
    );
    assert_snapshot!("scale_size", said(&[&php[..], &["--cpus", "0.167", "--memory", "1Gi"]].concat()));
    assert_snapshot!("scale_of_a_scenario", said(&["scale", "nginx-fpm", "rinha"]));
    // How many processors this machine has is its own affair.
    let too_many = said(&[&php[..], &["--max-instances", "100000"]].concat());
    assert!(too_many.contains("exit code: 2") && too_many.contains("or ask stampede forecast"), "{too_many}");
}

#[test]
fn all_mistakes_of_one_command_line_are_told_at_once() {
    assert_snapshot!(
        "all_mistakes",
        said(&[
            "compare",
            "markdown",
            "--cpus",
            "0",
            "--memory",
            "1Mi",
            "--duration",
            "0",
            "--load",
            "closed:none",
            "--rounds",
            "none",
            "--seed",
            "-1",
            "--platform",
            "moon",
            "--runtimes",
            "nginx-fpm,nginx-fpm,zzz",
            "--set",
            "nginx-fpm.pm=fast",
            "--set",
            "nginx-fpm.pn=static",
            "--set",
            "go.GOMAXPROCS=1",
            "--set",
            "pm",
        ])
    );
}

#[test]
fn more_processors_than_the_machine_has_are_refused() {
    let said = Stage::new().run(&["compare", "markdown", "--cpus", "4096"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("--cpus 4096 is more than this machine's"), "{}", said.stderr);
}

#[test]
fn settings_that_contradict_each_other_are_told() {
    assert_snapshot!(
        "contradicting_settings",
        said(&[
            "compare",
            "markdown",
            "--runtimes",
            "nginx-fpm",
            "--set",
            "nginx-fpm.pm=static",
            "--set",
            "nginx-fpm.pm.max_spare_servers=4",
        ])
    );
}

#[test]
fn two_reports_do_not_share_stdout() {
    assert_snapshot!("two_on_stdout", said(&["compare", "markdown", "--json", "-", "--markdown", "-"]));
}

#[test]
fn lists_need_nothing() {
    assert_snapshot!("list_workloads", said(&["list", "workloads"]));
    assert_snapshot!("list_studies_empty", said(&["list", "studies"]));
    let said = Stage::new().run(&["show", "latest"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("stampede compare"), "{}", said.stderr);
}

#[test]
fn a_runtime_is_shown_with_the_reasons_of_its_settings() {
    let said = Stage::new().run(&[
        "show",
        "runtime",
        "nginx-fpm",
        "--cpus",
        "0.5",
        "--load",
        "closed:64",
        "--set",
        "nginx-fpm.pm.max_children=9",
    ]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for part in [
        "settings for 0.5 CPUs, 512Mi and closed:64:",
        "pm.max_children = 9\n",
        "    given\n    https://www.php.net/manual/en/install.fpm.configuration.php#pm.max-children",
        "pm = static\n",
        "because: no worker starts or stops while measuring",
        "pm.start_servers (not in this mode)",
    ] {
        assert!(said.stdout.contains(part), "{part}\n{}", said.stdout);
    }
    let too_long = |line: &&str| line.chars().count() > 80 && !line.contains("https://");
    assert_eq!(said.stdout.lines().find(too_long), None);
}

#[test]
fn what_cannot_be_shown_of_a_runtime_is_told_at_once() {
    assert_snapshot!(
        "show_runtime_mistakes",
        said(&["show", "runtime", "ngnix-fpm", "--load", "closed:0", "--set", "nginx-fpm.pm.max_children=0",])
    );
    assert_snapshot!("show_runtime_unserved", said(&["show", "runtime", "custom"]));
}
