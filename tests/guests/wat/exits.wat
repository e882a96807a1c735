;; Ends the program instead of answering. Even an exit that means success is no answer.
(component
  (import "wasi:cli/exit@0.2.0" (instance $exit
    (export "exit" (func (param "status" (result))))))
  (core func $exit (canon lower (func $exit "exit")))
  (core module $m
    (import "" "exit" (func $exit (param i32)))
    (func (export "zero") (call $exit (i32.const 0)))
    (func (export "one") (call $exit (i32.const 1))))
  (core instance $i (instantiate $m (with "" (instance (export "exit" (func $exit))))))
  (func (export "zero") (canon lift (core func $i "zero")))
  (func (export "one") (canon lift (core func $i "one"))))
