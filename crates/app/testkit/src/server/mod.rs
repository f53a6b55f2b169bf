//! Real servers and scripted stubs.

pub mod api_proxy;
pub mod apiserver;
pub mod gerrit;
pub mod git_http;
pub mod gitea;
pub mod http_server;
pub mod key_stores;
pub mod moto;
pub mod object_stores;
pub mod prometheus;
pub mod proxy;
pub mod registries;
pub mod registry;
pub mod rekor;
pub mod sign_in_proxy;
pub mod sshd;
pub mod stub_http;
pub mod token_server;
