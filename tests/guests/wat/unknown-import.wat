;; Imports what nobody provides.
(component
  (import "acme:wallet/keys@1.0.0" (instance $keys
    (export "sign" (func (param "message" string) (result string)))))
  (core module $m (func (export "run")))
  (core instance $i (instantiate $m))
  (func (export "run") (canon lift (core func $i "run"))))
