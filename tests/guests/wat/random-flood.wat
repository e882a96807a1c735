;; Asks for 4 GiB of random bytes in one go, which the host would have to hold, of either generator.
(component
  (import "wasi:random/random@0.2.0" (instance $random
    (export "get-random-bytes" (func (param "len" u64) (result (list u8))))))
  (import "wasi:random/insecure@0.2.0" (instance $insecure
    (export "get-insecure-random-bytes" (func (param "len" u64) (result (list u8))))))
  (core module $memory
    (memory (export "memory") 1)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024)))
  (core instance $memory (instantiate $memory))
  (core func $get
    (canon lower (func $random "get-random-bytes")
      (memory (core memory $memory "memory")) (realloc (core func $memory "realloc"))))
  (core func $get-insecure
    (canon lower (func $insecure "get-insecure-random-bytes")
      (memory (core memory $memory "memory")) (realloc (core func $memory "realloc"))))
  (core module $m
    (import "" "get" (func $get (param i64 i32)))
    (import "" "get-insecure" (func $get-insecure (param i64 i32)))
    (func (export "insecure") (call $get-insecure (i64.const 0x1_0000_0000) (i32.const 0)))
    (func (export "run") (call $get (i64.const 0x1_0000_0000) (i32.const 0))))
  (core instance $i (instantiate $m (with "" (instance
    (export "get" (func $get)) (export "get-insecure" (func $get-insecure))))))
  (func (export "insecure") (canon lift (core func $i "insecure")))
  (func (export "run") (canon lift (core func $i "run"))))
