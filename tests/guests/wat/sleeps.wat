;; Sleeps that cost no fuel: time passes in the host, where neither fuel nor the epoch counts it.
(component
  (import "wasi:io/poll@0.2.0" (instance $poll
    (export "pollable" (type $pollable (sub resource)))
    (export "[method]pollable.block" (func (param "self" (borrow $pollable))))))
  (alias export $poll "pollable" (type $pollable))
  (import "wasi:clocks/monotonic-clock@0.2.0" (instance $clock
    (alias outer 1 $pollable (type $pollable))
    (export "subscribe-duration" (func (param "when" u64) (result (own $pollable))))))
  (core func $block (canon lower (func $poll "[method]pollable.block")))
  (core func $subscribe (canon lower (func $clock "subscribe-duration")))
  (core func $drop (canon resource.drop $pollable))
  (core module $m
    (import "" "block" (func $block (param i32)))
    (import "" "subscribe" (func $subscribe (param i64) (result i32)))
    (import "" "drop" (func $drop (param i32)))
    (func $sleep (param $nanoseconds i64)
      (local $pollable i32)
      (local.set $pollable (call $subscribe (local.get $nanoseconds)))
      (call $block (local.get $pollable))
      (call $drop (local.get $pollable)))
    (func (export "naps")
      (loop $again
        (call $sleep (i64.const 1_000_000))
        (br $again)))
    (func (export "hour") (call $sleep (i64.const 3_600_000_000_000)))
    (func (export "for-ever") (call $sleep (i64.const -1))))
  (core instance $i (instantiate $m (with "" (instance
    (export "block" (func $block))
    (export "subscribe" (func $subscribe))
    (export "drop" (func $drop))))))
  (func (export "naps") (canon lift (core func $i "naps")))
  (func (export "hour") (canon lift (core func $i "hour")))
  (func (export "for-ever") (canon lift (core func $i "for-ever"))))
