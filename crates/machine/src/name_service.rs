//! Names of hosts, in a program that holds its C library itself.

/// Has names of hosts come from `/etc/hosts` and DNS alone. What else `/etc/nsswitch.conf` names is a library of the machine, for the C
/// library of the machine: a static program that loads it may crash.
#[cfg(all(target_env = "gnu", target_feature = "crt-static"))]
pub fn keep_to_files_and_dns() {
    use std::ffi::{c_char, c_int};

    unsafe extern "C" {
        /// Public in glibc since 2.0, without a header.
        fn __nss_configure_lookup(database: *const c_char, services: *const c_char) -> c_int;
    }

    // SAFETY: both are texts that end with NUL and are only read; no other thread runs yet that could look up a name.
    unsafe { __nss_configure_lookup(c"hosts".as_ptr(), c"files dns".as_ptr()) };
}

/// Leaves names to the C library of the machine.
#[cfg(not(all(target_env = "gnu", target_feature = "crt-static")))]
pub fn keep_to_files_and_dns() {}
