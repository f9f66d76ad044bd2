//! A stream that holds back what goes one way.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, copy, split};
use tokio::time::{Instant, sleep_until};

/// Holds back what the asking side sends.
pub(crate) struct HoldBack(Arc<Mutex<Instant>>);

impl HoldBack {
    pub(crate) fn between(asking: DuplexStream, serving: DuplexStream) -> Self {
        let until = Arc::new(Mutex::new(Instant::now()));
        let ((mut asked, mut told), (mut telling, mut asks)) = (split(asking), split(serving));
        let held = Arc::clone(&until);
        tokio::spawn(async move {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(count) = asked.read(&mut buffer).await
                && count > 0
            {
                let until = *held.lock().unwrap();
                sleep_until(until).await;
                if asks.write_all(&buffer[..count]).await.is_err() {
                    return;
                }
            }
        });
        tokio::spawn(async move { copy(&mut telling, &mut told).await });
        Self(until)
    }

    pub(crate) fn for_a_while(&self, time: Duration) {
        *self.0.lock().unwrap() = Instant::now() + time;
    }
}
