import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { constants, Script } from 'node:vm';
import { findBundlePath } from './bundle.js';

type Dispatch = typeof import('#cli/dispatch.js');

const SCRIPT = fileURLToPath(new URL('../bundle/dispatch.cjs', import.meta.url));

/** Not imported: an import of `node:process` reads each of its members, and one of them takes 15 ms. */
const { arch, platform, version } = process;

/** File with the code that V8 compiled from the script at build time, for this version of Node.js and this platform. */
export const CODE_CACHE = fileURLToPath(
  new URL(`../bundle/dispatch-${version}-${platform}-${arch}.cache`, import.meta.url),
);

/**
 * Returns the command line as one script with compiled functions; undefined if the script was built by another Node
 * version or with other flags. Modules have no code cache before Node 22, and compiling took a quarter of the time of a
 * start.
 */
export function loadCompiledScript(): Dispatch | undefined {
  if (findBundlePath('dispatch') === undefined) return undefined;
  const cachedData = readIfThere(CODE_CACHE);
  if (cachedData === undefined) return undefined;
  const script = readScript(cachedData);
  return script.cachedDataRejected === true ? undefined : runScript(script);
}

export function readScript(cachedData?: Buffer): Script {
  return new Script(readFileSync(SCRIPT, 'latin1'), {
    filename: SCRIPT,
    ...(cachedData === undefined ? {} : { cachedData }),
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
}

/** Runs the script and returns its exports. */
export function runScript(script: Script): Dispatch {
  const module = { exports: {} };
  const run = script.runInThisContext() as (...own: readonly unknown[]) => void; // written by `scripts/bundle.mjs`
  run(module.exports, createRequire(SCRIPT), module, SCRIPT);
  return module.exports as Dispatch;
}

function readIfThere(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch {
    return undefined; // compiling without the cache is slower but correct
  }
}
