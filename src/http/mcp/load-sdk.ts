import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { once } from '#base/once.js';
import { bundled } from '#bundle';

export type Sdk = typeof import('./sdk.js');

/** Where the sources are compiled only; the name is computed, so that no bundle contains the SDK by this import. */
const COMPILED: string = './sdk.js';

/** The SDK, from a bundle of its parts that the package contains. Loaded at the first call. */
export const loadSdk: () => Promise<Sdk> = once(async () => {
  const script = bundled('mcp-sdk.cjs');
  if (script === undefined) return (await import(COMPILED)) as Sdk;
  return createRequire(import.meta.url)(fileURLToPath(script)) as Sdk;
});
