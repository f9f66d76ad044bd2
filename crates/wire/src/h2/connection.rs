//! What frames do to streams, windows and tables (RFC 9113, sections 5 and 6).

use super::fault::{ErrorCode, Refused, SessionError, StreamFault};
use super::field::Fields;
use super::frame::{self, HEAD_LEN, LARGEST_31, flag, kind};
use super::frame_reader::{Data, DataSize, Event};
use super::hpack::{Decoder, Encoder};
use super::request_head::RequestHead;
use super::settings::{self, CONNECTION_WINDOW, DEFAULT_WINDOW, PeerSettings, STREAM_WINDOW};
use super::stream::{ReadProgress, Slot, Stream, Streams, Unsent};
use super::stream_visitor::{GoAway, StreamVisitor};
use super::window::{ReceiveWindow, SendWindow};
use crate::response::Head;

/// What a client says first (section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How many bytes of answers to PING and SETTINGS may wait to be sent. A server that reads never has so many wait.
const REPLY_LIMIT: usize = 256 << 10;

#[derive(Debug)]
pub(super) struct Connection {
    decoder: Decoder,
    encoder: Encoder,
    /// The present header block.
    fields: Fields,
    streams: Streams,
    pub(super) next_id: u32,
    /// The highest stream that we have reset or need not care for: frames that the server sent before it knew may come
    /// late. Remembering one number forgives a little more than remembering every stream, and never grows.
    late_up_to: u32,
    peer: PeerSettings,
    /// Whether the server's first SETTINGS were there.
    peer_is_known: bool,
    send_window: SendWindow,
    receive_window: ReceiveWindow,
    going_away: Option<GoAway>,
    /// How often it was seen that everything had been sent.
    flushes: u64,
    /// Bytes of answers to PING and SETTINGS since then.
    replies: usize,
}

impl Connection {
    pub(super) fn new(out: &mut Vec<u8>) -> Self {
        out.extend_from_slice(PREFACE);
        settings::write(out);
        Self {
            decoder: Decoder::new(),
            encoder: Encoder::new(),
            fields: Fields::default(),
            streams: Streams::default(),
            next_id: 1,
            late_up_to: 0,
            peer: PeerSettings::new(),
            peer_is_known: false,
            send_window: SendWindow::new(DEFAULT_WINDOW),
            receive_window: ReceiveWindow::new(CONNECTION_WINDOW),
            going_away: None,
            replies: 0,
            flushes: 0,
        }
    }

    /// Whether a stream may be opened.
    pub(super) fn room(&self) -> Result<(), Refused> {
        if self.going_away.is_some() {
            Err(Refused::GoingAway)
        } else if self.next_id > LARGEST_31 {
            Err(Refused::UsedUp)
        } else if self.streams.open_count() >= self.peer.max_concurrent_streams as usize {
            Err(Refused::TooMany)
        } else {
            Ok(())
        }
    }

    pub(super) fn in_flight(&self) -> usize {
        self.streams.open_count()
    }

    pub(super) fn going_away(&self) -> Option<GoAway> {
        self.going_away
    }

    #[inline]
    pub(super) fn request(
        &mut self,
        key: u32,
        head: &RequestHead,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Refused> {
        self.room()?;
        if self.streams.is_open(key) {
            return Err(Refused::SlotInUse);
        }
        let id = self.next_id;
        self.next_id += 2;
        let start = out.len();
        out.extend_from_slice(&[0; HEAD_LEN]);
        head.encode(body.len(), &mut self.encoder, out);
        frame::finish_headers(out, start, id, body.is_empty(), self.peer.max_frame_size);
        let mut stream = Stream {
            id,
            is_head_request: head.is_head(),
            progress: ReadProgress::Waiting,
            send_window: SendWindow::new(self.peer.initial_window),
            receive_window: ReceiveWindow::new(STREAM_WINDOW),
        };
        let sent = write_body(body, &mut stream, &mut self.send_window, self.peer.max_frame_size, out);
        self.streams.open(key, stream).unsent.keep(&body[sent..]);
        Ok(())
    }

    pub(super) fn cancel(&mut self, key: u32, out: &mut Vec<u8>) {
        self.reset(key, ErrorCode::CANCEL, out);
    }

    /// The owner has sent everything so far.
    pub(super) fn flushed(&mut self) {
        self.flushes += 1;
        self.replies = 0;
    }

    #[inline]
    pub(super) fn handle(
        &mut self,
        event: Event<'_>,
        out: &mut Vec<u8>,
        visitor: &mut impl StreamVisitor,
    ) -> Result<(), SessionError> {
        match event {
            Event::Data(data) => self.data(&data, out, visitor),
            Event::Headers { stream, block, end_stream } => self.headers(stream, block, end_stream, out, visitor),
            Event::Reset { stream, code } => self.peer_reset(stream, code, visitor),
            Event::Settings(payload) => self.settings(payload, out),
            Event::Ping(payload) => self.reply(kind::PING, payload, out),
            Event::GoAway { last_stream, code } => self.goaway(GoAway { last_stream, code }, visitor),
            Event::WindowUpdate { stream, increment } => self.window_update(stream, increment, out, visitor),
            Event::Ignored => Ok(()),
        }
    }

    /// The key of a stream, none when it is closed.
    #[inline]
    fn key(&self, id: u32) -> Result<Option<u32>, SessionError> {
        match self.streams.key(id) {
            Some(key) => Ok(Some(key)),
            // Even identifiers are a server's, for pushes (section 5.1.1).
            None if id.is_multiple_of(2) || id >= self.next_id => Err(SessionError::IdleStream),
            None => Ok(None),
        }
    }

    /// The key of a stream that a part of an answer has come for; none when we have lost interest in it.
    #[inline]
    fn answering(&self, id: u32) -> Result<Option<u32>, SessionError> {
        match self.key(id)? {
            None if id > self.late_up_to => Err(SessionError::ClosedStream),
            key => Ok(key),
        }
    }

    fn headers(
        &mut self,
        id: u32,
        block: &[u8],
        end_stream: bool,
        out: &mut Vec<u8>,
        visitor: &mut impl StreamVisitor,
    ) -> Result<(), SessionError> {
        // Whatever becomes of the fields, the table must follow the server's.
        self.fields.clear();
        let fields = &mut self.fields;
        self.decoder
            .decode(block, |name, value, meaning| fields.push(name, value, meaning))
            .map_err(SessionError::Compression)?;
        let Some(key) = self.answering(id)? else {
            return Ok(());
        };
        let Some(stream) = self.streams.stream(key) else {
            return Ok(());
        };
        match take_head(stream, &self.fields, end_stream) {
            Ok(Some(status @ ..200)) => visitor.interim(key, status),
            Ok(Some(status)) => visitor.head(key, &Head::of_http2(status, &self.fields)),
            Ok(None) => {}
            Err(fault) => {
                self.fail(key, fault, out, visitor);
                return Ok(());
            }
        }
        if end_stream {
            self.end(key, out, visitor);
        }
        Ok(())
    }

    fn data(
        &mut self,
        data: &Data<'_>,
        out: &mut Vec<u8>,
        visitor: &mut impl StreamVisitor,
    ) -> Result<(), SessionError> {
        if let Some(DataSize { payload, .. }) = data.begins {
            self.receive_window.consume(payload, self.flushes).ok_or(SessionError::FlowControl)?;
            if let Some(increment) = self.receive_window.renew(self.flushes) {
                frame::write_window_update(0, increment, out);
            }
        }
        let Some(key) = self.answering(data.stream)? else {
            return Ok(());
        };
        if let (Some(size), Some(stream)) = (data.begins, self.streams.stream(key)) {
            if let Err(fault) = take_data(stream, size, self.flushes) {
                self.fail(key, fault, out, visitor);
                return Ok(());
            }
            if !data.end_stream
                && let Some(increment) = stream.receive_window.renew(self.flushes)
            {
                frame::write_window_update(data.stream, increment, out);
            }
        }
        if !data.bytes.is_empty() {
            visitor.body(key, data.bytes);
        }
        if data.end_stream {
            self.end(key, out, visitor);
        }
        Ok(())
    }

    /// The server has said that this answer is complete.
    #[inline]
    fn end(&mut self, key: u32, out: &mut Vec<u8>, visitor: &mut impl StreamVisitor) {
        let Some(Slot { stream: Some(stream), unsent }) = self.streams.slot(key) else {
            return;
        };
        if matches!(stream.progress, ReadProgress::Body { stated: Some(stated), received } if stated != received) {
            return self.fail(key, StreamFault::BodyLength, out, visitor);
        }
        if unsent.bytes().is_empty() {
            self.streams.close(key);
        } else {
            // The server has answered without the rest of the request.
            self.reset(key, ErrorCode::CANCEL, out);
        }
        visitor.end(key);
    }

    fn fail(&mut self, key: u32, fault: StreamFault, out: &mut Vec<u8>, visitor: &mut impl StreamVisitor) {
        self.reset(key, fault.code(), out);
        visitor.failed(key, fault);
    }

    fn reset(&mut self, key: u32, code: ErrorCode, out: &mut Vec<u8>) {
        if let Some(Stream { id, .. }) = self.streams.close(key) {
            frame::write_reset(id, code, out);
            self.late_up_to = self.late_up_to.max(id);
        }
    }

    fn peer_reset(&mut self, id: u32, code: ErrorCode, visitor: &mut impl StreamVisitor) -> Result<(), SessionError> {
        if let Some(key) = self.key(id)? {
            self.streams.close(key);
            visitor.failed(
                key,
                match code {
                    ErrorCode::REFUSED_STREAM => StreamFault::NotProcessed,
                    code => StreamFault::Reset(code),
                },
            );
        }
        Ok(())
    }

    fn goaway(&mut self, goaway: GoAway, visitor: &mut impl StreamVisitor) -> Result<(), SessionError> {
        if self.going_away.is_some_and(|before| goaway.last_stream > before.last_stream) {
            return Err(SessionError::GoAway);
        }
        self.going_away = Some(goaway);
        while let Some(key) = self.streams.youngest_above(goaway.last_stream) {
            if let Some(Stream { id, .. }) = self.streams.close(key) {
                self.late_up_to = self.late_up_to.max(id);
            }
            visitor.failed(key, StreamFault::NotProcessed);
        }
        Ok(())
    }

    fn settings(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), SessionError> {
        let peer = self.peer.after(payload, !self.peer_is_known)?;
        self.peer_is_known = true;
        let change = i64::from(peer.initial_window) - i64::from(self.peer.initial_window);
        let mut fits = Some(());
        self.streams.for_each(|stream, _| fits = fits.and(stream.send_window.change(change)));
        fits.ok_or(SessionError::WindowOverflow)?;
        self.encoder.allow_size(peer.header_table_size as usize);
        self.peer = peer;
        self.reply(kind::SETTINGS, &[], out)?;
        self.send_unsent(out);
        Ok(())
    }

    fn reply(&mut self, kind: u8, payload: &[u8], out: &mut Vec<u8>) -> Result<(), SessionError> {
        self.replies += HEAD_LEN + payload.len();
        if self.replies > REPLY_LIMIT {
            return Err(SessionError::Flood);
        }
        frame::write(kind, flag::ACK, 0, payload, out);
        Ok(())
    }

    fn window_update(
        &mut self,
        id: u32,
        increment: u32,
        out: &mut Vec<u8>,
        visitor: &mut impl StreamVisitor,
    ) -> Result<(), SessionError> {
        if id == 0 {
            if increment == 0 {
                return Err(SessionError::ZeroIncrement);
            }
            self.send_window.change(i64::from(increment)).ok_or(SessionError::WindowOverflow)?;
            self.send_unsent(out);
            return Ok(());
        }
        let Some(key) = self.key(id)? else {
            return Ok(());
        };
        let Some(Slot { stream: Some(stream), unsent }) = self.streams.slot(key) else {
            return Ok(());
        };
        if increment == 0 {
            self.fail(key, StreamFault::ZeroIncrement, out, visitor);
        } else if stream.send_window.change(i64::from(increment)).is_none() {
            self.fail(key, StreamFault::WindowOverflow, out, visitor);
        } else {
            send_some(unsent, stream, &mut self.send_window, self.peer.max_frame_size, out);
        }
        Ok(())
    }

    /// Sends what the windows let through now, the oldest stream first.
    fn send_unsent(&mut self, out: &mut Vec<u8>) {
        let Self { streams, send_window, peer, .. } = self;
        streams.for_each(|stream, unsent| send_some(unsent, stream, send_window, peer.max_frame_size, out));
    }
}

/// Takes a header block of an answer; gives the status of an interim or the final head.
fn take_head(stream: &mut Stream, fields: &Fields, end_stream: bool) -> Result<Option<u16>, StreamFault> {
    if let Some(fault) = fields.fault {
        return Err(fault);
    }
    match (stream.progress, fields.status) {
        (ReadProgress::Waiting, None) | (ReadProgress::Body { .. }, Some(_)) => Err(StreamFault::Status),
        // An interim answer is not the end, and trailers are (section 8.1).
        (ReadProgress::Waiting, Some(..200)) if end_stream => Err(StreamFault::Order),
        (ReadProgress::Waiting, Some(status @ ..200)) => Ok(Some(status)),
        (ReadProgress::Body { .. }, None) if !end_stream => Err(StreamFault::Order),
        (ReadProgress::Body { .. }, None) => Ok(None),
        (ReadProgress::Waiting, Some(status)) => {
            let no_body = stream.is_head_request || matches!(status, 204 | 304);
            let stated = if no_body { Some(0) } else { fields.content_length };
            stream.progress = ReadProgress::Body { stated, received: 0 };
            Ok(Some(status))
        }
    }
}

/// Takes the beginning of a DATA frame.
#[inline]
fn take_data(stream: &mut Stream, size: DataSize, flushes: u64) -> Result<(), StreamFault> {
    stream.receive_window.consume(size.payload, flushes).ok_or(StreamFault::FlowControl)?;
    let ReadProgress::Body { stated, received } = &mut stream.progress else {
        return Err(StreamFault::Order);
    };
    *received += u64::from(size.body);
    if stated.is_some_and(|stated| *received > stated) {
        return Err(StreamFault::BodyLength);
    }
    Ok(())
}

/// Appends DATA frames with as much of a request's body as both windows let through, and returns how much that is.
#[inline]
fn write_body(
    body: &[u8],
    stream: &mut Stream,
    connection_window: &mut SendWindow,
    frame_limit: usize,
    out: &mut Vec<u8>,
) -> usize {
    let sent = stream.send_window.limit(connection_window.limit(body.len()));
    let mut rest = &body[..sent];
    while !rest.is_empty() {
        let (payload, after) = rest.split_at(rest.len().min(frame_limit));
        let is_last = after.is_empty() && sent == body.len();
        frame::write(kind::DATA, if is_last { flag::END_STREAM } else { 0 }, stream.id, payload, out);
        rest = after;
    }
    stream.send_window.consume(sent);
    connection_window.consume(sent);
    sent
}

fn send_some(
    unsent: &mut Unsent,
    stream: &mut Stream,
    connection_window: &mut SendWindow,
    frame_limit: usize,
    out: &mut Vec<u8>,
) {
    let sent = write_body(unsent.bytes(), stream, connection_window, frame_limit, out);
    unsent.consume(sent);
}
