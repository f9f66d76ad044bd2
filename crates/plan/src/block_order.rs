//! How the cases of a round are measured: one after the other, or in turns.

use stampede_core::{BlockOrder, Load};

use crate::mistake::Gathered;

/// `--order`: `windows`, the default, or `turns`.
pub(crate) fn read_order(typed: Option<&str>, mistakes: &mut Gathered) -> BlockOrder {
    let Some(typed) = typed else { return BlockOrder::default() };
    let known = BlockOrder::ALL.iter().find(|(name, _)| *name == typed);
    known.map(|(_, order)| *order).unwrap_or_else(|| {
        mistakes.add(format!("--order {typed}"), "is not windows or turns", "for example --order turns");
        BlockOrder::default()
    })
}

/// Turns are for loads that are the same whenever they begin: clients that wait for their answers.
pub(crate) fn settle_order(order: BlockOrder, load: &Load, is_scenario: bool, mistakes: &mut Gathered) -> BlockOrder {
    if order == BlockOrder::Windows {
        return order;
    }
    let problem = match load {
        Load::Closed { .. } if !is_scenario => return order,
        Load::Closed { .. } => "would cut the flows of a scenario off",
        Load::Open { .. } => "would cut an open load into pieces, each with a queue that is still short",
        Load::Ramped { .. } => "would cut a load that changes into pieces",
    };
    mistakes.add("--order turns", problem, "use --order windows, or a closed load: --load closed:16");
    BlockOrder::Windows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_for_clients_that_wait_for_their_answers() {
        for (typed, load, is_scenario, expected, problem) in [
            (None, "closed:16", false, BlockOrder::Windows, None),
            (None, "open:50", false, BlockOrder::Windows, None),
            (Some("windows"), "open:50", true, BlockOrder::Windows, None),
            (Some("turns"), "closed:16", false, BlockOrder::Turns, None),
            (Some("turns"), "closed:16", true, BlockOrder::Windows, Some("cut the flows")),
            (Some("turns"), "open:50", false, BlockOrder::Windows, Some("an open load")),
            (Some("turns"), "closed:1..8/10s", false, BlockOrder::Windows, Some("a load that changes")),
            (Some("turn"), "closed:16", false, BlockOrder::Windows, Some("is not windows or turns")),
        ] {
            let mut mistakes = Gathered::default();
            let read = read_order(typed, &mut mistakes);
            let order = settle_order(read, &load.parse().unwrap(), is_scenario, &mut mistakes);
            assert_eq!(order, expected, "{typed:?} {load}");
            match (problem, mistakes.finish(Ok(()))) {
                (None, told) => told.unwrap(),
                (Some(problem), told) => assert!(told.unwrap_err().to_string().contains(problem), "{typed:?} {load}"),
            }
        }
    }
}
