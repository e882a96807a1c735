;; An endless loop in a start function: it runs while the sandbox is made, before any export.
(component
  (core module $m
    (func $spin (loop $again (br $again)))
    (start $spin)
    (func (export "run")))
  (core instance $i (instantiate $m))
  (func (export "run") (canon lift (core func $i "run"))))
