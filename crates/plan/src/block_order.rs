//! How the cases of a round are measured: one after the other, in turns, or in turns where they hold.

use std::fmt;

use stampede_core::{BlockOrder, Load};

use crate::mistake::Gathered;

/// What `--order` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderChoice {
    /// This one.
    Always(BlockOrder),
    /// Turns where they hold, else windows.
    Auto,
}

impl fmt::Display for OrderChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Always(order) => order.fmt(f),
            Self::Auto => f.pad("auto"),
        }
    }
}

impl Default for OrderChoice {
    fn default() -> Self {
        Self::Always(BlockOrder::Windows)
    }
}

/// `--order`: `windows`, `turns` or `auto`; where nothing is asked for, what the command has by default.
pub(crate) fn read_order(typed: Option<&str>, by_default: OrderChoice, mistakes: &mut Gathered) -> OrderChoice {
    let known = BlockOrder::ALL.map(|(name, order)| (name, OrderChoice::Always(order)));
    let mut known = known.into_iter().chain([("auto", OrderChoice::Auto)]);
    let read = |typed: &str| known.find(|(name, _)| *name == typed).map(|(_, choice)| choice);
    let problem = "is not windows, turns or auto";
    mistakes.value(("--order", typed), by_default, read, problem, "for example --order auto")
}

/// Turns are for loads that are the same whenever they begin: clients that wait for their answers.
pub(crate) fn settle_order(
    choice: OrderChoice,
    load: &Load,
    is_scenario: bool,
    mistakes: &mut Gathered,
) -> OrderChoice {
    if choice != OrderChoice::Always(BlockOrder::Turns) {
        return choice;
    }
    let problem = match load {
        Load::Closed { .. } if !is_scenario => return choice,
        Load::Closed { .. } => "would cut the flows of a scenario off, or the visits of those who keep cookies",
        Load::Open { .. } => "would cut an open load into pieces, each with a queue that is still short",
        Load::Ramped { .. } => "would cut a load that changes into pieces",
    };
    mistakes.add("--order turns", problem, "use --order windows, or a closed load: --load closed:16");
    OrderChoice::Always(BlockOrder::Windows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_for_clients_that_wait_for_their_answers() {
        let (windows, turns) = (OrderChoice::Always(BlockOrder::Windows), OrderChoice::Always(BlockOrder::Turns));
        for (typed, load, is_scenario, expected, problem) in [
            (None, "closed:16", false, windows, None),
            (None, "open:50", false, windows, None),
            (Some("windows"), "open:50", true, windows, None),
            (Some("turns"), "closed:16", false, turns, None),
            (Some("turns"), "closed:16", true, windows, Some("cut the flows")),
            (Some("turns"), "open:50", false, windows, Some("an open load")),
            (Some("turns"), "closed:1..8/10s", false, windows, Some("a load that changes")),
            (Some("turn"), "closed:16", false, windows, Some("is not windows, turns or auto")),
            (Some("auto"), "closed:16", false, OrderChoice::Auto, None),
            (Some("auto"), "open:50", false, OrderChoice::Auto, None),
        ] {
            let mut mistakes = Gathered::default();
            let read = read_order(typed, windows, &mut mistakes);
            let order = settle_order(read, &load.parse().unwrap(), is_scenario, &mut mistakes);
            assert_eq!(order, expected, "{typed:?} {load}");
            match (problem, mistakes.finish(Ok(()))) {
                (None, told) => told.unwrap(),
                (Some(problem), told) => assert!(told.unwrap_err().to_string().contains(problem), "{typed:?} {load}"),
            }
        }
        let by_default = read_order(None, OrderChoice::Auto, &mut Gathered::default());
        assert_eq!(by_default, OrderChoice::Auto);
    }
}
