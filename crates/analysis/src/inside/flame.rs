//! All stacks of a case as one tree, per request: what flame graphs are drawn from.

use std::collections::BTreeMap;

use stampede_core::InsideFunction;

use super::{Weighed, kind};
use crate::inside::time_part::{TimePart, is_load};

/// A tree of functions, each under the one that called it. The first node is the root, and stands for all of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlameTree {
    /// Parents come before what they call.
    pub nodes: Vec<FlameNode>,
}

/// A function where it was called, with what it calls.
#[derive(Clone, Debug, PartialEq)]
pub struct FlameNode {
    /// Its name.
    pub name: String,
    /// The place of the node that called it; the root's own.
    pub parent: usize,
    /// What most of its time without what it calls belongs to.
    pub part: TimePart,
    /// CPU time of a request, in microseconds.
    pub running_us: f64,
    /// Time that a request waited, in microseconds.
    pub waiting_us: f64,
}

/// Nodes below this share of all time are part of their parent alone.
const LEAST: f64 = 0.000_5;
/// More than a graph can show.
const MOST: usize = 4_000;
/// Where a worker that stays hands a request to the application: what is above it is the same in every request.
const HANDS_OVER: [&str; 1] = ["frankenphp_handle_request"];

/// Where frameworks take a request, by class and name: what leads there differs between servers, and what they do with it does not.
const TAKES_REQUEST: [(&str, &str); 2] =
    [("Illuminate\\Foundation\\Http\\Kernel", "handle"), ("Symfony\\Component\\HttpKernel\\Kernel", "handle")];

/// How scripts are called that a server puts before an application's own.
const ROUTER: &str = "/php/router.php";

#[derive(Default)]
struct Grown {
    children: BTreeMap<String, Grown>,
    own: BTreeMap<TimePart, f64>,
    times: [f64; 2],
}

impl FlameTree {
    /// That of all trials together.
    pub(super) fn of(trials: &[Weighed<'_>]) -> Self {
        let mut root = Grown::default();
        let requests: f64 = trials.iter().map(|trial| trial.requests).sum();
        for trial in trials {
            for stack in &trial.record.stacks {
                let part = TimePart::of(trial.record, stack);
                // Ready is neither, and what waits outside of requests is idle.
                let place = match kind(stack) {
                    0 => 0,
                    2 if part != TimePart::Outside => 1,
                    _ => continue,
                };
                let time = trial.seconds(stack) * 1e6 / requests;
                let frames: Vec<&InsideFunction> = trial.record.frames(stack).collect();
                let mut at = &mut root;
                at.times[place] += time;
                for function in handled(&frames) {
                    at = at.children.entry(function.to_string()).or_default();
                    at.times[place] += time;
                }
                *at.own.entry(part).or_default() += time;
            }
        }
        let all: f64 = root.times.iter().sum();
        let mut tree = Self::default();
        // Breadth first: what is cut off at the end is deep.
        let mut next = std::collections::VecDeque::from([("all".to_owned(), 0, root)]);
        while let Some((name, parent, Grown { children, own, times: [running_us, waiting_us] })) = next.pop_front() {
            if tree.nodes.len() >= MOST {
                break;
            }
            let most = own.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(part, _)| part);
            let part = most.unwrap_or(TimePart::Application);
            let place = tree.nodes.len();
            tree.nodes.push(FlameNode { name, parent, part, running_us, waiting_us });
            let large = children.into_iter().filter(|(_, child)| child.times.iter().sum::<f64>() >= all * LEAST);
            next.extend(large.map(|(name, child)| (name, place, child)));
        }
        tree
    }
}

/// The functions of a request: without the script that every request begins in, so that those of a runtime that keeps the
/// application have the same place as those of one that does not.
fn handled<'a>(frames: &'a [&'a InsideFunction]) -> impl Iterator<Item = &'a InsideFunction> {
    let taken = frames.iter().position(|function| {
        let named = function.class.as_deref().zip(function.name.as_deref());
        named.is_some_and(|named| TAKES_REQUEST.contains(&named))
    });
    let handed = frames.iter().rposition(|function| {
        function.file.is_none() && function.name.as_deref().is_some_and(|name| HANDS_OVER.contains(&name))
    });
    let from = match (taken, handed) {
        (Some(at), _) => at,
        // The function after it is the one that was handed over.
        (None, Some(at)) => (at + 2).min(frames.len()),
        (None, None) => {
            let is_script = |function: &&&InsideFunction| function.name.is_none() && !is_load(function);
            let routed = frames.first().filter(is_script).and_then(|function| function.file.as_deref());
            let routed = usize::from(routed.is_some_and(|file| file.ends_with(ROUTER)));
            routed + usize::from(frames.get(routed).filter(is_script).is_some())
        }
    };
    frames[from..].iter().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Class::name@file`, or `name` of PHP's own; a file alone after `@`.
    fn function(text: &str) -> InsideFunction {
        let (name, file) = text.split_once('@').map_or((text, None), |(name, file)| (name, Some(file.to_owned())));
        let (class, name) = name.rsplit_once("::").map_or((None, name), |(class, name)| (Some(class.to_owned()), name));
        InsideFunction { class, name: (!name.is_empty()).then(|| name.to_owned()), file, first_line: 1 }
    }

    #[test]
    fn what_a_request_takes_has_the_same_place_on_every_server() {
        const KERNEL: &str = "Illuminate\\Foundation\\Http\\Kernel::handle@/app/vendor/k.php";
        for (frames, first) in [
            (&["@/app/public/index.php", "a@/app/a.php"][..], Some("a")),
            (&["@/run/php/router.php", "@/app/public/index.php", "a@/app/a.php"], Some("a")),
            (
                &["@/app/worker.php", "frankenphp_handle_request", "{closure}@/app/worker.php", "a@/app/a.php"],
                Some("a"),
            ),
            (
                &["@/app/public/index.php", "App::handleRequest@/app/vendor/a.php", KERNEL, "a@/app/a.php"],
                Some("Illuminate\\Foundation\\Http\\Kernel::handle"),
            ),
            (
                &[
                    "@/app/worker.php",
                    "frankenphp_handle_request",
                    "{closure}@/app/worker.php",
                    "Octane::handle@/app/vendor/o.php",
                    KERNEL,
                ],
                Some("Illuminate\\Foundation\\Http\\Kernel::handle"),
            ),
            (&["@/app/public/index.php"], None),
        ] {
            let functions: Vec<InsideFunction> = frames.iter().map(|text| function(text)).collect();
            let functions: Vec<&InsideFunction> = functions.iter().collect();
            let found = handled(&functions).next().map(ToString::to_string);
            assert_eq!(found.as_deref(), first, "{frames:?}");
        }
    }
}
