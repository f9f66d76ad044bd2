//! What the figures were measured on.

use std::fs;

use crate::stage::Stage;

/// What the processors are, and how many.
pub(crate) fn processor() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let count = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    format!("{}, {count} processors", model(&cpuinfo))
}

/// Lines that describe this machine at this time.
pub(crate) fn describe(stage: &Stage) -> Vec<String> {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    vec![
        format!("date       {}", jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M UTC")),
        format!("processor  {}, {} processors", model(&cpuinfo), stage.cpus),
        format!("kernel     Linux {}", kernel.trim()),
        format!("load       {} when it began (1, 5 and 15 minutes)", averages(&load)),
        format!("pinned     servers to processor {}, clients to processor {}", stage.server_cpu, stage.client_cpu),
    ]
}

fn model(cpuinfo: &str) -> &str {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split_once(':')).map_or("unknown", |(_, model)| model.trim())
}

fn averages(load: &str) -> String {
    load.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}
