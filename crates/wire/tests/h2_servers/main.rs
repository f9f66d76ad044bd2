//! Sessions against servers that others wrote: nghttpd, nginx, and the server of the `h2` crate.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

mod client;
mod h2_crate;
mod server;

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::net::SocketAddr;
use std::time::Duration;

use stampede_core::Request;
use stampede_wire::h2::SessionError;

use client::{Answers, Client};
use server::Server;

const DEADLINE: Duration = Duration::from_secs(60);

fn request(method: &str, path: &str, body: &[u8]) -> Request {
    Request {
        method: method.to_owned(),
        path: path.to_owned(),
        headers: BTreeMap::from([
            ("X-Mark".to_owned(), "42".to_owned()),
            ("Connection".to_owned(), "close".to_owned()),
        ]),
        body: body.to_vec(),
    }
}

/// Bytes that differ from place to place.
fn noise(len: usize) -> Vec<u8> {
    (0..len as u32).map(|place| (place.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

const LARGE: usize = 5 << 20;

fn folder_with_files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("small.txt"), "small").unwrap();
    fs::write(folder.path().join("large.bin"), noise(LARGE)).unwrap();
    folder
}

/// Requests of many kinds: none disturbs another.
fn get_files(address: SocketAddr) {
    let large = noise(LARGE);
    let large_ones = vec![request("GET", "/large.bin", b""); 12];
    let small_ones = [
        request("GET", "/small.txt", b""),
        request("HEAD", "/small.txt", b""),
        request("GET", "/missing", b""),
        request("GET", "/small.txt", b""),
    ];
    let requests = [large_ones, [&small_ones[..]; 200].concat()].concat();
    let mut client = Client::connect(address);
    // From the first answer on it is known how many streams the server allows.
    client.run(&requests[12..13], 1, |_, seen| assert_eq!(seen.end, Some(Ok(()))));
    let mut count = 0;
    client.run(&requests, 24, |request, seen| {
        count += 1;
        assert_eq!(seen.end, Some(Ok(())));
        match (request.method.as_str(), request.path.as_str()) {
            ("HEAD", _) => {
                assert_eq!((seen.status, seen.body.len(), seen.header("content-length")), (200, 0, Some("5")));
            }
            (_, "/small.txt") => assert_eq!((seen.status, seen.body.as_slice()), (200, &b"small"[..])),
            (_, "/large.bin") => assert!(seen.status == 200 && seen.body == large, "{} bytes", seen.body.len()),
            _ => assert_eq!(seen.status, 404),
        }
    });
    assert_eq!(count, requests.len());
}

#[test]
fn nghttpd_serves_files() {
    let folder = folder_with_files();
    for options in [&[][..], &["--padding=100", "-m10"], &["-c0", "--encoder-header-table-size=0"]] {
        let Some(server) = Server::nghttpd(folder.path(), options) else { return };
        get_files(server.address);
    }
}

#[test]
fn nghttpd_echoes_bodies_of_any_length() {
    let folder = folder_with_files();
    // The server's windows for bodies: as usual, and of two KiB.
    for options in [&["--echo-upload"][..], &["--echo-upload", "-w11", "-W16", "--trailer", "x-sum: 1"]] {
        let Some(server) = Server::nghttpd(folder.path(), options) else { return };
        let mut client = Client::connect(server.address);
        let lengths = [1, 100, 16_384, 16_385, 65_535, 65_536, 300_000, 1 << 20];
        let requests: Vec<Request> = lengths.iter().map(|len| request("POST", "/echo", &noise(*len))).collect();
        client.run(&[&requests[..]; 4].concat(), 8, |request, seen| {
            assert_eq!((seen.status, &seen.end), (200, &Some(Ok(()))));
            assert!(seen.body == request.body, "{} of {} bytes", seen.body.len(), request.body.len());
        });
    }
}

#[test]
fn nginx_serves_files() {
    let folder = folder_with_files();
    let Some(server) = Server::nginx(folder.path(), "http2") else { return };
    get_files(server.address);
}

#[test]
fn nginx_takes_uploads_and_answers_without_a_body() {
    let folder = folder_with_files();
    let Some(server) = Server::nginx(folder.path(), "http2") else { return };
    let mut client = Client::connect(server.address);
    fs::create_dir(folder.path().join("put")).unwrap();
    let lengths = [0, 1, 65_535, 65_536, 1 << 20];
    let requests: Vec<Request> =
        lengths.iter().map(|len| request("PUT", &format!("/put/{len}"), &noise(*len))).collect();
    client.run(&requests, 3, |_, seen| assert_eq!((seen.status, seen.end), (201, Some(Ok(())))));
    for len in lengths {
        assert!(fs::read(folder.path().join(format!("put/{len}"))).unwrap() == noise(len), "{len}");
    }
    let large = noise(1 << 20);
    let others = [request("GET", "/empty", b""), request("POST", "/early", &large), request("POST", "/empty", b"x")];
    client.run(&[&others[..]; 5].concat(), 3, |request, seen| {
        let status = if request.path == "/empty" { 204 } else { 403 };
        assert_eq!((seen.status, seen.end), (status, Some(Ok(()))), "{} {}", request.method, request.path);
    });

    let date = fs::metadata(folder.path().join("small.txt")).map(|_| "Fri, 31 Dec 2100 00:00:00 GMT").unwrap();
    let mut conditional = request("GET", "/small.txt", b"");
    conditional.headers.insert("If-Modified-Since".to_owned(), date.to_owned());
    client.run(&[conditional], 1, |_, seen| {
        // nginx compares for equality by default, so this is the whole file.
        assert_eq!((seen.status, seen.body.len()), (200, 5));
        let mut again = request("GET", "/small.txt", b"");
        again.headers.insert("If-None-Match".to_owned(), seen.header("etag").unwrap().to_owned());
        Client::connect(server.address).run(&[again], 1, |_, seen| {
            assert_eq!((seen.status, seen.body.len(), seen.end), (304, 0, Some(Ok(()))));
        });
    });
}

#[test]
fn a_server_of_http1_is_found_out() {
    let folder = folder_with_files();
    let Some(server) = Server::nginx(folder.path(), "") else { return };
    let mut client = Client::connect(server.address);
    client.flush(&mut Answers::default());
    let mut answer = vec![0; 4096];
    let count = client.socket.read(&mut answer).unwrap();
    let fed = client.session.feed(&answer[..count], &mut client.out, &mut Answers::default());
    assert_eq!(fed, Err(SessionError::Preface));
}
