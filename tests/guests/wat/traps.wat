;; The faults that wasm itself ends with a trap.
(component
  (core module $m
    (memory 1)
    (table 1 funcref)
    (type $nothing (func))
    (func (export "unreachable") unreachable)
    (func (export "divide") (param i32) (result i32)
      (i32.div_u (i32.const 1) (local.get 0)))
    (func $recurse (export "recurse") (call $recurse) (call $recurse))
    (func (export "outside") (drop (i32.load (i32.const -4))))
    (func (export "call-null") (call_indirect (type $nothing) (i32.const 0))))
  (core instance $i (instantiate $m))
  (func (export "unreachable") (canon lift (core func $i "unreachable")))
  (func (export "divide-by") (param "divisor" u32) (result u32)
    (canon lift (core func $i "divide")))
  (func (export "recurse") (canon lift (core func $i "recurse")))
  (func (export "read-outside-memory") (canon lift (core func $i "outside")))
  (func (export "call-null") (canon lift (core func $i "call-null"))))
