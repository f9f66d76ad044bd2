//! wrk: the load, with the script that writes its requests where there is one, and the rates of its threads.

use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stampede_conduct::{Bench, Failure, Host, Interrupts};
use stampede_core::Endpoint;
use stampede_load::{RunningLoad, find_addresses, start, start_authored};
use stampede_lua::{Distribution, LoadErrors, Lookup, LuaScript, Source, Summary, Trouble, Watch};
use stampede_mimic::{Layout, Rates, ToolOutcome, ToolRun, WrkScript, WrkTotals};
use stampede_seam::{LoadResult, LoadSpec};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;

use crate::here::lay_out;
use crate::live::Live;
use crate::tool_output::ToolOutput;

/// After this time a call of a script is taken for one without an end.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most that a state may have: far more than a script needs, and less than takes long to fill.
const MOST_MEMORY: u64 = 512 << 20;

pub(crate) fn run(
    run: ToolRun,
    mut layout: Layout,
    targets: Vec<Endpoint>,
    host: &dyn Host,
    output: &dyn ToolOutput,
) -> Result<u8, Failure> {
    let cpus = lay_out(&host.cpus(), run.threads);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::missing)?;
    let backend = runtime.block_on(host.backend(None, &cpus, run.quiet));
    // As wrk has it, each thread that is asked for is there, whatever the processors.
    let generator = cpus.generator.iter().copied().cycle().take(run.threads).collect();
    let (watch, bench) = (Watch::new(PATIENCE), Bench { host, no_wait: false, quiet: run.quiet });
    let script = layout.take_script();
    let is_paced = script.as_ref().is_some_and(|script| script.is_paced);
    let source = script.map(|script| source(script, &run, host.size().memory.get()));
    let mut spec = run.spec(targets, generator, backend);
    let script = source.map(|source| load_script(source, is_paced, &watch)).transpose()?;
    let (result, rates, interrupted) = runtime.block_on(async {
        let interrupts = host.interrupts()?;
        let running = match &script {
            None => start(spec),
            Some(script) => {
                pace(&mut spec, script)?;
                start_authored(spec, script.threads().map_err(Failure::usage)?)
            }
        };
        drive(running.map_err(Failure::missing)?, script.as_ref(), &watch, interrupts, bench).await
    })?;
    layout.set_rates(rates);
    let outcome = ToolOutcome { result: &result, samples: &[], began: 0, time: &|seconds| seconds.to_string() };
    let (text, note) = (layout.text(&outcome), layout.note(&result));
    if let Some(script) = &script {
        script.flush().map_err(Failure::usage)?;
    }
    output.print(&text)?;
    if let Some(script) = script.filter(LuaScript::has_done) {
        report(script, layout.wrk_totals(&result).unwrap_or_default(), &watch)?;
    }
    output.print(&format!("\n{note}"))?;
    Ok(layout.exit_code(&result, interrupted))
}

/// What the script is run with: half of the machine's memory, shared by its states, but no more than [`MOST_MEMORY`] each.
fn source(script: WrkScript, run: &ToolRun, memory: u64) -> Source {
    let WrkScript { file, text, port, headers, args, is_paced: _ } = script;
    let allow_remote = run.allow_remote;
    let states = run.threads as u64 + 1;
    Source {
        file,
        text,
        scheme: if run.url.encrypted { "https" } else { "http" }.to_owned(),
        host: run.url.host.clone(),
        port,
        path: run.url.path.clone(),
        headers,
        args,
        threads: run.threads,
        memory: usize::try_from((memory / 2 / states).min(MOST_MEMORY)).unwrap_or(usize::MAX),
        lookup: Lookup::new(move |host, service| {
            let port = match service {
                "http" => 80,
                "https" => 443,
                number => number.parse().map_err(|_| format!("{number} is no port, http or https"))?,
            };
            find_addresses(host, port, allow_remote).map_err(|error| Failure::usage(error).message)
        }),
    }
}

fn load_script(source: Source, is_paced: bool, watch: &Arc<Watch>) -> Result<LuaScript, Failure> {
    let file = source.file.clone();
    let of_job = Arc::clone(watch);
    let loaded = watch.guard(move || LuaScript::load(&source, &of_job)).and_then(|loaded| loaded);
    let script = loaded.map_err(trouble)?;
    script.flush().map_err(trouble)?;
    if is_paced && script.delays() {
        let problem =
            format!("{file}: delay() is of wrk, and -R is of wrk2, which paces requests: leave out one of them");
        return Err(Failure::usage(problem));
    }
    Ok(script)
}

/// What stops a script is a mistake in it, but for a server that is not there.
fn trouble(trouble: Trouble) -> Failure {
    match trouble {
        Trouble::Unreachable(_) | Trouble::NoThread(_) => Failure::missing(trouble),
        Trouble::Failed { .. } | Trouble::Memory { .. } | Trouble::Endless { .. } | Trouble::NoRequest { .. } => {
            Failure::usage(trouble)
        }
    }
}

/// A rate counts requests: those that are sent together are begun so much less often.
fn pace(spec: &mut LoadSpec, script: &LuaScript) -> Result<(), Failure> {
    let together = script.requests_together().get();
    if together > 1 {
        spec.load = spec.load.scaled(1.0, 1.0 / f64::from(together)).map_err(Failure::usage)?;
    }
    Ok(())
}

/// Looks at the load until it ends, or the script has trouble, or the first signal, which the last value tells.
async fn drive(
    running: RunningLoad,
    script: Option<&LuaScript>,
    watch: &Watch,
    mut interrupts: Box<dyn Interrupts>,
    bench: Bench<'_>,
) -> Result<(LoadResult, Rates, bool), Failure> {
    let end = running.end().and_then(|end| Receiver::from_owned_fd(end.into()));
    let mut end = end.map_err(Failure::missing)?;
    let begun = Instant::now();
    let (mut rates, mut live) = (Rates::default(), Live::new(bench));
    let mut ticks = tokio::time::interval(Rates::interval());
    let interrupted = loop {
        tokio::select! {
            _ = end.read_u8() => break false,
            _ = interrupts.next() => {
                running.abort();
                break true;
            }
            _ = ticks.tick() => {}
        }
        rates.look(begun.elapsed(), &running.ended_by_thread());
        live.show(|| running.progress());
        if let Some(endless) = watch.look(Instant::now()) {
            // Its thread would be waited for.
            mem::forget(running);
            return Err(trouble(endless));
        }
        if script.is_some_and(|script| script.trouble().is_some()) {
            running.abort();
        }
    };
    live.end();
    let result = running.finish();
    match script.and_then(LuaScript::trouble) {
        Some(failed) => Err(trouble(failed)),
        None => Ok((result, rates, interrupted)),
    }
}

/// Has the script report.
fn report(script: LuaScript, totals: WrkTotals, watch: &Watch) -> Result<(), Failure> {
    let WrkTotals { duration_us, requests, bytes, connect, read, status, timeout, latency_us, rates } = totals;
    let errors = LoadErrors { connect, read, write: 0, status, timeout };
    let summary = Summary { duration: duration_us, requests, bytes, errors };
    let latency = Distribution::new(latency_us);
    let rates = Distribution::new(rates.into_iter().map(|rate| (rate, 1)));
    watch.guard(move || script.done(&summary, latency, rates)).and_then(|done| done).map_err(trouble)
}
