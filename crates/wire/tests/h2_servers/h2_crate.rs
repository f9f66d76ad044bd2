//! The server of the `h2` crate: what other servers do but rarely.

use std::future::Future;
use std::net::SocketAddr;
use std::thread;

use bytes::Bytes;
use h2::RecvStream;
use h2::server::{Builder, SendResponse};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use stampede_core::Request;
use stampede_wire::h2::{ErrorCode, StreamFault};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::client::{Answers, Client, Seen};
use crate::{noise, request};

type Incoming = http::Request<RecvStream>;

/// Serves one connection and returns its address; each request is handled at the same time as the others.
fn serve<F>(builder: Builder, handle: impl Fn(Incoming, SendResponse<Bytes>) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    listener.set_nonblocking(true).unwrap();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let (socket, _) = TcpListener::from_std(listener).unwrap().accept().await.unwrap();
            let mut connection = builder.handshake(socket).await.unwrap();
            // Ends when the client closes.
            while let Some(Ok((request, respond))) = connection.accept().await {
                tokio::spawn(handle(request, respond));
            }
        });
    });
    address
}

/// Sends back the body, as windows allow, and its length in a trailer.
async fn echo(request: Incoming, mut respond: SendResponse<Bytes>) {
    let mark = request.headers().get("x-mark").cloned();
    let length = request.headers().get("content-length").cloned();
    let mut body = request.into_body();
    let mut response = Response::new(());
    for name in ["x-first", "x-second"] {
        response.headers_mut().append(name, HeaderValue::from_static("a value that is repeated in each answer"));
    }
    response.headers_mut().append("x-mark", mark.unwrap());
    let mut stream = respond.send_response(response, false).unwrap();
    let mut received = 0;
    while let Some(Ok(piece)) = body.data().await {
        received += piece.len();
        body.flow_control().release_capacity(piece.len()).unwrap();
        stream.send_data(piece, false).unwrap();
    }
    let mut trailers = HeaderMap::new();
    trailers.insert("x-length", received.to_string().parse().unwrap());
    stream.send_trailers(trailers).unwrap();
    assert_eq!(length.map_or(0, |length| length.to_str().unwrap().parse().unwrap()), received);
}

fn echoes(builder: Builder, lengths: &[usize]) {
    let address = serve(builder, echo);
    let requests: Vec<Request> = lengths.iter().map(|len| request("POST", "/", &noise(*len))).collect();
    let mut client = Client::connect(address);
    // From the first answer on it is known how many streams the server allows.
    client.run(&requests[..1], 1, |_, seen| assert_eq!(seen.end, Some(Ok(()))));
    client.run(&[&requests[..]; 8].concat(), 10, |request, seen| {
        assert_eq!((seen.status, &seen.end, seen.header("x-mark")), (200, &Some(Ok(())), Some("42")));
        assert!(seen.body == request.body, "{} of {} bytes", seen.body.len(), request.body.len());
    });
}

#[test]
fn bodies_cross_small_and_large_windows() {
    let mut small = h2::server::Builder::new();
    small.initial_window_size(10).initial_connection_window_size(65_535).max_concurrent_streams(3);
    echoes(small, &[0, 1, 9, 10, 11, 1000]);
    let mut large = h2::server::Builder::new();
    large.initial_window_size(1 << 20).initial_connection_window_size(1 << 22).max_frame_size(1 << 20);
    echoes(large, &[0, 20_000, 100_000, 1 << 20, 3 << 20]);
}

#[test]
fn tables_of_any_size_are_kept_to() {
    for size in [0, 60, 200, 4096, 1 << 16] {
        let mut builder = h2::server::Builder::new();
        builder.header_table_size(size);
        let address = serve(builder, echo);
        let requests: Vec<Request> = (0..100)
            .map(|number| {
                let mut request = request("POST", &format!("/{}", number % 7), b"x");
                request.headers.insert(format!("X-{}", number % 11), "y".repeat(number));
                request
            })
            .collect();
        Client::connect(address).run(&requests, 10, |_, seen| assert_eq!(seen.end, Some(Ok(())), "{size}"));
    }
}

#[test]
fn heads_of_many_frames_cross_in_both_directions() {
    let mut builder = h2::server::Builder::new();
    builder.max_header_list_size(1 << 20);
    let address = serve(builder, |request, mut respond| async move {
        let mut response = Response::new(());
        *response.headers_mut() = request.headers().clone();
        respond.send_response(response, true).unwrap();
    });
    let mut large = request("GET", "/", b"");
    large.headers.extend((0..50).map(|number| (format!("x-{number}"), "x".repeat(1000))));
    Client::connect(address).run(&[large.clone(), large], 2, |request, seen| {
        assert_eq!((seen.status, &seen.end), (200, &Some(Ok(()))));
        assert_eq!(seen.header("x-7"), request.headers.get("x-7").map(String::as_str));
    });
}

#[test]
fn streams_that_the_server_resets_fail_alone() {
    let address = serve(h2::server::Builder::new(), |request, mut respond| async move {
        match request.uri().path() {
            "/refused" => respond.send_reset(h2::Reason::REFUSED_STREAM),
            "/broken" => {
                let mut stream = respond.send_response(Response::new(()), false).unwrap();
                stream.send_data(Bytes::from_static(b"some"), false).unwrap();
                // The data goes out before the reset does.
                tokio::task::yield_now().await;
                stream.send_reset(h2::Reason::INTERNAL_ERROR);
            }
            _ => {
                let status = StatusCode::from_u16(299).unwrap();
                respond.send_response(Response::builder().status(status).body(()).unwrap(), true).unwrap();
            }
        }
    });
    let requests = ["/", "/refused", "/broken"].map(|path| request("GET", path, b""));
    Client::connect(address).run(&[&requests[..]; 20].concat(), 6, |request, seen| {
        let Seen { status, end, .. } = seen;
        match request.path.as_str() {
            "/refused" => assert_eq!((status, end), (0, Some(Err(StreamFault::NotProcessed)))),
            "/broken" => assert_eq!(end, Some(Err(StreamFault::Reset(ErrorCode(2))))),
            _ => assert_eq!((status, end), (299, Some(Ok(())))),
        }
    });
}

#[test]
fn a_server_that_shuts_down_answers_what_it_has_taken() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    listener.set_nonblocking(true).unwrap();
    let (go_on, told) = oneshot::channel::<()>();
    let server = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let (socket, _) = TcpListener::from_std(listener).unwrap().accept().await.unwrap();
            let mut connection = h2::server::handshake(socket).await.unwrap();
            let (_request, mut respond) = connection.accept().await.unwrap().unwrap();
            connection.graceful_shutdown();
            tokio::spawn(async move {
                told.await.unwrap();
                respond.send_response(Response::new(()), true).unwrap();
            });
            assert!(connection.accept().await.is_none());
        });
    });
    let mut client = Client::connect(address);
    let mut answers = Answers { seen: vec![Seen::default()], ended: Vec::new() };
    client.start(0, &request("GET", "/", b""));
    client.flush(&mut answers);
    client.read_until(&mut answers, |session, _| session.going_away().is_some());
    assert!(!client.session.can_start());
    go_on.send(()).unwrap();
    client.read_until(&mut answers, |session, _| session.in_flight() == 0);
    assert_eq!((answers.seen[0].status, &answers.seen[0].end), (200, &Some(Ok(()))));
    assert_eq!(client.session.going_away().unwrap().code, ErrorCode(0));
    drop(client);
    server.join().unwrap();
}
