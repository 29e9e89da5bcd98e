import type { ResolveHook } from 'node:module';

/** The replacements of modules of the program for tests. */
const REPLACED = [
  [/\/src\/store\/lmdb\/durable-commit\.js$/, new URL('./intercepted-commit.js', import.meta.url).href],
  [/\/src\/store\/lmdb\/probe-documents\.js$/, new URL('./unprobed-documents.js', import.meta.url).href],
] as const;

/** Importers of a replaced module get the module of the test, except for that module itself. */
export const resolve: ResolveHook = async (specifier, context, next) => {
  const found = await next(specifier, context);
  const replacement = REPLACED.find(([pattern]) => pattern.test(found.url))?.[1];
  return replacement === undefined || context.parentURL === replacement ? found : { ...found, url: replacement };
};
