import type { ResolveHook } from 'node:module';

/** Modules of the product that tests replace, with their replacements. */
const REPLACED_MODULES = [
  [/\/src\/store\/lmdb\/durable-commit\.js$/, new URL('./intercepted-commit.js', import.meta.url).href],
  [/\/src\/store\/lmdb\/probe-documents\.js$/, new URL('./unprobed-documents.js', import.meta.url).href],
] as const;

/**
 * Loads the module of the test in place of a module of the product. The module of the test itself imports the original.
 */
export const resolve: ResolveHook = async (specifier, context, next) => {
  const resolution = await next(specifier, context);
  const replacement = REPLACED_MODULES.find(([pattern]) => pattern.test(resolution.url))?.[1];
  return replacement === undefined || context.parentURL === replacement
    ? resolution
    : { ...resolution, url: replacement };
};
