//! Logins at clouds: registry credentials of AWS, Azure and Google for the identity that this process has.
