;; Work without end in an export, in three shapes: a plain loop, a loop of bulk fills (which are
;; long between two checks of the clock), and a loop in what runs after the result was handed over.
(component
  (core module $m
    (memory (export "memory") 961)
    (func $spins (export "spin") (loop $again (br $again)))
    (func (export "fill")
      (loop $again
        (memory.fill (i32.const 0) (i32.const 7) (i32.const 62914560))
        (br $again)))
    (func (export "answer") (result i32) (i32.const 42))
    (func (export "after-answer") (param i32) (loop $again (br $again))))
  (core instance $i (instantiate $m))
  (func (export "spin") (canon lift (core func $i "spin")))
  (func (export "fill") (canon lift (core func $i "fill")))
  (func (export "spin-after-return") (result u32)
    (canon lift (core func $i "answer") (post-return (core func $i "after-answer")))))
