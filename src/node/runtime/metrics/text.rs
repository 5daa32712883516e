//! Writes a scrape, in the format of Prometheus or in that of OpenMetrics.

use super::samples::{Sample, Scraped, Value};
use super::table::{Kind, Metric, TABLE};
use crate::runtime::Handle;
use crate::runtime::figures::Meter;
use crate::runtime::instruments::Reading;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, prometheus_text, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::Registry;
use std::fmt;
use std::time::Duration;

/// How long the system may take to tell the figures of the process.
const PATIENCE: Duration = Duration::from_secs(1);

/// What a scraper reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The text format of Prometheus, 0.0.4.
    Prometheus,
    /// OpenMetrics, 1.0.0.
    OpenMetrics,
}

impl Format {
    /// What a scraper that accepts this is given.
    pub fn wanted(accept: &str) -> Self {
        let is_wanted = |range: &str| {
            let mut parts = range.split(';').map(str::trim);
            let refuses = |part: &str| part.strip_prefix("q=").is_some_and(|q| q.parse() == Ok(0.0));
            parts.next() == Some("application/openmetrics-text") && !parts.any(refuses)
        };
        if accept.split(',').any(is_wanted) { Format::OpenMetrics } else { Format::Prometheus }
    }

    /// Its name in headers.
    pub fn content_type(self) -> &'static str {
        match self {
            Format::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// All metrics of a node at this moment.
pub async fn scrape(handle: &Handle, format: Format) -> Result<String, fmt::Error> {
    let figures = tokio::time::timeout(PATIENCE, handle.meter().read(Meter::measure)).await.ok().flatten();
    let scraped = Scraped { handle, state: handle.state(), figures };
    let all = TABLE.iter().map(|metric| (*metric, (metric.read)(&scraped))).collect();
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Scrape(all)));
    let mut page = String::new();
    match format {
        Format::Prometheus => prometheus_text::encode(&mut page, &registry)?,
        Format::OpenMetrics => text::encode(&mut page, &registry)?,
    }
    Ok(page)
}

/// What was found.
#[derive(Debug)]
struct Scrape(Vec<(Metric, Vec<Sample>)>);

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        for (metric, samples) in self.0.iter().filter(|(_, samples)| !samples.is_empty()) {
            let kind = match metric.kind {
                Kind::Counter => MetricType::Counter,
                Kind::Gauge => MetricType::Gauge,
                Kind::Histogram => MetricType::Histogram,
            };
            let doc = metric.doc.strip_suffix('.').unwrap_or(metric.doc);
            let mut encoder = encoder.encode_descriptor(metric.name, doc, None, kind)?;
            for sample in samples {
                if metric.labels.is_empty() {
                    write(&mut encoder, metric.kind, &sample.value)?;
                } else {
                    let labels = metric.labels.iter().copied().zip(sample.labels.iter().map(String::as_str));
                    let labels: Vec<(&str, &str)> = labels.collect();
                    write(&mut encoder.encode_family(&labels)?, metric.kind, &sample.value)?;
                }
            }
        }
        Ok(())
    }
}

fn write(encoder: &mut MetricEncoder<'_>, kind: Kind, value: &Value) -> Result<(), fmt::Error> {
    match (kind, value) {
        (Kind::Counter, Value::Number(number)) => encoder.encode_counter(number, None::<&Exemplar<NoLabelSet, f64>>),
        (Kind::Gauge, Value::Number(number)) => encoder.encode_gauge(number),
        (Kind::Histogram, Value::Histogram(Reading { sum, count, buckets })) => {
            encoder.encode_histogram::<NoLabelSet>(*sum, *count, buckets, None)
        }
        // The table and what it is read by disagree; a test scrapes all of it.
        (Kind::Counter | Kind::Gauge, Value::Histogram(_)) | (Kind::Histogram, Value::Number(_)) => Err(fmt::Error),
    }
}
