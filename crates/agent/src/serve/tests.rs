//! Whoever asks does not listen.

use std::time::Duration;

use stampede_seam::LoadOrder;
use stampede_testkit::{Behaviour, CountingServer, samples};
use stampede_vantage::Here;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
use tokio::time::sleep;

use super::*;
use crate::message_reader::MessageReader;
use crate::outbox::Outbox;
use crate::preamble::Preamble;

fn order(server: &CountingServer) -> LoadOrder {
    let mut order = samples::load_order(server.endpoint(), "open:200".parse().unwrap());
    order.spec.duration = Duration::from_secs(2);
    order
}

/// Frames of requests with these numbers.
fn frames(requests: &[(u64, AgentRequest)]) -> Vec<u8> {
    let mut outbox = Outbox::default();
    for (number, request) in requests {
        outbox.push(encode(*number, request).unwrap());
    }
    std::iter::from_fn(|| outbox.next_frame()).flatten().collect()
}

#[tokio::test]
async fn a_load_does_not_wait_for_a_stream_that_nobody_reads_and_its_result_is_whole() {
    let server = CountingServer::start(Behaviour::default()).unwrap();
    // What is said fits into the one, and no view of a load into the other.
    let (mut asking, input) = duplex(1 << 20);
    let (output, mut listening) = duplex(100);
    let served = tokio::spawn(serve(Here::new(), AgentHost::default(), input, output, Duration::from_secs(60)));
    asking.write_all(&Preamble::ours().to_bytes(Side::Client)).await.unwrap();
    // Each ping is answered, and nobody reads it.
    let pings: Vec<_> = (10..100).map(|number| (number, AgentRequest::Ping)).collect();
    asking.write_all(&frames(&[(1, AgentRequest::Load(Box::new(order(&server))))])).await.unwrap();
    asking.write_all(&frames(&pings)).await.unwrap();
    while server.requests() < 400 {
        sleep(Duration::from_millis(5)).await;
    }
    asking.write_all(&frames(&[(1, AgentRequest::FinishLoad)])).await.unwrap();
    let mut reader = MessageReader::new(Side::Agent, Preamble::ours());
    let (mut buffer, mut pongs, mut seconds) = ([0; 1000], 0, Vec::new());
    let result = loop {
        let count = listening.read(&mut buffer).await.unwrap();
        reader.feed(&buffer[..count]).unwrap();
        let mut finished = None;
        while let Some(message) = reader.next_message() {
            match decode(&message).unwrap() {
                (_, AgentReply::Pong { .. }) => pongs += 1,
                (1, AgentReply::Started(started)) => drop(started.unwrap()),
                (1, AgentReply::Seen(view)) => seconds.extend(view.slices),
                (1, AgentReply::Finished(outcome)) => finished = Some(outcome.unwrap().result),
                other => panic!("{other:?}"),
            }
        }
        if let Some(result) = finished {
            break result;
        }
    };
    assert_eq!((result.total.requests.ok, server.requests(), pongs), (400, 400, 90));
    seconds.extend(result.slices);
    // Each second once; the last answer may come after the window.
    assert!(seconds.iter().map(|slice| slice.second).eq(0..seconds.len() as u64) && seconds.len() >= 2, "{seconds:?}");
    assert_eq!(seconds.iter().map(|slice| slice.response.count()).sum::<u64>(), 400);
    drop(asking);
    assert_eq!(served.await.unwrap(), Ok(()));
}
