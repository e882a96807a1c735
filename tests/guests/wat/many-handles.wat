;; Makes ten thousand clock subscriptions and drops none: each takes room in the host's tables.
(component
  (import "wasi:io/poll@0.2.0" (instance $poll
    (export "pollable" (type $pollable (sub resource)))))
  (alias export $poll "pollable" (type $pollable))
  (import "wasi:clocks/monotonic-clock@0.2.0" (instance $clock
    (alias outer 1 $pollable (type $pollable))
    (export "subscribe-duration" (func (param "when" u64) (result (own $pollable))))))
  (core func $subscribe (canon lower (func $clock "subscribe-duration")))
  (core module $m
    (import "" "subscribe" (func $subscribe (param i64) (result i32)))
    (func (export "run")
      (local $left i32)
      (local.set $left (i32.const 10000))
      (loop $again
        (drop (call $subscribe (i64.const 1_000_000)))
        (local.set $left (i32.sub (local.get $left) (i32.const 1)))
        (br_if $again (local.get $left)))))
  (core instance $i (instantiate $m (with "" (instance (export "subscribe" (func $subscribe))))))
  (func (export "run") (canon lift (core func $i "run"))))
