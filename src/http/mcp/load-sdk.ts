import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { callOnce } from '#base/once.js';
import { findBundlePath } from '#bundle';

export type Sdk = typeof import('./sdk.js');

/**
 * Loads the SDK at the first call. It comes from a bundle, or from the compiled module if the bundle is out of date.
 */
export const loadSdk: () => Sdk = callOnce(() => {
  const address = findBundlePath('mcp-sdk.cjs') ?? new URL('./sdk.js', import.meta.url).href;
  return createRequire(import.meta.url)(fileURLToPath(address)) as Sdk;
});
