//! Regular expressions as Go writes and reads them (RE2), run by `regex-automata` in linear time.
