//! Zazen and its peers: how each is installed, started, looked at and written to.

mod conditional;
mod elasticsearch;
mod etcd;
mod grpc;
mod jute;
mod packages;
mod protobuf;
mod rest;
mod session;
mod txn;
mod zazen;
mod zookeeper;

pub(crate) use elasticsearch::Elasticsearch;
pub(crate) use etcd::Etcd;
pub(crate) use zazen::Zazen;
pub(crate) use zookeeper::ZooKeeper;
