//! Metrics, probes, and the server for them.
//!
//! All names and texts are those of Flux's controllers, since dashboards and alerts read them: metrics with the names
//! of controller-runtime and `fluxcd/pkg/runtime`.
//!
//! | part | files |
//! |---|---|
//! | metrics | [`Metrics`]; `metric` has the kinds of metrics, `exposition` their text |
//! | metrics of this program | `controller_metrics` a controller and its queue, `process` this process |
//! | probes | [`Checks`], [`Server`]; `listen_address` is Go's syntax |

mod controller_families;
mod controller_metrics;
mod exposition;
mod listen_address;
pub(crate) mod metric;
pub(crate) mod metrics;
mod probes;
mod process;
mod server;
mod server_request;

pub use controller_metrics::{ControllerMetrics, Finish, Working};
pub use exposition::MetricDescription;
pub use listen_address::{ListenAddress, ListenAddressError};
pub use metric::{Counter, Gauge, Histogram};
pub use metrics::{LoginServer, Metrics, ObjectStatus, TokenCacheMetrics};
pub use probes::{CheckError, Checks, metrics_page};
pub use process::host_name;
pub use server::{ServeError, Server};
pub use server_request::{Page, PageRequest};
