//! Elasticsearch's HTTP API over the snapshots and answers of a node.
