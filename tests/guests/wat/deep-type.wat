;; A tool whose result type is nested ninety deep, beside a plain one: the first can't be given a
;; schema of bearable size, which must not cost the second.
(component
  (core module $m
    (memory (export "memory") 1)
    (func (export "empty") (result i32) (i32.const 0))
    (func (export "plain") (result i32) (i32.const 7)))
  (core instance $i (instantiate $m))
  (func (export "deep")
    (result
      (list (list (list (list (list (list (list (list (list (list
      (list (list (list (list (list (list (list (list (list (list
      (list (list (list (list (list (list (list (list (list (list
      (list (list (list (list (list (list (list (list (list (list
      (list (list (list (list (list (list (list (list (list (list
      (list (list (list (list (list (list (list (list (list (list
      (list (list (list (list (list (list (list (list (list (list
      (list (list (list (list (list (list (list (list (list (list
      (list (list (list (list (list (list (list (list (list (list u8)))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))
    (canon lift (core func $i "empty") (memory (core memory $i "memory"))))
  (func (export "plain") (result u32) (canon lift (core func $i "plain"))))
