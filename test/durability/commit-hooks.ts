import type { ResolveHook } from 'node:module';

const REPLACED = /\/src\/store\/lmdb\/durable-commit\.js$/;
const replacement = new URL('./intercepted-commit.js', import.meta.url).href;

/** Whoever asks for the module that commits gets the one of the test, but for that one itself. */
export const resolve: ResolveHook = async (specifier, context, next) => {
  const found = await next(specifier, context);
  return REPLACED.test(found.url) && context.parentURL !== replacement ? { ...found, url: replacement } : found;
};
