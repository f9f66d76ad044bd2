//! What is shown of samples that are made up.

use std::sync::Arc;
use std::time::Duration;

use crate::{
    PhpFrame, PhpFunction, PhpStack, PhpWait, StackProfile, StackSample, ThreadState, TimeSpent, WaitTarget, folded,
    recorded,
};

fn function(class: Option<&str>, name: Option<&str>, file: Option<&str>, first_line: u32) -> PhpFrame {
    let [class, name, file] = [class, name, file].map(|text| text.map(Into::into));
    PhpFrame { function: Arc::new(PhpFunction { class, name, file, first_line }), line: None }
}

fn wait(call: &str, target: Option<WaitTarget>) -> ThreadState {
    ThreadState::Waiting(Arc::new(PhpWait { call: Some(call.into()), kernel: Some("unused".into()), target }))
}

/// A worker that serves `/users` and `/hello`, and runs no PHP between.
fn profile() -> StackProfile {
    let index = function(None, None, Some("/srv/app/public/index.php"), 1);
    let handle =
        function(Some("Illuminate\\Foundation\\Http\\Kernel"), Some("sendRequestThroughRouter"), Some("/k.php"), 9);
    let query = function(Some("PDOStatement"), Some("execute"), None, 0);
    let lock = function(None, Some("session_start"), None, 0);
    let recursive = function(None, Some("deep"), Some("/d.php"), 3);
    let stack = |frames: &[&PhpFrame]| frames.iter().rev().map(|frame| (*frame).clone()).collect::<Vec<_>>();
    let database = wait("poll", Some(WaitTarget::Peer("127.0.0.1:5432".into())));
    let session = wait("flock", Some(WaitTarget::File("/var/lib/php/sessions/sess_0123456789abcdef".into())));
    let accept = wait("accept", Some(WaitTarget::Listener("/run/php-fpm.sock".into())));
    let rows = [
        (40, stack(&[&index, &handle]), ThreadState::Running, Some("/users")),
        (20, stack(&[&index, &handle, &query]), ThreadState::Running, Some("/users")),
        (30, stack(&[&index, &recursive, &recursive]), ThreadState::Running, Some("/hello")),
        (10, vec![], ThreadState::Running, None),
        (5, stack(&[&index, &handle]), ThreadState::Ready, Some("/users")),
        (60, stack(&[&index, &handle, &query]), database, Some("/users")),
        (20, stack(&[&index, &lock]), session, Some("/hello")),
        (120, vec![], accept, None),
    ];
    let mut profile = StackProfile::default();
    for (count, frames, state, request) in rows {
        let stack = Arc::new(PhpStack { frames, is_cut: false });
        let (pid, tid, instant) = (7, 7, Duration::ZERO);
        let sample = StackSample { pid, tid, instant, state, stack, request: request.map(Into::into) };
        (0..count).for_each(|_| profile.add(&sample));
    }
    profile.weigh(TimeSpent {
        running: Duration::from_secs(1),
        ready: Duration::from_millis(500),
        waiting: Duration::from_secs(2),
    });
    profile
}

#[test]
fn folded_stacks_weigh_what_the_scheduler_counted() {
    insta::assert_snapshot!(folded(&recorded(&profile(), None, &[])));
}
