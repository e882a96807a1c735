;; Grows a table until it is refused, then dies of the refusal.
(component
  (core module $m
    (table $t 1 funcref)
    (func (export "run")
      (loop $again
        (br_if $again
          (i32.ne (table.grow $t (ref.null func) (i32.const 1000)) (i32.const -1))))
      unreachable))
  (core instance $i (instantiate $m))
  (func (export "run") (canon lift (core func $i "run"))))
