//! A server whose answers take a set amount of work, so that the true ratio of two of them is known.
//!
//! A deployment starts it with `HOST`, `PORT` and `WORK` in its environment. What a request costs beside the work (some 30 us)
//! is a hundredth of it and dilutes the known share by as much: 10 % more work are 9.9 % more time.

use std::env;
use std::hint::black_box;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use crate::exchange::ANSWER;
use crate::failure::Failure;

/// Steps of work that `WORK` counts in.
const STEPS: u64 = 1000;

/// Serves until it is ended.
pub(crate) fn serve() -> Result<(), Failure> {
    let wrong = |name: &str| Failure::Unusable(format!("burn: {name} is not set to a number or an address"));
    let variable = |name| env::var(name).map_err(|_| wrong(name));
    let (host, port, work) = (variable("HOST")?, variable("PORT")?, variable("WORK")?);
    let work: u64 = work.parse().map_err(|_| wrong("WORK"))?;
    let port: u16 = port.parse().map_err(|_| wrong("PORT"))?;
    let listener = TcpListener::bind((host.as_str(), port)).map_err(Failure::step("burn: listen"))?;
    for socket in listener.incoming() {
        let socket = socket.map_err(Failure::step("burn: listen"))?;
        // Whoever goes away in mid-request has no more to ask.
        thread::spawn(move || answer(&socket, work * STEPS));
    }
    Ok(())
}

fn answer(socket: &TcpStream, steps: u64) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let mut lines = BufReader::new(socket);
    let mut line = String::new();
    loop {
        line.clear();
        if lines.read_line(&mut line)? == 0 {
            return Ok(());
        }
        // Requests without a body end with their head.
        if line.trim_end().is_empty() {
            burn(steps);
            (&mut &*socket).write_all(ANSWER)?;
        }
    }
}

/// Each step waits for the one before it, so that none can be left out or done beside another.
fn burn(steps: u64) {
    let step = |seed: u64, _| black_box(seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    black_box((0..steps).fold(1, step));
}
