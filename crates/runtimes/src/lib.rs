//! What serves an application, one file and one template folder a runtime, and what stands around it: balancers and services.
//!
//! Everything here is pure. A runtime turns an application, limits, load and settings into a [`stampede_core::Deployment`]
//! with symbolic places; it starts nothing, picks no port and reads no file. Nothing here knows where or how the
//! deployment runs.

mod apache;
mod apache_fpm;
mod apache_mod_php;
mod balancer;
mod bridge;
mod caddy_fpm;
mod caddy_php;
mod caddy_site;
mod catalogue;
mod custom;
mod fpm;
mod fpm_pool;
mod framework;
mod frankenphp;
mod frankenphp_binary;
mod front;
mod functions_framework_go;
mod functions_framework_php;
mod go;
mod image;
mod label;
mod lookup;
mod mariadb;
mod media_types;
mod nginx_fpm;
mod octane;
mod pgbouncer;
mod php_build;
mod php_cli_server;
mod php_ini;
mod php_probe;
mod pool;
mod postgres;
mod recipe;
mod redis;
mod replica;
mod roadrunner;
mod service;
mod service_image;
mod status;
mod supervisord;
mod swoole;
mod template;
mod topology;
mod uwsgi_php;
mod web_root;
mod webman;
mod workerman;
mod yard_stick;

pub use catalogue::{all, by_id};
pub use topology::{Topologies, service_requires, service_title};
pub use yard_stick::yard_stick;
