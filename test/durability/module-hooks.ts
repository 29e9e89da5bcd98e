import type { ResolveHook } from 'node:module';

/** Modules of the product that tests replace, with their replacements. */
const REPLACED_MODULES = [
  [/\/src\/store\/lmdb\/durable-commit\.js$/, new URL('./intercepted-commit.js', import.meta.url).href],
  [/\/src\/store\/lmdb\/probe-documents\.js$/, new URL('./unprobed-documents.js', import.meta.url).href],
] as const;

/** Resolves a replaced module to the test's module; the replacement itself imports the original. */
export const resolve: ResolveHook = async (specifier, context, next) => {
  const resolution = await next(specifier, context);
  const replacement = REPLACED_MODULES.find(([pattern]) => pattern.test(resolution.url))?.[1];
  return replacement === undefined || context.parentURL === replacement
    ? resolution
    : { ...resolution, url: replacement };
};
