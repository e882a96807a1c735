;; Counts its calls in memory and in a global: a sandbox that is used twice answers more than 1.
(component
  (core module $m
    (memory 1)
    (global $calls (mut i32) (i32.const 0))
    (func (export "count") (result i32)
      (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
      (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 1)))
      (i32.or (global.get $calls) (i32.load (i32.const 0)))))
  (core instance $i (instantiate $m))
  (func (export "count") (result u32) (canon lift (core func $i "count"))))
