//! Statuses of HTTP, named by number and meaning.

/// Each status with its meaning: RFC 9110, section 15; RFC 6585; 419 is what Laravel sends for a page that expired.
const MEANINGS: [(u16, &str); 48] = [
    (100, "Continue"),
    (101, "Switching Protocols"),
    (103, "Early Hints"),
    (200, "OK"),
    (201, "Created"),
    (202, "Accepted"),
    (203, "Non-Authoritative Information"),
    (204, "No Content"),
    (205, "Reset Content"),
    (206, "Partial Content"),
    (300, "Multiple Choices"),
    (301, "Moved Permanently"),
    (302, "Found"),
    (303, "See Other"),
    (304, "Not Modified"),
    (307, "Temporary Redirect"),
    (308, "Permanent Redirect"),
    (400, "Bad Request"),
    (401, "Unauthorized"),
    (402, "Payment Required"),
    (403, "Forbidden"),
    (404, "Not Found"),
    (405, "Method Not Allowed"),
    (406, "Not Acceptable"),
    (407, "Proxy Authentication Required"),
    (408, "Request Timeout"),
    (409, "Conflict"),
    (410, "Gone"),
    (411, "Length Required"),
    (412, "Precondition Failed"),
    (413, "Content Too Large"),
    (414, "URI Too Long"),
    (415, "Unsupported Media Type"),
    (416, "Range Not Satisfiable"),
    (417, "Expectation Failed"),
    (419, "Page Expired"),
    (421, "Misdirected Request"),
    (422, "Unprocessable Content"),
    (426, "Upgrade Required"),
    (428, "Precondition Required"),
    (429, "Too Many Requests"),
    (431, "Request Header Fields Too Large"),
    (451, "Unavailable For Legal Reasons"),
    (500, "Internal Server Error"),
    (501, "Not Implemented"),
    (502, "Bad Gateway"),
    (503, "Service Unavailable"),
    (504, "Gateway Timeout"),
];

/// A status by number and meaning, `429 Too Many Requests`; by its number alone where it has no meaning.
pub fn named_status(status: u16) -> String {
    match MEANINGS.iter().find(|(number, _)| *number == status) {
        Some((_, meaning)) => format!("{status} {meaning}"),
        None => status.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_named_by_number_and_meaning() {
        for (status, name) in
            [(200, "200 OK"), (429, "429 Too Many Requests"), (503, "503 Service Unavailable"), (299, "299")]
        {
            assert_eq!(named_status(status), name);
        }
        assert!(MEANINGS.is_sorted());
    }
}
