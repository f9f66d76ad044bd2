//! What serves an application: one file and one template folder a runtime.
//!
//! Everything here is pure. A runtime turns an application, limits, load and settings into a [`stampede_core::Deployment`]
//! with symbolic places; it starts nothing, picks no port and reads no file. Nothing here knows where or how the
//! deployment runs.

mod apache_mod_php;
mod catalogue;
mod fpm_pool;
mod front_controller;
mod go;
mod label;
mod lookup;
mod nginx_fpm;
mod php_build;
mod php_cli_server;
mod php_ini;
mod pool;
mod template;

pub use catalogue::{all, by_id};
