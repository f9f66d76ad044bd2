//! `stampede __yard-stick`: serves what studies measure to see how the machine drifts.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use stampede_conduct::reference_server::{COMMAND, body, table};

/// Serves until it is ended.
pub(crate) fn serve(address: &str) -> ExitCode {
    let table: Arc<[u64]> = table().into();
    let accept = || -> io::Result<()> {
        for connection in TcpListener::bind(address)?.incoming() {
            let (connection, table) = (connection?, Arc::clone(&table));
            thread::spawn(move || answer(&connection, &table));
        }
        Ok(())
    };
    match accept() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{COMMAND} {address}: {error}");
            ExitCode::FAILURE
        }
    }
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
