//! The single flight and the work queue, with locks whose order shuttle picks. `still` has what they need besides: a clock that stands,
//! so that nothing is done only because time has passed.

pub mod locks;
pub mod still;

#[allow(dead_code)]
pub mod single_flight {
    include!(concat!(env!("OUT_DIR"), "/single_flight.rs"));
}

#[allow(dead_code)]
pub mod work {
    pub mod namespaces {
        include!(concat!(env!("OUT_DIR"), "/namespaces.rs"));
    }
    pub mod queue {
        include!(concat!(env!("OUT_DIR"), "/queue.rs"));
    }
    pub mod timers {
        include!(concat!(env!("OUT_DIR"), "/timers.rs"));
    }
}
