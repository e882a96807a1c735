;; The least that extism can call: it takes no input, gives no output, imports nothing and has no
;; memory.
(module (func (export "nop") (result i32) (i32.const 0)))
