//! The path of the request that PHP serves.
//!
//! PHP keeps what its server interface calls the request's URI. Behind a front controller that is the path of the script with
//! FastCGI, in Apache and in FrankenPHP; what the client sent is in `$_SERVER` then, as applications read it.

use std::sync::Arc;

use crate::memory::{MemoryPart, RemoteMemory, half_at, is_address, word_at};
use crate::offsets::{
    ARRAY_BUCKETS, ARRAY_MASK, ARRAY_SIZE, BUCKET_HASH, BUCKET_KEY, BUCKET_SIZE, BUCKET_TYPE, STRING_LENGTH,
    STRING_TEXT, SYMBOL_TABLE, VALUE_ARRAY, VALUE_REFERENCE, VALUE_STRING,
};
use crate::text::shown;

/// `sapi_globals_struct.request_info.request_uri`, a C string
const REQUEST_URI: usize = 48;
/// As much of `sapi_globals_struct` as holds it.
pub(crate) const SAPI_SIZE: usize = 56;

/// Paths are cut after so much.
const LONGEST_PATH: usize = 256;
/// What may not be mapped is not read across the bounds of pages.
const PAGE: u64 = 4096;
/// Keys that are looked through in one place of an array.
const MOST_BUCKETS: usize = 16;

/// The path without its query, told the beginning of `sapi_globals_struct` and the address of `zend_executor_globals`.
pub(crate) fn path(memory: &dyn RemoteMemory, sapi: &[u8], executor: u64) -> Option<Arc<str>> {
    let uri = c_string(memory, word_at(sapi, REQUEST_URI))?;
    let sent = uri.ends_with(b".php").then(|| sent_by_client(memory, executor)).flatten();
    let uri = sent.unwrap_or(uri);
    (uri.first() == Some(&b'/')).then(|| shown(&uri).into())
}

/// `$_SERVER['REQUEST_URI']`
fn sent_by_client(memory: &dyn RemoteMemory, executor: u64) -> Option<Vec<u8>> {
    let (kind, mut server) = element(memory, executor + SYMBOL_TABLE, b"_SERVER")?;
    if kind == VALUE_REFERENCE {
        // `zend_reference.val`
        server = memory.word(server + 8)?;
    }
    let (kind, uri) = element(memory, server, b"REQUEST_URI")?;
    let length = memory.word(uri + STRING_LENGTH).filter(|_| kind == VALUE_STRING)?;
    let mut text = vec![0; (length as usize).min(LONGEST_PATH)];
    memory.read(uri + STRING_TEXT, &mut text).then(|| before_query(&text).to_vec())
}

/// The type of an element of an array and what it points to.
fn element(memory: &dyn RemoteMemory, array: u64, key: &[u8]) -> Option<(u8, u64)> {
    let mut head = [0; ARRAY_SIZE];
    if !is_address(array) || !memory.read(array, &mut head) {
        return None;
    }
    let (mask, buckets) = (half_at(&head, ARRAY_MASK), word_at(&head, ARRAY_BUCKETS));
    let hash = hash(key);
    // The places of hashes are before the buckets: 4 bytes each, at indices below 0.
    let place = i64::from((hash as u32 | mask).cast_signed()) * 4;
    let mut index = [0; 4];
    let is_read = is_address(buckets) && memory.read(buckets.checked_add_signed(place)?, &mut index);
    let mut index = is_read.then(|| u32::from_le_bytes(index))?;
    for _ in 0..MOST_BUCKETS {
        let (mut bucket, mut name) = ([0; BUCKET_SIZE], vec![0; key.len()]);
        // HT_INVALID_IDX
        if index == u32::MAX || !memory.read(buckets + u64::from(index) * BUCKET_SIZE as u64, &mut bucket) {
            return None;
        }
        let is_it = word_at(&bucket, BUCKET_HASH) == hash
            && memory.read(word_at(&bucket, BUCKET_KEY) + STRING_TEXT, &mut name)
            && name == key;
        if is_it {
            return Some((bucket[BUCKET_TYPE], word_at(&bucket, 0)))
                .filter(|(kind, at)| is_address(*at) && [VALUE_STRING, VALUE_ARRAY, VALUE_REFERENCE].contains(kind));
        }
        index = half_at(&bucket, BUCKET_TYPE + 4);
    }
    None
}

/// `zend_hash_func` (D. J. Bernstein's, times 33), of which the highest bit is always set.
fn hash(key: &[u8]) -> u64 {
    key.iter().fold(5381_u64, |hash, byte| hash.wrapping_mul(33).wrapping_add(u64::from(*byte))) | 1 << 63
}

fn c_string(memory: &dyn RemoteMemory, address: u64) -> Option<Vec<u8>> {
    if address < PAGE {
        return None;
    }
    let mut bytes = vec![0; LONGEST_PATH];
    let first = ((PAGE - address % PAGE) as usize).min(LONGEST_PATH);
    let (head, tail) = bytes.split_at_mut(first);
    let mut parts = vec![MemoryPart { address, bytes: head }];
    if !tail.is_empty() {
        parts.push(MemoryPart { address: address + first as u64, bytes: tail });
    }
    let length = match memory.read_parts(&mut parts) {
        0 => return None,
        1 => first,
        _ => LONGEST_PATH,
    };
    bytes.truncate(length);
    Some(before_query(bytes.split(|byte| *byte == 0).next()?).to_vec())
}

fn before_query(uri: &[u8]) -> &[u8] {
    uri.split(|byte| *byte == b'?').next().unwrap_or_default()
}
