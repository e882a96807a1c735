;; A shared memory, which the host's own limiter is never asked about.
(component
  (core module $m
    (memory 1 16 shared)
    (func (export "run")))
  (core instance $i (instantiate $m))
  (func (export "run") (canon lift (core func $i "run"))))
