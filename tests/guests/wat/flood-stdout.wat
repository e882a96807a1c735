;; Floods standard output: once with 4 MiB and an answer, once without end.
(component
  (import "wasi:io/error@0.2.0" (instance $error
    (export "error" (type (sub resource)))))
  (alias export $error "error" (type $error))
  (import "wasi:io/streams@0.2.0" (instance $streams
    (export "output-stream" (type $stream (sub resource)))
    (alias outer 1 $error (type $error))
    (type $failure' (variant (case "last-operation-failed" (own $error)) (case "closed")))
    (export "stream-error" (type $failure (eq $failure')))
    (export "[method]output-stream.blocking-write-and-flush"
      (func (param "self" (borrow $stream)) (param "contents" (list u8))
        (result (result (error $failure)))))))
  (alias export $streams "output-stream" (type $stream))
  (import "wasi:cli/stdout@0.2.0" (instance $stdout
    (alias outer 1 $stream (type $stream))
    (export "get-stdout" (func (result (own $stream))))))
  (core module $memory
    (memory (export "memory") 1)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) unreachable))
  (core instance $memory (instantiate $memory))
  (core func $get (canon lower (func $stdout "get-stdout")))
  (core func $write
    (canon lower (func $streams "[method]output-stream.blocking-write-and-flush")
      (memory (core memory $memory "memory"))))
  (core module $m
    (import "" "memory" (memory 1))
    (import "" "get" (func $get (result i32)))
    (import "" "write" (func $write (param i32 i32 i32 i32)))
    ;; Writes $times blocks of 4 KiB, the most that one write takes; the result goes behind them.
    (func $flood (param $times i64)
      (local $stream i32)
      (memory.fill (i32.const 0) (i32.const 120) (i32.const 4096))
      (local.set $stream (call $get))
      (loop $again
        (call $write (local.get $stream) (i32.const 0) (i32.const 4096) (i32.const 8192))
        (if (i32.load8_u (i32.const 8192)) (then unreachable))
        (local.set $times (i64.sub (local.get $times) (i64.const 1)))
        (br_if $again (i64.ne (local.get $times) (i64.const 0)))))
    (func (export "some") (call $flood (i64.const 1024)))
    (func (export "endless") (call $flood (i64.const -1))))
  (core instance $i (instantiate $m (with "" (instance
    (export "memory" (memory $memory "memory"))
    (export "get" (func $get))
    (export "write" (func $write))))))
  (func (export "four-mebibytes") (canon lift (core func $i "some")))
  (func (export "endless") (canon lift (core func $i "endless"))))
