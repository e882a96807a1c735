//! extism's library: the functions that are called, as its header `extism.h` (1.41) declares them.
//!
//! Measures nothing.

use std::ffi::{CStr, c_char};
use std::marker::{PhantomData, PhantomPinned};
use std::path::Path;
use std::ptr::null_mut;

use libloading::{Library, Symbol};

/// A value of the library's, which only pointers lead to.
#[repr(C)]
struct Opaque(PhantomData<(*mut u8, PhantomPinned)>);

type NewCompiled = unsafe extern "C" fn(
    wasm: *const u8,
    wasm_len: u64,
    functions: *mut *const Opaque,
    functions_count: u64,
    with_wasi: bool,
    fuel: u64,
    error: *mut *mut c_char,
) -> *mut Opaque;
type NewPlugin =
    unsafe extern "C" fn(compiled: *const Opaque, error: *mut *mut c_char) -> *mut Opaque;
type Call = unsafe extern "C" fn(
    plugin: *mut Opaque,
    function: *const c_char,
    input: *const u8,
    input_len: u64,
) -> i32;
type Free = unsafe extern "C" fn(*mut Opaque);

/// The library, and one plugin that it compiled.
pub(crate) struct Extism {
    compiled: *mut Opaque,
    new_plugin: NewPlugin,
    call: Call,
    free: Free,
    /// What the functions are in.
    _library: Library,
}

/// A plugin that can be called.
pub(crate) struct Plugin<'a> {
    of: &'a Extism,
    plugin: *mut Opaque,
}

impl Extism {
    /// Loads the library and has it compile what a manifest names.
    pub(crate) fn new(library: &Path, manifest: &str, fuel: u64) -> Result<Self, String> {
        // SAFETY: the library is the one that pip checked by its hash; starting it does nothing else.
        let library = unsafe { Library::new(library) }.map_err(|error| error.to_string())?;
        // SAFETY: the types are those of its header.
        let (new_compiled, new_plugin, call, free) = unsafe {
            (
                function::<NewCompiled>(&library, "extism_compiled_plugin_new_with_fuel_limit")?,
                function::<NewPlugin>(&library, "extism_plugin_new_from_compiled")?,
                function::<Call>(&library, "extism_plugin_call")?,
                function::<Free>(&library, "extism_plugin_free")?,
            )
        };
        let (bytes, mut error) = (manifest.as_bytes(), null_mut());
        // SAFETY: the bytes are there for as long as the call takes; there are no functions.
        let compiled = unsafe {
            new_compiled(bytes.as_ptr(), bytes.len() as u64, null_mut(), 0, true, fuel, &mut error)
        };
        // SAFETY: the library wrote it.
        unsafe { made(compiled, error) }?;
        Ok(Self { compiled, new_plugin, call, free, _library: library })
    }

    /// A new plugin from the compiled one.
    pub(crate) fn plugin(&self) -> Result<Plugin<'_>, String> {
        let mut error = null_mut();
        // SAFETY: what was compiled is as old as the library and never freed.
        let plugin = unsafe { (self.new_plugin)(self.compiled, &mut error) };
        // SAFETY: the library wrote it.
        unsafe { made(plugin, error) }?;
        Ok(Plugin { of: self, plugin })
    }
}

impl Plugin<'_> {
    /// One call of a function that gives 0.
    pub(crate) fn call(&mut self, function: &CStr) -> Result<(), String> {
        let input = b"{}";
        // SAFETY: name and input are there for as long as the call takes.
        let code = unsafe {
            (self.of.call)(self.plugin, function.as_ptr(), input.as_ptr(), input.len() as u64)
        };
        if code == 0 { Ok(()) } else { Err(format!("extism's call ended with {code}")) }
    }
}

impl Drop for Plugin<'_> {
    fn drop(&mut self) {
        // SAFETY: nobody else has it.
        unsafe { (self.of.free)(self.plugin) }
    }
}

/// # Safety
/// The function must have this type.
unsafe fn function<T: Copy>(library: &Library, name: &str) -> Result<T, String> {
    // SAFETY: as above.
    let found: Result<Symbol<'_, T>, _> = unsafe { library.get(name) };
    found.map(|found| *found).map_err(|error| error.to_string())
}

/// # Safety
/// `error` must be null or a text.
unsafe fn made(made: *const Opaque, error: *const c_char) -> Result<(), String> {
    if !made.is_null() {
        return Ok(());
    }
    if error.is_null() {
        return Err("extism gave nothing and doesn't say why".to_owned());
    }
    // SAFETY: as above.
    Err(unsafe { CStr::from_ptr(error) }.to_string_lossy().into_owned())
}
