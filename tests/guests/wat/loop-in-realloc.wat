;; An endless loop in `cabi_realloc`: it runs while the host lowers the arguments.
(component
  (core module $m
    (memory (export "memory") 1)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (loop $again (br $again))
      unreachable)
    (func (export "take") (param i32 i32)))
  (core instance $i (instantiate $m))
  (func (export "take") (param "text" string)
    (canon lift (core func $i "take")
      (memory (core memory $i "memory")) (realloc (core func $i "realloc")))))
