;; Takes memory page by page until it is refused. One tool dies of the refusal, as most code does;
;; the other bears it and says how many pages it got.
(component
  (core module $m
    (memory 1)
    (func $grow
      (loop $again
        (br_if $again (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))))
    (func (export "die") (call $grow) unreachable)
    (func (export "bear") (result i32) (call $grow) (memory.size)))
  (core instance $i (instantiate $m))
  (func (export "grow-and-die") (canon lift (core func $i "die")))
  (func (export "grow-and-bear-it") (result u32) (canon lift (core func $i "bear"))))
