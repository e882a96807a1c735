;; A core module: valid WebAssembly, but no component.
(module
  (func (export "run")))
