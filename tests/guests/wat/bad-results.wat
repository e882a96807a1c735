;; Results that break the rules of the component model: what the host lifts is not what the type
;; says.
(component
  (core module $m
    (memory (export "memory") 1)
    ;; A pointer and a length each: invalid UTF-8, a string outside memory, one that wraps round.
    (data (i32.const 0) "\20\00\00\00\04\00\00\00")
    (data (i32.const 8) "\00\00\00\10\04\00\00\00")
    (data (i32.const 16) "\00\ff\00\00\ff\ff\ff\ff")
    (data (i32.const 32) "a\ff\feb")
    (func (export "at-0") (result i32) (i32.const 0))
    (func (export "at-8") (result i32) (i32.const 8))
    (func (export "at-16") (result i32) (i32.const 16))
    (func (export "surrogate") (result i32) (i32.const 0xd800))
    (func (export "seventh") (result i32) (i32.const 7)))
  (core instance $i (instantiate $m))
  (func (export "invalid-utf8") (result string)
    (canon lift (core func $i "at-0") (memory (core memory $i "memory"))))
  (func (export "string-outside-memory") (result string)
    (canon lift (core func $i "at-8") (memory (core memory $i "memory"))))
  (func (export "string-round-the-end") (result string)
    (canon lift (core func $i "at-16") (memory (core memory $i "memory"))))
  (func (export "surrogate-char") (result char)
    (canon lift (core func $i "surrogate")))
  (type $answer' (enum "yes" "no"))
  (export $answer "answer" (type $answer'))
  (func (export "unknown-case") (result $answer)
    (canon lift (core func $i "seventh"))))
