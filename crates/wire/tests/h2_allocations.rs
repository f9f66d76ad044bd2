//! A session that has seen requests and answers of a kind takes no more memory for the next ones.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;

use stampede_core::Request;
use stampede_wire::h2::{RequestHead, Session, StreamFault, StreamVisitor};
use stampede_wire::response::Head;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

fn count() {
    ALLOCATIONS.with(|allocations| allocations.set(allocations.get() + 1));
}

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[derive(Default)]
struct Ended(u32);

impl StreamVisitor for Ended {
    fn head(&mut self, _: u32, head: &Head<'_>) {
        assert_eq!((head.status, head.headers().count()), (200, 2));
    }
    fn body(&mut self, _: u32, _: &[u8]) {}
    fn end(&mut self, _: u32) {
        self.0 += 1;
    }
    fn failed(&mut self, key: u32, fault: StreamFault) {
        panic!("{key}: {fault}");
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8], out: &mut Vec<u8>) {
    out.extend([0, 0, payload.len() as u8, kind, flags]);
    out.extend(stream.to_be_bytes());
    out.extend(payload);
}

#[test]
fn the_steady_state_is_free_of_allocations() {
    let mut request =
        Request { method: "POST".to_owned(), path: "/".to_owned(), headers: BTreeMap::new(), body: vec![b'x'; 100] };
    request.headers.insert("Accept".to_owned(), "*/*".to_owned());
    let mut head = RequestHead::new(&request, "http", "localhost");
    let mut out = Vec::new();
    let mut session = Session::new(&mut out);
    let mut ended = Ended::default();
    let mut input = vec![0, 0, 0, 4, 0, 0, 0, 0, 0];
    let mut before = 0;
    for round in 0..2000_u32 {
        if round == 1000 {
            before = ALLOCATIONS.get();
        }
        out.clear();
        // The window for bodies, which is used up again and again, is opened by turns.
        frame(8, 0, 0, &400_u32.to_be_bytes(), &mut input);
        for key in 0..4 {
            head.set_path(if round % 2 == 0 { "/even" } else { "/odd" });
            session.request(key, &head, &request.body, &mut out).unwrap();
            let stream = 8 * round + 2 * key + 1;
            // A field that is new each time goes into the table, and drives out another.
            let value = [b'a' + (round % 26) as u8; 60];
            let block = [&[0x88, 0x40, 1, b'd', value.len() as u8][..], &value, &[0x5f, 1, b't']].concat();
            frame(1, 4, stream, &block, &mut input);
            frame(0, 1, stream, b"body", &mut input);
        }
        out.clear();
        let made = ALLOCATIONS.get();
        for piece in input.chunks(50) {
            session.feed(piece, &mut out, &mut ended).unwrap();
        }
        let by_session = ALLOCATIONS.get() - made;
        assert!(round < 1000 || by_session == 0, "{by_session} allocations in round {round}");
        input.clear();
    }
    // What the test itself allocates for each answer is its block.
    assert_eq!((ended.0, ALLOCATIONS.get() - before), (8000, 4000));
}
