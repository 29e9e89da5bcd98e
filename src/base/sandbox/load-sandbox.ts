import { meterLoops, STEPS_EXPORT, formatVariableExport } from './meter-loops.js';
import { readQuickJsFiles } from './quickjs-files.js';
import type { Interpreter } from './interpreter.js';
import { createSandbox, type SandboxLimits, type SandboxTerms } from './quickjs-sandbox.js';
import { provideSandbox } from './sandbox.js';
import { PrivateWebAssembly, type PrivateMemory, type WasmGlobal } from './webassembly-types.js';

const PAGE_BYTES = 65_536;
/** Initial memory in pages that the module of the QuickJS package requires. */
const FIRST_PAGES = 256;
/** Stack size of the module, without its first page, which may contain data. */
const STACK_BYTES = 5 * 2 ** 20 - PAGE_BYTES;

let loadingPromise: Promise<void> | undefined;

/** Loads the sandbox of this thread, once. @cost some 100 ms at the first call */
export function loadSandbox(terms: SandboxTerms): Promise<void> {
  loadingPromise ??= openInterpreter(terms).then((interpreter) => provideSandbox(createSandbox(interpreter, terms)));
  return loadingPromise;
}

/** Opens a separate instance of QuickJS that counts its steps. */
export async function openInterpreter(limits: SandboxLimits): Promise<Interpreter> {
  const { wasm, load, Functions } = await readQuickJsFiles();
  const meteredModule = meterLoops(wasm);
  const compiledModule = new PrivateWebAssembly.Module(meteredModule.bytes);
  const memory = new PrivateWebAssembly.Memory({
    initial: FIRST_PAGES,
    maximum: FIRST_PAGES + limits.memory / PAGE_BYTES,
  });
  let moduleExports: Readonly<Record<string, unknown>> = {};
  const module = await load({
    wasmMemory: memory,
    instantiateWasm(imports, succeed) {
      const instance = new PrivateWebAssembly.Instance(compiledModule, imports);
      moduleExports = instance.exports;
      succeed(instance);
      return moduleExports;
    },
  });
  const variables = Array.from(
    { length: meteredModule.variables },
    (_, k) => moduleExports[formatVariableExport(k)] as WasmGlobal,
  );
  return {
    module,
    ffi: new Functions(module),
    memory,
    variables,
    steps: moduleExports[STEPS_EXPORT] as WasmGlobal,
    stack: findStack(memory, variables[0]!.value), // the first variable of Emscripten is the end of the stack
  };
}

/** Returns the bounds of the stack. @throws Error if the module has another memory layout */
function findStack({ buffer }: PrivateMemory, top: number): Interpreter['stack'] {
  const to = top & ~7;
  const from = to - STACK_BYTES;
  const isUnused = from > 0 && new Float64Array(buffer, from, STACK_BYTES / 8 - 512).every((word) => word === 0);
  if (!isUnused) throw new Error('the stack of QuickJS is not where it was');
  return { from, to };
}
