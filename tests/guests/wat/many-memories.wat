;; Four memories of 6 MiB: each is small, their sum is not. A limit that counts memories one by one
;; lets the sum pass.
(component
  (core module $m
    (memory 96)
    (func (export "run")))
  (core instance $a (instantiate $m))
  (core instance $b (instantiate $m))
  (core instance $c (instantiate $m))
  (core instance $d (instantiate $m))
  (func (export "run") (canon lift (core func $d "run"))))
