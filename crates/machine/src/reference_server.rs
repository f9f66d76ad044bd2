//! The reference server: serves what studies measure to see how the machine drifts.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use stampede_conduct::reference_server::{body, table};

/// Serves on an address until this process is ended.
///
/// # Errors
///
/// When the address cannot be had, or connections cannot be taken any more.
pub fn serve(address: &str) -> io::Result<()> {
    let table: Arc<[u64]> = table().into();
    for connection in TcpListener::bind(address)?.incoming() {
        let (connection, table) = (connection?, Arc::clone(&table));
        thread::spawn(move || answer(&connection, &table));
    }
    Ok(())
}

/// Answers every request of a connection until it is closed. None has a body.
fn answer(connection: &TcpStream, table: &[u64]) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let (mut requests, mut answers) = (BufReader::new(connection), connection);
    let mut line = String::new();
    loop {
        line.clear();
        if requests.read_line(&mut line)? == 0 {
            return Ok(());
        }
        if line == "\r\n" {
            let body = body(table);
            let length = body.len();
            let answer =
                format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\r\n{body}");
            answers.write_all(answer.as_bytes())?;
        }
    }
}
