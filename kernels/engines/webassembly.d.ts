/** Parts of the WebAssembly API that engines use. The compiler declares them only with the DOM library. */
declare namespace WebAssembly {
  interface MemoryDescriptor {
    readonly initial: number;
    readonly maximum: number;
    readonly shared: true;
  }
  interface Memory {
    readonly buffer: SharedArrayBuffer;
    /** Grows the memory by a number of pages and returns the previous number of pages. */
    grow(pages: number): number;
  }
  type Module = object;
  interface Instance {
    readonly exports: object;
  }
  const Memory: new (descriptor: MemoryDescriptor) => Memory;
  const Module: new (bytes: Uint8Array) => Module;
  /** Imports of the kernel module. */
  interface Imports {
    readonly env: { readonly memory: Memory };
    readonly native: object;
  }
  const Instance: new (module: Module, imports: Imports) => Instance;
  function validate(bytes: Uint8Array): boolean;
}
