//! One way into the core: detach from the interpreter, run in the package's own threads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::errors::{CoreError, InvalidParameterError};

/// The package's threads. A forked child has none of its parent's, so the pool carries the process
/// that made it and a child makes its own.
struct Threads {
    wanted: usize,
    pool: Option<(u32, Arc<ThreadPool>)>,
}

static THREADS: Mutex<Threads> = Mutex::new(Threads { wanted: 0, pool: None });

/// More threads than any machine has use for, and few enough to start.
const MAX_THREADS: usize = 1024;

/// Set how many threads the kernels use; 0 means one for each core.
#[pyfunction]
pub fn set_threads(n_threads: usize) -> PyResult<()> {
    if n_threads > MAX_THREADS {
        let message = format!("n_threads must be at most {MAX_THREADS}, got {n_threads}");
        return Err(InvalidParameterError::new_err(message));
    }
    let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    let old = threads.pool.take();
    threads.wanted = n_threads;
    forget_if_foreign(old);
    Ok(())
}

/// A pool inherited through a fork must not be dropped: that would wait for threads that do not exist.
fn forget_if_foreign(pool: Option<(u32, Arc<ThreadPool>)>) {
    if let Some((process, pool)) = pool
        && process != std::process::id()
    {
        std::mem::forget(pool);
    }
}

fn pool() -> PyResult<Arc<ThreadPool>> {
    let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    let here = std::process::id();
    if let Some((process, pool)) = &threads.pool
        && *process == here
    {
        return Ok(pool.clone());
    }
    let made = ThreadPoolBuilder::new()
        .num_threads(threads.wanted)
        .thread_name(|i| format!("dpsumm-{i}"))
        .build()
        .map_err(|error| InvalidParameterError::new_err(format!("n_threads: {error}")))?;
    let made = Arc::new(made);
    forget_if_foreign(threads.pool.replace((here, made.clone())));
    Ok(made)
}

/// Run one unit of work, detached from the interpreter but on the thread that asks for it: to wake
/// another would take longer. `work` must not ask rayon for threads, which would be its own.
pub fn here<R: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<R, CoreError> + Send,
) -> PyResult<R> {
    Ok(py.detach(work)?)
}

/// How often a running kernel lets Python look for signals.
const POLL: Duration = Duration::from_millis(50);

/// Run `work` in the package's threads, detached from the interpreter.
///
/// `work` gets a flag to hand to [`dpsumm_core::points::Points::until`]. It is set when a Python
/// signal handler raises, as at Ctrl-C; the handler's exception is returned once `work` has ended.
pub fn detached<R: Send>(
    py: Python<'_>,
    work: impl FnOnce(&AtomicBool) -> Result<R, CoreError> + Send,
) -> PyResult<R> {
    let pool = pool()?;
    let stop = AtomicBool::new(false);
    let (sender, mut receiver) = mpsc::sync_channel(1);
    let mut raised = Ok(());
    let result = pool.in_place_scope(|scope| {
        let stop = &stop;
        // A panic drops the sender, and the scope hands the panic on.
        scope.spawn(move |_| drop(sender.send(work(stop))));
        loop {
            // Moved in, as a receiver may not be shared between threads.
            let receiver = &mut receiver;
            match py.detach(move || receiver.recv_timeout(POLL)) {
                Err(RecvTimeoutError::Timeout) if raised.is_ok() => {
                    raised = py.check_signals();
                    stop.store(raised.is_err(), Ordering::Relaxed);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Ok(result) => return Some(result),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    });
    raised?;
    match result {
        Some(result) => Ok(result?),
        None => Err(PyRuntimeError::new_err("a kernel ended without a result")),
    }
}
