import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { callOnce } from '#base/once.js';
import { findBundlePath } from '#bundle';

export type Transports = typeof import('./transports.js');

/**
 * Loads the packages at the first call. They come from a bundle, or from the compiled modules if the bundle is out of
 * date.
 */
export const loadTransports: () => Transports = callOnce(() => {
  const address = findBundlePath('transports.cjs') ?? new URL('./transports.js', import.meta.url).href;
  return createRequire(import.meta.url)(fileURLToPath(address)) as Transports;
});
