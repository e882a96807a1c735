;; An endless loop in the destructor of a resource that the component made and dropped itself.
(component
  (core module $d
    (func (export "spin") (param i32) (loop $again (br $again))))
  (core instance $d (instantiate $d))
  (type $trap (resource (rep i32) (dtor (core func $d "spin"))))
  (core func $make (canon resource.new $trap))
  (core func $drop (canon resource.drop $trap))
  (core module $m
    (import "" "make" (func $make (param i32) (result i32)))
    (import "" "drop" (func $drop (param i32)))
    (func (export "run") (call $drop (call $make (i32.const 1)))))
  (core instance $i (instantiate $m
    (with "" (instance (export "make" (func $make)) (export "drop" (func $drop))))))
  (func (export "run") (canon lift (core func $i "run"))))
