;; Results that are far bigger for the host than for the guest.
(component
  (core module $m
    ;; 64 MiB of zeros (which are valid UTF-8) from 64 KiB on.
    (memory (export "memory") 1025)
    ;; A pointer and a length each: 64 MiB, 1 MiB, the list of strings, the outermost nested list.
    (data (i32.const 0) "\00\00\01\00\00\00\00\04")
    (data (i32.const 8) "\00\00\01\00\00\00\10\00")
    (data (i32.const 16) "\00\10\00\00\00\10\00\00")
    (data (i32.const 24) "\00\01\00\00\08\00\00\00")
    (func (export "at-0") (result i32) (i32.const 0))
    (func (export "at-8") (result i32) (i32.const 8))
    ;; 4096 strings that are all the same 1 MiB: 4 GiB once lifted.
    (func (export "alias") (result i32)
      (local $at i32)
      (local.set $at (i32.const 4096))
      (loop $again
        (i64.store (local.get $at) (i64.const 0x0010_0000_0001_0000))
        (local.set $at (i32.add (local.get $at) (i32.const 8)))
        (br_if $again (i32.lt_u (local.get $at) (i32.const 36864))))
      (i32.const 16))
    ;; Twelve levels of lists, each of eight elements that are all the same list of the next
    ;; level: 8^12 elements once lifted. Level n has its elements at 256 + 64 n.
    (func (export "nest") (result i32)
      (local $at i32)
      (local.set $at (i32.const 256))
      (loop $again
        (i32.store (local.get $at)
          (i32.add (i32.const 64) (i32.and (local.get $at) (i32.const -64))))
        (i32.store offset=4 (local.get $at) (i32.const 8))
        (local.set $at (i32.add (local.get $at) (i32.const 8)))
        (br_if $again (i32.lt_u (local.get $at) (i32.const 1024))))
      (i32.const 24)))
  (core instance $i (instantiate $m))
  (func (export "long-string") (result string)
    (canon lift (core func $i "at-0") (memory (core memory $i "memory"))))
  (func (export "long-bytes") (result (list u8))
    (canon lift (core func $i "at-0") (memory (core memory $i "memory"))))
  (func (export "string-above-what-is-shown") (result string)
    (canon lift (core func $i "at-8") (memory (core memory $i "memory"))))
  (func (export "aliased-strings") (result (list string))
    (canon lift (core func $i "alias") (memory (core memory $i "memory"))))
  (func (export "nested-lists")
    (result (list (list (list (list (list (list
            (list (list (list (list (list (list u8)))))))))))))
    (canon lift (core func $i "nest") (memory (core memory $i "memory")))))
