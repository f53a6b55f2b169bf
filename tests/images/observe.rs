//! Observability from outside: lines of the log, the pages of metrics and probes over real
//! connections, events at a receiver, and the API calls of events in the cluster.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bumpwright_http::Peer;
use bumpwright_runtime::{
    Action, Checks, ClusterEvent, Correlated, Correlator, Encoding, Event, EventSink, EventType, Finish, Level,
    ListenAddress, Log, LogOptions, Metrics, ObjectReference, ObjectStatus, Page, PageRequest, Recorder, Redaction,
    Retries, Server, SinkOptions, metrics_page,
};
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::stub_http::StubHttp;
use parking_lot::Mutex;
use serde_json::{Value, json};

/// Long enough for a busy machine; nothing waits for it to pass.
const LONG: Duration = Duration::from_secs(60);

/// An output that remembers each write.
#[derive(Clone, Default)]
struct Output(Arc<Mutex<Vec<String>>>);

impl Output {
    fn lines(&self) -> Vec<String> {
        self.0.lock().clone()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().push(String::from_utf8(bytes.to_vec()).unwrap());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn options(level: Level, encoding: Encoding) -> LogOptions {
    let redaction = Redaction::new(|text| text.replace("hunter2", "***").into());
    LogOptions {
        level,
        encoding,
        redaction,
    }
}

/// Takes the moment out of a line.
fn timeless(line: &str) -> String {
    let digits = "0123456789";
    let at = line.find("20").unwrap();
    let moment = &line[at..at + 24];
    assert!(
        moment
            .chars()
            .zip("2026-11-22T01:57:37.361Z".chars())
            .all(|(one, other)| one == other || digits.contains(one)),
        "{moment}"
    );
    line.replacen(moment, "TS", 1)
}

/// What the log of these options writes when it is used by `speak`.
fn logged(options: LogOptions, speak: impl FnOnce(&Log)) -> Vec<String> {
    let output = Output::default();
    let log = Log::to(output.clone(), options).unwrap();
    speak(&log);
    assert!(log.flush(LONG));
    output.lines().iter().map(|line| timeless(line)).collect()
}

mod logs {
    use super::*;

    /// As zap writes it through controller-runtime 0.24 and `fluxcd/pkg/runtime/logger`; made by a program of these.
    #[test]
    fn lines_are_those_of_flux() {
        let lines = logged(options(Level::Trace, Encoding::Json), |log| {
            log.info("starting manager");
            log.named("setup").named("inner").debug("x");
            log.trace("y");
            let log = log.controller(
                "imageupdateautomation",
                "image.toolkit.fluxcd.io",
                "ImageUpdateAutomation",
            );
            let log = log.with("ImageUpdateAutomation", json!({"name": "app", "namespace": "ns"}));
            let log = log
                .with("namespace", "ns")
                .with("name", "app")
                .with("reconcileID", "1-2");
            log.with("n", 7)
                .with("neg", -3)
                .with("f", 1.5)
                .with("big", 1e21)
                .with("b", true)
                .with("nil", Value::Null)
                .info("msg");
            log.with("more", 1)
                .error(&"it failed: \"x\"\n<tag>", "Reconciler error");
        });
        let fields = r#""controller":"imageupdateautomation","controllerGroup":"image.toolkit.fluxcd.io","controllerKind":"ImageUpdateAutomation","ImageUpdateAutomation":{"name":"app","namespace":"ns"},"namespace":"ns","name":"app","reconcileID":"1-2""#;
        let expected = [
            r#"{"level":"info","ts":"TS","msg":"starting manager"}"#.to_owned(),
            r#"{"level":"debug","ts":"TS","logger":"setup.inner","msg":"x"}"#.to_owned(),
            r#"{"level":"trace","ts":"TS","msg":"y"}"#.to_owned(),
            format!(
                r#"{{"level":"info","ts":"TS","msg":"msg",{fields},"n":7,"neg":-3,"f":1.5,"big":1000000000000000000000,"b":true,"nil":null}}"#
            ),
            format!(
                r#"{{"level":"error","ts":"TS","msg":"Reconciler error",{fields},"more":1,"error":"it failed: \"x\"\n<tag>"}}"#
            ),
        ];
        assert_eq!(lines, expected.map(|line| line + "\n"));
    }

    #[test]
    fn awkward_texts_are_escaped_as_zap_does() {
        let lines = logged(options(Level::Info, Encoding::Json), |log| {
            log.with("k\"ey", "v\u{2}<>&\u{2028}")
                .info("ctl \u{1}\u{1f}\u{7f} \u{8}\u{c}\n\r\t \\ / é \u{2028} <>&");
        });
        let expected = "{\"level\":\"info\",\"ts\":\"TS\",\"msg\":\"ctl \\u0001\\u001f\u{7f} \\u0008\\u000c\\n\\r\\t \\\\ / é \u{2028} <>&\",\"k\\\"ey\":\"v\\u0002<>&\u{2028}\"}\n";
        assert_eq!(lines, [expected]);
        assert!(serde_json::from_str::<Value>(&lines[0]).is_ok());
    }

    #[test]
    fn console_lines_have_columns() {
        let lines = logged(options(Level::Debug, Encoding::Console), |log| {
            log.info("starting manager");
            log.named("setup").debug("x");
            let object = json!({"name": "app", "namespace": "ns"});
            log.with("controller", "c")
                .with("K", object)
                .error(&"it \"failed\"", "Reconciler error");
        });
        let expected = [
            "TS\tINFO\tstarting manager\n",
            "TS\tDEBUG\tsetup\tx\n",
            "TS\tERROR\tReconciler error\t{\"controller\": \"c\", \"K\": {\"name\":\"app\",\"namespace\":\"ns\"}, \"error\": \"it \\\"failed\\\"\"}\n",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn levels_include_those_before() {
        let speak = |log: &Log| {
            log.trace("trace");
            log.debug("debug");
            log.info("info");
            log.error(&"e", "error");
        };
        for (level, count) in [("error", 1), ("info", 2), ("debug", 3), ("trace", 4)] {
            let lines = logged(options(level.parse().unwrap(), Encoding::Json), speak);
            assert_eq!(lines.len(), count, "{level}: {lines:?}");
        }
        let error = "warn".parse::<Level>().unwrap_err().to_string();
        assert_eq!(
            error,
            "cannot use \"warn\" as the log level; it is one of trace, debug, info, error"
        );
        let error = "xml".parse::<Encoding>().unwrap_err().to_string();
        assert_eq!(
            error,
            "cannot use \"xml\" as the log encoding; it is one of json, console"
        );
    }

    #[test]
    fn everything_is_redacted() {
        let lines = logged(options(Level::Info, Encoding::Json), |log| {
            let log = log
                .with("at hunter2", json!({"hunter2": ["hunter2"]}))
                .with("name", "hunter2");
            log.error(&"bad password hunter2", "hunter2");
        });
        assert!(
            !lines[0].contains("hunter2") && lines[0].matches("***").count() == 6,
            "{}",
            lines[0]
        );
    }

    #[test]
    fn a_reconciliation_has_the_fields_of_controller_runtime() {
        let mut ids = HashSet::new();
        let lines = logged(options(Level::Info, Encoding::Json), |log| {
            let log = log.controller("imagepolicy", "image.toolkit.fluxcd.io", "ImagePolicy");
            for _ in 0..2 {
                log.reconciliation("ImagePolicy", "ns", "app").info("x");
            }
        });
        for line in &lines {
            let mut line: Value = serde_json::from_str(line).unwrap();
            ids.insert(line["reconcileID"].as_str().unwrap().to_owned());
            line["reconcileID"] = Value::Null;
            let expected = json!({
                "level": "info", "ts": "TS", "msg": "x", "controller": "imagepolicy",
                "controllerGroup": "image.toolkit.fluxcd.io", "controllerKind": "ImagePolicy",
                "ImagePolicy": {"name": "app", "namespace": "ns"}, "namespace": "ns", "name": "app", "reconcileID": null,
            });
            assert_eq!(line, expected);
        }
        assert_eq!(ids.len(), 2);
    }

    #[test]
    fn threads_do_not_mix_their_lines() {
        let lines = logged(options(Level::Info, Encoding::Json), |log| {
            thread::scope(|scope| {
                for thread in 0..4 {
                    scope.spawn(move || {
                        let log = log.with("thread", thread);
                        (0..250).for_each(|turn| log.with("turn", turn).info(&"x".repeat(1_000)));
                    });
                }
            });
        });
        let mut turns = [0, 0, 0, 0];
        for line in &lines {
            let line: Value = serde_json::from_str(line).unwrap();
            let thread = line["thread"].as_u64().unwrap() as usize;
            assert_eq!(line["turn"], turns[thread], "in the order in which they were written");
            turns[thread] += 1;
        }
        assert_eq!(turns, [250; 4]);
    }

    /// Writes nothing until it is let go.
    struct Stuck(Receiver<()>, Output);

    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            self.1.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_who_does_not_read_stops_nobody() {
        let (go, wait): (Sender<()>, _) = channel();
        let output = Output::default();
        let log = Log::to(Stuck(wait, output.clone()), options(Level::Info, Encoding::Json)).unwrap();
        let large = "x".repeat(100_000);
        (0..40).for_each(|_| log.info(&large));
        assert!(!log.flush(Duration::from_millis(1)));
        let dropped = log.dropped();
        assert!((28..=31).contains(&dropped), "a megabyte waits, {dropped} were dropped");
        drop(go);
        assert!(log.flush(LONG));
        let lines = output.lines();
        let last: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
        assert_eq!(
            (&last["level"], &last["logger"], &last["count"]),
            (&json!("error"), &json!("log"), &json!(dropped))
        );
        assert_eq!(lines.len() as u64, 41 - dropped);
    }

    #[test]
    fn a_closed_output_is_no_end() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
        }
        let log = Log::to(Closed, LogOptions::default()).unwrap();
        log.info("nobody hears this");
        assert!(log.flush(LONG));
    }
}

mod metrics {
    use super::*;

    fn lines(metrics: &Metrics, begin: &str) -> Vec<String> {
        let page = metrics.page();
        page.lines()
            .filter(|line| line.starts_with(begin))
            .map(str::to_owned)
            .collect()
    }

    /// As Prometheus' Go client writes the same histogram of `fluxcd/pkg/runtime/metrics`.
    #[test]
    fn durations_are_written_as_flux_does() {
        let metrics = Metrics::new();
        metrics.reconciled("ImagePolicy", "apps", "app", Duration::from_secs(3600));
        let page = metrics.page();
        let start = page.find("# HELP gotk_reconcile").unwrap();
        let labels = r#"kind="ImagePolicy",name="app",namespace="apps""#;
        let bounds = [
            "0.01",
            "0.038363583488692544",
            "0.1471764538093883",
            "0.5646216173286169",
            "2.166090855590701",
            "8.309900738254731",
            "31.879757075478317",
            "122.30217221643493",
            "469.19495946736544",
            "1799.9999999999986",
        ];
        let name = "gotk_reconcile_duration_seconds";
        let mut expected = format!(
            "# HELP {name} The duration in seconds of a GitOps Toolkit resource reconciliation.\n# TYPE {name} histogram\n"
        );
        bounds
            .iter()
            .for_each(|bound| expected += &format!("{name}_bucket{{{labels},le=\"{bound}\"}} 0\n"));
        expected += &format!(
            "{name}_bucket{{{labels},le=\"+Inf\"}} 1\n{name}_sum{{{labels}}} 3600\n{name}_count{{{labels}}} 1\n"
        );
        assert_eq!(page[start..start + expected.len()], expected);
    }

    #[test]
    fn a_controller_shows_before_something_happens() {
        let metrics = Metrics::new();
        let _ = metrics.controller("imagepolicy", 4);
        let expected = [
            r#"controller_runtime_active_workers{controller="imagepolicy"} 0"#,
            r#"controller_runtime_max_concurrent_reconciles{controller="imagepolicy"} 4"#,
            r#"controller_runtime_reconcile_errors_total{controller="imagepolicy"} 0"#,
            r#"controller_runtime_reconcile_panics_total{controller="imagepolicy"} 0"#,
            r#"controller_runtime_reconcile_timeouts_total{controller="imagepolicy"} 0"#,
            r#"controller_runtime_reconcile_total{controller="imagepolicy",result="error"} 0"#,
            r#"controller_runtime_reconcile_total{controller="imagepolicy",result="requeue"} 0"#,
            r#"controller_runtime_reconcile_total{controller="imagepolicy",result="requeue_after"} 0"#,
            r#"controller_runtime_reconcile_total{controller="imagepolicy",result="success"} 0"#,
            r#"controller_runtime_terminal_reconcile_errors_total{controller="imagepolicy"} 0"#,
        ];
        let mut shown = lines(&metrics, "controller_runtime_");
        shown.retain(|line| !line.contains("time_seconds"));
        assert_eq!(shown, expected);
        assert_eq!(
            lines(&metrics, "workqueue_depth"),
            [r#"workqueue_depth{controller="imagepolicy",name="imagepolicy",priority="0"} 0"#]
        );
    }

    #[test]
    fn work_is_counted_from_the_queue_to_its_end() {
        let metrics = Metrics::new();
        let controller = metrics.controller("k", 2);
        for _ in 0..4 {
            controller.queued();
        }
        controller.delayed();
        controller
            .started(Duration::from_millis(50))
            .finish(Finish::RequeueAfter);
        controller.started(Duration::ZERO).finish(Finish::TerminalError);
        let panicking = controller.clone();
        let panicked = thread::spawn(move || {
            let _working = panicking.started(Duration::ZERO);
            panic!("on purpose");
        });
        assert!(panicked.join().is_err());
        let working = controller.started(Duration::ZERO);
        thread::sleep(Duration::from_millis(2));
        let page = metrics.page();
        for line in [
            r#"workqueue_adds_total{controller="k",name="k"} 4"#,
            r#"workqueue_depth{controller="k",name="k",priority="0"} 0"#,
            r#"workqueue_retries_total{controller="k",name="k"} 1"#,
            r#"workqueue_queue_duration_seconds_bucket{controller="k",name="k",le="0.01"} 3"#,
            r#"workqueue_queue_duration_seconds_bucket{controller="k",name="k",le="0.1"} 4"#,
            r#"workqueue_queue_duration_seconds_sum{controller="k",name="k"} 0.05"#,
            r#"workqueue_work_duration_seconds_count{controller="k",name="k"} 3"#,
            r#"controller_runtime_active_workers{controller="k"} 1"#,
            r#"controller_runtime_reconcile_total{controller="k",result="error"} 2"#,
            r#"controller_runtime_reconcile_total{controller="k",result="requeue_after"} 1"#,
            r#"controller_runtime_reconcile_errors_total{controller="k"} 2"#,
            r#"controller_runtime_terminal_reconcile_errors_total{controller="k"} 1"#,
            r#"controller_runtime_reconcile_panics_total{controller="k"} 1"#,
            r#"controller_runtime_reconcile_time_seconds_count{controller="k"} 3"#,
        ] {
            assert!(page.contains(&format!("{line}\n")), "{line} is not in\n{page}");
        }
        let seconds = |name: &str| -> f64 {
            let line = lines(&metrics, name).pop().unwrap();
            line.rsplit_once(' ').unwrap().1.parse().unwrap()
        };
        assert!(seconds("workqueue_unfinished_work_seconds") >= 0.002);
        assert!(seconds("workqueue_longest_running_processor_seconds") >= 0.002);
        drop(working);
        assert_eq!(seconds("workqueue_unfinished_work_seconds"), 0.0);
        assert_eq!(
            seconds("controller_runtime_reconcile_total{controller=\"k\",result=\"success\"}"),
            0.0
        );
    }

    #[test]
    fn deleted_objects_are_forgotten() {
        let metrics = Metrics::new();
        let cache = metrics.token_cache();
        for name in ["app", "web"] {
            metrics.reconciled("ImageRepository", "apps", name, Duration::from_millis(5));
            metrics.skipped_markers(
                "ImageRepository",
                "apps",
                name,
                [("NotYaml", 2), ("NotYaml", 1), ("Held", 1)],
            );
            cache.looked_up(true, "ImageRepository", "apps", name, "reconcile");
            metrics.object_status("ImageRepository", "apps", name, ObjectStatus::Ready, "Succeeded");
            metrics.drift_corrections("ImageRepository", "apps", name).increment();
        }
        metrics.skipped_markers("ImageRepository", "apps", "app", [("NotYaml", 2)]);
        let of = |name: &str| {
            let page = metrics.page();
            page.lines()
                .filter(|line| line.contains(&format!("name=\"{name}\"")))
                .count()
        };
        assert_eq!((of("app"), of("web")), (13 + 1 + 1 + 2, 13 + 2 + 1 + 2));
        metrics.forget("ImageRepository", "apps", "app");
        assert_eq!((of("app"), of("web")), (0, 18));
        let skipped = lines(&metrics, "bumpwright_skipped_markers");
        let expected = ["Held\"} 1", "NotYaml\"} 3"];
        assert_eq!(
            skipped,
            expected.map(|end| format!(
                "bumpwright_skipped_markers{{kind=\"ImageRepository\",name=\"web\",namespace=\"apps\",reason=\"{end}"
            ))
        );
    }

    #[test]
    fn an_object_has_one_status() {
        let metrics = Metrics::new();
        for (status, reason, shown) in [
            (
                ObjectStatus::Failing,
                "GitOperationFailed",
                "GitOperationFailed\",status=\"failing\"} 1",
            ),
            (
                ObjectStatus::Failing,
                "GitOperationFailed",
                "GitOperationFailed\",status=\"failing\"} 1",
            ),
            (
                ObjectStatus::Stalled,
                "URLInvalid",
                "URLInvalid\",status=\"stalled\"} 1",
            ),
            (
                ObjectStatus::Suspended,
                "URLInvalid",
                "URLInvalid\",status=\"suspended\"} 1",
            ),
            (ObjectStatus::Ready, "Succeeded", "Succeeded\",status=\"ready\"} 1"),
        ] {
            metrics.object_status("GitRepository", "apps", "fleet", status, reason);
            let head = "bumpwright_object_status{kind=\"GitRepository\",name=\"fleet\",namespace=\"apps\",reason=\"";
            assert_eq!(lines(&metrics, "bumpwright_object_status"), [format!("{head}{shown}")]);
        }
    }

    #[test]
    fn names_and_labels_are_the_known_ones() {
        let metrics = Metrics::new();
        metrics.leader("image-automation-controller-leader-election", true);
        metrics.kubernetes_request("200", "10.0.0.1:443", "GET");
        metrics.kubernetes_request("<error>", "a\"b\\c\nd", "GET");
        let cache = metrics.token_cache();
        cache.items.set(3.0);
        cache.requested(true);
        metrics.pushes().add(2);
        metrics.git_requests().increment();
        let page = metrics.page();
        for line in [
            r#"leader_election_master_status{name="image-automation-controller-leader-election"} 1"#,
            r#"rest_client_requests_total{code="200",host="10.0.0.1:443",method="GET"} 1"#,
            r#"rest_client_requests_total{code="<error>",host="a\"b\\c\nd",method="GET"} 1"#,
            "gotk_token_cached_items 3",
            "gotk_token_cache_evictions_total 0",
            r#"gotk_token_cache_requests_total{status="success"} 1"#,
            "bumpwright_pushes_total 2",
            "bumpwright_push_races_total 0",
            "bumpwright_git_requests_total 1",
            "bumpwright_registry_requests_total 0",
            r#"bumpwright_login_failures_total{server="git"} 0"#,
            r#"bumpwright_login_failures_total{server="registry"} 0"#,
        ] {
            assert!(page.contains(&format!("{line}\n")), "{line} is not in\n{page}");
        }
        let families: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
        assert!(families.is_sorted(), "{families:?}");
        assert!(
            families.contains(&"process_resident_memory_bytes gauge"),
            "{families:?}"
        );
        assert!(families.contains(&"process_cpu_seconds_total counter"), "{families:?}");
        assert!(!page.contains("workqueue"), "nothing shows that has no series");
    }
}

mod pages {
    use super::*;
    use tokio::runtime::Runtime;
    use tokio::sync::oneshot;

    /// A server on a free port of this machine, for as long as it is not dropped.
    struct Running {
        address: SocketAddr,
        stop: Option<oneshot::Sender<()>>,
        served: Option<tokio::task::JoinHandle<()>>,
        runtime: Runtime,
    }

    impl Running {
        fn new(answer: impl Fn(&PageRequest) -> Page + Send + Sync + 'static) -> Self {
            let runtime = Runtime::new().unwrap();
            // Not just any free one: it is looked at when the server is gone, and nobody else is to be there then.
            let address: ListenAddress = format!("127.0.0.1:{}", free_port()).parse().unwrap();
            let server = runtime
                .block_on(Server::bind(&address, "probes", "--health-addr"))
                .unwrap()
                .unwrap();
            let (stop, stopped) = oneshot::channel();
            let address = server.address().unwrap();
            let served = runtime.spawn(server.run(answer, async {
                let _ = stopped.await;
            }));
            Self {
                address,
                stop: Some(stop),
                served: Some(served),
                runtime,
            }
        }

        fn connect(&self) -> TcpStream {
            let stream = TcpStream::connect(self.address).unwrap();
            stream.set_read_timeout(Some(LONG)).unwrap();
            stream
        }

        /// Everything that comes for these bytes until the server closes.
        fn talk(&self, bytes: &str) -> String {
            let mut stream = self.connect();
            stream.write_all(bytes.as_bytes()).unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).unwrap();
            String::from_utf8_lossy(&answer).into_owned()
        }

        /// Status and body of a page.
        fn get(&self, target: &str) -> (u16, String) {
            let answer = self.talk(&format!(
                "GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
            ));
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
        }

        fn stop(mut self) {
            self.stop.take().unwrap().send(()).unwrap();
            let served = self.served.take().unwrap();
            self.runtime
                .block_on(async { tokio::time::timeout(LONG, served).await })
                .unwrap()
                .unwrap();
            assert!(TcpStream::connect(self.address).is_err(), "the port is free again");
        }
    }

    #[test]
    fn probes_answer_as_controller_runtime_does() {
        let (checks, ready) = (Checks::new(), Arc::new(AtomicBool::new(false)));
        let pages = checks.clone();
        let server = Running::new(move |request| pages.page(request));
        assert_eq!(server.get("/healthz"), (200, "ok".to_owned()));
        assert_eq!(server.get("/readyz/ping"), (200, "ok".to_owned()));
        let flag = Arc::clone(&ready);
        checks.readiness("leases", || Ok(()));
        checks.readiness("caches", move || {
            if flag.load(Ordering::SeqCst) {
                Ok(())
            } else {
                Err("not yet".into())
            }
        });
        let failed = "[-]caches failed: reason withheld\n[+]leases ok\nhealthz check failed\n";
        assert_eq!(server.get("/readyz"), (500, failed.to_owned()));
        assert_eq!(
            server.get("/readyz/caches"),
            (500, "internal server error: not yet\n".to_owned())
        );
        assert_eq!(server.get("/readyz/leases/"), (200, "ok".to_owned()));
        assert_eq!(server.get("/readyz?exclude=caches"), (200, "ok".to_owned()));
        let verbose = "[+]caches excluded: ok\n[+]leases ok\nwarn: some health checks cannot be excluded: no matches for \"x\"\nhealthz check passed\n";
        assert_eq!(
            server.get("/readyz?verbose&exclude=caches&exclude=x"),
            (200, verbose.to_owned())
        );
        ready.store(true, Ordering::SeqCst);
        assert_eq!(server.get("/readyz"), (200, "ok".to_owned()));
        assert_eq!(
            server.get("/healthz?verbose"),
            (200, "[+]ping ok\nhealthz check passed\n".to_owned())
        );
        assert_eq!(server.get("/other"), (404, "404 page not found\n".to_owned()));
        assert_eq!(server.get("/readyz/other"), (404, "404 page not found\n".to_owned()));
        server.stop();
    }

    #[test]
    fn metrics_are_served_and_compressed() {
        let metrics = Metrics::new();
        metrics.pushes().increment();
        let pages = metrics.clone();
        let server = Running::new(move |request| metrics_page(&pages, request));
        let (status, body) = server.get("/metrics");
        assert!(
            status == 200 && body.contains("\nbumpwright_pushes_total 1\n"),
            "{body}"
        );
        assert_eq!(server.get("/").0, 404);
        for turn in 0..40 {
            metrics.reconciled("ImagePolicy", "apps", &format!("app-{turn}"), Duration::from_secs(1));
        }
        let mut stream = server.connect();
        stream
            .write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap() + 4;
        let head = String::from_utf8(answer[..end].to_vec()).unwrap();
        assert!(head.contains("Content-Encoding: gzip\r\n"), "{head}");
        assert!(
            head.contains("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"),
            "{head}"
        );
        let mut text = String::new();
        flate2::read::GzDecoder::new(&answer[end..])
            .read_to_string(&mut text)
            .unwrap();
        assert!(
            text.contains("name=\"app-39\"") && text.len() > 10 * (answer.len() - end),
            "{}",
            answer.len()
        );
        server.stop();
    }

    #[test]
    fn connections_are_kept_and_odd_clients_refused() {
        let server = Running::new(|request| match request.path.as_str() {
            "/panic" => panic!("on purpose"),
            path => Page::text(200, path),
        });
        let both =
            server.talk("GET /a HTTP/1.1\r\nHost: x\r\n\r\nHEAD /bc HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        let statuses: Vec<&str> = both.lines().filter(|line| line.contains("HTTP/1.1 ")).collect();
        assert_eq!(statuses, ["HTTP/1.1 200 OK", "/aHTTP/1.1 200 OK"], "{both}");
        assert!(
            both.contains("Content-Length: 3\r\n") && both.ends_with("\r\n\r\n"),
            "{both}"
        );
        for (bytes, status) in [
            (
                "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
                "HTTP/1.1 405 ",
            ),
            (
                "GET /panic HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                "HTTP/1.1 500 ",
            ),
            ("\u{16}\u{3}\u{1}\r\n\r\n", "HTTP/1.1 400 "),
            ("GET /a HTTP/1.0\r\n\r\n", "HTTP/1.0 200 "),
            // As Go's server has it.
            ("GET /a HTTP/1.1\r\n\r\n", "HTTP/1.1 400 "),
        ] {
            let answer = server.talk(bytes);
            assert!(answer.starts_with(status), "{bytes:?}: {answer}");
        }
        // The head is too large before its end; the server may close while the rest is still on its way.
        let mut stream = server.connect();
        stream
            .write_all(format!("GET /a HTTP/1.1\r\nX: {}", "x".repeat((16 << 10) + 1)).as_bytes())
            .unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"HTTP/1.1 431");
        server.stop();
    }

    #[test]
    fn stopping_ends_idle_connections_and_finishes_pages() {
        let (entered, enter) = channel();
        let (let_go, gate) = channel::<()>();
        let gate = Mutex::new(gate);
        let server = Running::new(move |_| {
            entered.send(()).unwrap();
            let _ = gate.lock().recv();
            Page::text(200, "done")
        });
        let mut idle = server.connect();
        let mut busy = server.connect();
        busy.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        enter.recv().unwrap();
        let stopping = thread::spawn(move || server.stop());
        let mut nothing = Vec::new();
        idle.read_to_end(&mut nothing).unwrap();
        assert!(nothing.is_empty());
        let_go.send(()).unwrap();
        let mut answer = String::new();
        busy.read_to_string(&mut answer).unwrap();
        // That nothing else came is that the connection was closed, whether or not the head could still say so.
        assert!(answer.ends_with("\r\n\r\ndone"), "{answer}");
        stopping.join().unwrap();
    }

    #[test]
    fn a_taken_port_is_told_with_the_way_out() {
        let server = Running::new(|_| Page::not_found());
        let runtime = Runtime::new().unwrap();
        let bind =
            |address: &str| runtime.block_on(Server::bind(&address.parse().unwrap(), "metrics", "--metrics-addr"));
        let error = bind(&server.address.to_string()).unwrap_err().to_string();
        let expected = format!(
            "cannot listen on {} for metrics: Address already in use",
            server.address
        );
        assert!(
            error.starts_with(&expected) && error.ends_with("; choose another address with --metrics-addr"),
            "{error}"
        );
        assert!(bind("0").unwrap().is_none());
        let everywhere = bind(":0").unwrap().unwrap();
        assert_ne!(everywhere.address().unwrap().port(), 0);
        server.stop();
    }
}

fn reference() -> ObjectReference {
    ObjectReference {
        kind: "ImageUpdateAutomation".to_owned(),
        namespace: "apps".to_owned(),
        name: "app".to_owned(),
        uid: "u1".to_owned(),
        api_version: "image.toolkit.fluxcd.io/v1".to_owned(),
        resource_version: "7".to_owned(),
    }
}

fn event(event_type: EventType, message: &str) -> Event {
    Event {
        object: reference(),
        related: Some(ObjectReference {
            kind: "GitRepository".to_owned(),
            name: "fleet".to_owned(),
            ..ObjectReference::default()
        }),
        action: Action::Reconcile,
        event_type,
        reason: "Succeeded".to_owned(),
        message: message.to_owned(),
        annotations: BTreeMap::new(),
        controller: "image-automation-controller".to_owned(),
        at: UNIX_EPOCH + Duration::from_nanos(1_795_310_523_847_000_000),
    }
}

mod sink {
    use super::*;

    /// A recorder before a receiver, with pauses too short to notice.
    struct Sending {
        recorder: Recorder,
        sink: EventSink,
        metrics: Metrics,
        log: Log,
        output: Output,
        cluster: Receiver<ClusterEvent>,
    }

    impl Sending {
        fn to(address: &str, level: Level) -> Self {
            let metrics = Metrics::new();
            let output = Output::default();
            let log = Log::to(output.clone(), options(level, Encoding::Json)).unwrap();
            let moment = Duration::from_millis(1);
            let retries = Retries {
                first: moment,
                most: moment,
                ..Retries::default()
            };
            let options = SinkOptions {
                address: address.to_owned(),
                peer: Peer::default(),
                retries,
            };
            let sink = EventSink::start(options, &metrics).unwrap();
            let (hand_over, cluster) = channel();
            let hand_over = Mutex::new(hand_over);
            let redaction = Redaction::new(|text| text.replace("hunter2", "***").into());
            let recorder = Recorder::new("pod-1", redaction, log.clone(), Some(sink.clone()), move |event| {
                hand_over.lock().send(event).unwrap();
            });
            Self {
                recorder,
                sink,
                metrics,
                log,
                output,
                cluster,
            }
        }

        /// What became of the events, after all of them were sent.
        fn outcomes(&self, sum: u64) -> BTreeMap<String, u64> {
            let end = std::time::Instant::now() + LONG;
            loop {
                let page = self.metrics.page();
                let lines = page
                    .lines()
                    .filter_map(|line| line.strip_prefix("bumpwright_events_total{outcome=\""));
                let all: BTreeMap<String, u64> = lines
                    .map(|line| line.split_once("\"} ").unwrap())
                    .map(|(outcome, count)| (outcome.to_owned(), count.parse().unwrap()))
                    .filter(|(_, count)| *count > 0)
                    .collect();
                if all.values().sum::<u64>() >= sum || std::time::Instant::now() > end {
                    return all;
                }
                thread::sleep(Duration::from_millis(2));
            }
        }

        fn errors(&self) -> Vec<(String, String)> {
            assert!(self.log.flush(LONG));
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let lines = self
                .output
                .lines()
                .into_iter()
                .map(|line| serde_json::from_str(&line).unwrap());
            lines
                .map(|line: Value| (text(&line["msg"]), text(&line["error"])))
                .collect()
        }
    }

    fn counted<const N: usize>(counts: [(&str, u64); N]) -> BTreeMap<String, u64> {
        counts.map(|(outcome, count)| (outcome.to_owned(), count)).into()
    }

    /// docs/behaviour/image-automation-controller.md, *Events*: the body, and which annotations go along.
    #[test]
    fn bodies_are_those_of_flux() {
        let server = StubHttp::start(|_| Reply::status(202));
        let sending = Sending::to(&server.url(""), Level::Info);
        sending.recorder.record(event(
            EventType::Normal,
            "pushed commit '1234567' to branch 'main'\nhunter2",
        ));
        let annotations = [("event.toolkit.fluxcd.io/revision", "main@sha1:12"), ("other", "x")];
        let mut warning = event(EventType::Warning, "it failed").with_annotations_of(annotations);
        warning.reason = "GitOperationFailed".to_owned();
        sending.recorder.record(warning);
        sending
            .recorder
            .record(event(EventType::Trace, "repository up-to-date"));
        assert_eq!(sending.sink.drain(LONG), 0);
        let requests = server.requests();
        let bodies: Vec<Value> = requests
            .iter()
            .map(|request| serde_json::from_slice(&request.body).unwrap())
            .collect();
        let object = json!({
            "apiVersion": "image.toolkit.fluxcd.io/v1", "kind": "ImageUpdateAutomation", "name": "app",
            "namespace": "apps", "uid": "u1", "resourceVersion": "7",
        });
        let related = json!({"kind": "GitRepository", "name": "fleet"});
        let expected = [
            json!({
                "involvedObject": object, "severity": "info", "timestamp": "2026-11-22T01:22:03Z",
                "message": "pushed commit '1234567' to branch 'main'\n***", "reason": "Succeeded",
                "action": "Reconcile", "relatedObject": related,
                "reportingController": "image-automation-controller", "reportingInstance": "pod-1",
            }),
            json!({
                "involvedObject": object, "severity": "error", "timestamp": "2026-11-22T01:22:03Z",
                "message": "it failed", "reason": "GitOperationFailed",
                "action": "Reconcile", "relatedObject": related,
                "metadata": {"event.toolkit.fluxcd.io/revision": "main@sha1:12"},
                "reportingController": "image-automation-controller", "reportingInstance": "pod-1",
            }),
        ];
        assert_eq!(bodies, expected, "in order, and without the trace");
        assert!(
            requests
                .iter()
                .all(|request| request.method == "POST" && request.header("content-type") == Some("application/json"))
        );
        let cluster: Vec<Value> = sending.cluster.try_iter().map(|event| event.to_json()).collect();
        let kinds: Vec<(&Value, &Value)> = cluster
            .iter()
            .map(|event| (&event["type"], &event["message"]))
            .collect();
        let expected = [
            (
                &json!("Normal"),
                &json!("pushed commit '1234567' to branch 'main'\n***"),
            ),
            (&json!("Warning"), &json!("it failed")),
            (&json!("Normal"), &json!("repository up-to-date")),
        ];
        assert_eq!(kinds, expected);
        assert_eq!(
            cluster[1]["metadata"]["annotations"],
            json!({"event.toolkit.fluxcd.io/revision": "main@sha1:12"})
        );
        assert_eq!(sending.outcomes(2), counted([("sent", 2)]));
    }

    /// go-retryablehttp: 5xx but 501 is tried again, five times in all; 429 is a duplicate; the rest is not.
    #[test]
    fn what_may_pass_is_tried_again() {
        for (answers, requests, outcome) in [
            (&[202][..], 1, "sent"),
            (&[500, 503, 502, 504, 200], 5, "sent"),
            (&[500, 500, 500, 500, 500, 200], 5, "failed"),
            (&[429, 200], 1, "duplicate"),
            (&[501, 200], 1, "refused"),
            (&[400, 200], 1, "refused"),
        ] {
            let server = StubHttp::start(|request| Reply::status(answers[request.number - 1]));
            let sending = Sending::to(&server.url("hook"), Level::Info);
            sending.recorder.record(event(EventType::Normal, "x"));
            assert_eq!(sending.outcomes(1), counted([(outcome, 1)]), "{answers:?}");
            assert_eq!(server.count(), requests, "{answers:?}");
            assert_eq!(sending.sink.drain(LONG), 0, "it is told a little later than counted");
            let errors = sending.errors();
            let quiet = ["sent", "duplicate"].contains(&outcome);
            assert_eq!(errors.len(), usize::from(!quiet), "{errors:?}");
            if outcome == "failed" {
                let expected = format!(
                    "POST {} giving up after 5 attempt(s): unexpected HTTP status 500 Internal Server Error",
                    server.url("hook")
                );
                assert_eq!(errors, [("unable to record event".to_owned(), expected)]);
            }
        }
    }

    #[test]
    fn a_receiver_that_is_not_there_is_tried_again() {
        let sending = Sending::to(&format!("http://127.0.0.1:{}/", free_port()), Level::Info);
        sending.recorder.record(event(EventType::Normal, "x"));
        assert_eq!(sending.outcomes(1), counted([("failed", 1)]));
        assert_eq!(sending.sink.drain(LONG), 0, "it is told a little later than counted");
        assert!(
            sending.errors()[0].1.contains("giving up after 5 attempt(s)"),
            "{:?}",
            sending.errors()
        );
    }

    #[test]
    fn too_many_and_too_late_are_dropped_and_told() {
        let (entered, enter) = channel();
        let entered = Mutex::new(entered);
        let (let_go, gate) = channel::<()>();
        let gate = Mutex::new(gate);
        let server = StubHttp::start(move |_| {
            let _ = entered.lock().send(());
            let _ = gate.lock().recv();
            Reply::status(202)
        });
        let sending = Sending::to(&server.url(""), Level::Error);
        sending.recorder.record(event(EventType::Normal, "0"));
        enter.recv().unwrap();
        for number in 1..=1003 {
            sending.recorder.record(event(EventType::Normal, &number.to_string()));
        }
        assert_eq!(sending.outcomes(3), counted([("dropped", 3)]));
        assert_eq!(sending.sink.drain(Duration::ZERO), 1000);
        sending.recorder.record(event(EventType::Normal, "late"));
        assert_eq!(sending.outcomes(1004), counted([("dropped", 1004)]));
        let errors = sending.errors();
        let why: HashSet<&str> = errors.iter().map(|(_, error)| error.as_str()).collect();
        assert_eq!(
            why,
            HashSet::from(["too many events are waiting", "the process is ending"])
        );
        drop(let_go);
    }

    #[test]
    fn an_event_without_an_object_is_not_sent() {
        let server = StubHttp::start(|_| Reply::status(202));
        let sending = Sending::to(&server.url(""), Level::Info);
        let mut nameless = event(EventType::Normal, "x");
        nameless.object.namespace.clear();
        sending.recorder.record(nameless);
        assert_eq!(sending.sink.drain(LONG), 0);
        assert_eq!(server.count(), 0);
        let error = "cannot send an event to the notification-controller: the object it is about has no namespace";
        assert_eq!(
            sending.errors(),
            [("unable to record event".to_owned(), error.to_owned())]
        );
        assert_eq!(
            sending.cluster.recv().unwrap().to_json()["metadata"]["namespace"],
            "default"
        );
    }

    #[test]
    fn addresses_are_checked_at_the_start() {
        let start = |address: &str| {
            let options = SinkOptions {
                address: address.to_owned(),
                peer: Peer::default(),
                retries: Retries::default(),
            };
            EventSink::start(options, &Metrics::new())
                .err()
                .map(|error| error.to_string())
        };
        let expected = "cannot send events to \"ftp://host/\": it is not an http:// or https:// address; --events-addr takes a URL such as http://notification-controller.flux-system/";
        assert_eq!(start("ftp://u:hunter2@host/").as_deref(), Some(expected));
        assert!(start("hunter2").is_some_and(|error| !error.contains("hunter2")));
        assert_eq!(
            start("http://notification-controller.flux-system.svc.cluster.local./"),
            None
        );
    }

    #[test]
    fn a_trace_log_shows_events() {
        let server = StubHttp::start(|_| Reply::status(202));
        let sending = Sending::to(&server.url(""), Level::Trace);
        sending.recorder.record(event(EventType::Normal, "done"));
        sending.recorder.record(event(EventType::Warning, "not done"));
        let expected = [("done", ""), ("not done", "Succeeded")];
        assert_eq!(
            sending.errors(),
            expected.map(|(message, error)| (message.to_owned(), error.to_owned()))
        );
    }
}

mod cluster {
    use super::*;

    fn at(nanos: i64) -> SystemTime {
        UNIX_EPOCH + Duration::from_nanos(nanos.try_into().unwrap())
    }

    /// The input that the recording program read.
    fn recorded(input: &Value) -> Event {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let object = &input["object"];
        let event_type = match input["Type"].as_str().unwrap() {
            "Warning" => EventType::Warning,
            _ => EventType::Normal,
        };
        Event {
            object: ObjectReference {
                kind: text(&object["kind"]),
                namespace: text(&object["namespace"]),
                name: text(&object["name"]),
                uid: text(&object["uid"]),
                api_version: text(&object["apiVersion"]),
                resource_version: text(&object["resourceVersion"]),
            },
            related: None,
            action: Action::Reconcile,
            event_type,
            reason: text(&input["Reason"]),
            message: text(&input["Message"]),
            annotations: serde_json::from_value(input["Annotations"].clone()).unwrap_or_default(),
            controller: text(&input["Component"]),
            at: at(input["at"].as_i64().unwrap()),
        }
    }

    fn call(outcome: Correlated) -> Value {
        match outcome {
            Correlated::Create { event, .. } => json!({"create": event}),
            Correlated::Patch {
                namespace,
                name,
                patch,
                event,
            } => {
                json!({"patch": patch, "name": format!("{namespace}/{name}"), "event": event})
            }
            Correlated::Drop => json!({"drop": true}),
        }
    }

    /// Random sequences of events, and what client-go 0.36's recorder and correlator sent for them.
    #[test]
    fn calls_are_those_of_client_go() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/observe/correlator.jsonl");
        let (mut correlator, mut sequence) = (Correlator::new(), Value::Null);
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        for (number, line) in std::fs::read_to_string(path).unwrap().lines().enumerate() {
            let line: Value = serde_json::from_str(line).unwrap();
            let input = &line["event"];
            if input["seq"] != sequence {
                (correlator, sequence) = (Correlator::new(), input["seq"].clone());
            }
            let event = recorded(input);
            let made = call(correlator.observe(ClusterEvent::new(&event), event.at));
            assert_eq!(made, line["call"], "line {}", number + 1);
            let kind = ["create", "patch", "drop"]
                .into_iter()
                .find(|kind| made.get(kind).is_some());
            *seen.entry(kind.unwrap()).or_default() += 1;
        }
        assert_eq!(seen.len(), 3, "{seen:?}");
    }

    #[test]
    fn nine_messages_keep_their_events_and_others_are_combined() {
        let mut correlator = Correlator::new();
        let now = at(1_795_310_523_000_000_000);
        let mut observe =
            |message: &str| call(correlator.observe(ClusterEvent::new(&event(EventType::Normal, message)), now));
        for number in 1..=9 {
            assert_eq!(
                observe(&format!("m{number}"))["create"]["message"],
                format!("m{number}")
            );
        }
        assert_eq!(
            observe("m10")["create"]["message"],
            "(combined from similar events): m10"
        );
        let again = observe("m11");
        assert_eq!(
            (&again["patch"]["count"], &again["patch"]["message"]),
            (&json!(2), &json!("(combined from similar events): m11"))
        );
        assert_eq!(observe("m10")["patch"]["count"], 3);
        assert_eq!(
            observe("m9")["patch"],
            json!({"count": 2, "lastTimestamp": "2026-11-22T01:22:03Z", "message": "m9"})
        );
    }

    #[test]
    fn a_name_that_cannot_be_one_is_replaced() {
        for (name, kept) in [
            ("app", true),
            ("a.b-c", true),
            ("A", false),
            ("a_b", false),
            ("a..b", false),
            ("-a", false),
            (&"x".repeat(250), false),
        ] {
            let mut event = event(EventType::Normal, "x");
            event.object.name = name.to_owned();
            let json = ClusterEvent::new(&event).to_json();
            let given = json["metadata"]["name"].as_str().unwrap();
            assert_eq!(given == format!("{name}.18ea3968d36bbfc0"), kept, "{given}");
            assert_eq!(given.len() == 36 && given.matches('-').count() == 4, !kept, "{given}");
        }
    }

    /// core/v1 has no limit for messages, and neither Flux nor client-go cuts them.
    #[test]
    fn long_messages_stay_whole() {
        let long = "x".repeat(50_000);
        let json = ClusterEvent::new(&event(EventType::Warning, &long)).to_json();
        assert_eq!(json["message"].as_str().map(str::len), Some(50_000));
    }
}
