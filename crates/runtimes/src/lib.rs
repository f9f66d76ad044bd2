//! What serves an application: one file and one template folder a runtime.
//!
//! Everything here is pure. A runtime turns an application, limits, load and settings into a [`stampede_core::Deployment`]
//! with symbolic places; it starts nothing, picks no port and reads no file. Nothing here knows where or how the
//! deployment runs.

mod apache;
mod apache_fpm;
mod apache_mod_php;
mod bridge;
mod caddy_fpm;
mod caddy_php;
mod catalogue;
mod custom;
mod fpm;
mod fpm_pool;
mod framework;
mod frankenphp;
mod frankenphp_binary;
mod front;
mod front_controller;
mod functions_framework_go;
mod functions_framework_php;
mod go;
mod label;
mod lookup;
mod nginx_fpm;
mod php_build;
mod php_cli_server;
mod php_ini;
mod php_probe;
mod pool;
mod roadrunner;
mod status;
mod swoole;
mod template;
mod uwsgi_php;
mod webman;
mod workerman;

pub use catalogue::{all, by_id};
