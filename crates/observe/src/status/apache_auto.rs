//! The page of Apache's `mod_status` with `?auto`, of which the scoreboard is read: a letter for each worker.
//! <https://httpd.apache.org/docs/2.4/mod/mod_status.html>

use stampede_core::Gauge;

pub(super) fn decode(text: &str) -> Vec<(Gauge, u64)> {
    let Some(board) = text.lines().find_map(|line| line.strip_prefix("Scoreboard: ")) else {
        return Vec::new();
    };
    let (mut busy, mut idle, mut kept) = (0u64, 0, 0);
    for worker in board.chars() {
        match worker {
            '_' => idle += 1,
            // Bound to a connection, between two requests: no other can have it.
            'K' => kept += 1,
            // An open slot, a worker that starts, one that is being cleaned up.
            '.' | 'S' | 'I' => {}
            _ => busy += 1,
        }
    }
    // The worker that answers would wait for a request otherwise.
    if busy > 0 {
        busy -= 1;
        idle += 1;
    }
    vec![
        (Gauge::BusyWorkers, busy),
        (Gauge::IdleWorkers, idle),
        (Gauge::KeptWorkers, kept),
        (Gauge::TotalWorkers, busy + idle + kept),
    ]
}
