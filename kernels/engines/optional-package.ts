import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** Function that loads a package by name. Tests pass their own function. */
export type Loader = (name: string) => unknown;

/**
 * Loads an optional package by `require`. The command line is a script with cached compiled code, in which `import()`
 * is unavailable.
 * @throws Error stating that the package is not installed, or why it cannot be loaded
 */
export async function loadOptionalPackage(name: string, load: Loader = (wanted) => require(wanted)): Promise<unknown> {
  try {
    return await load(name);
  } catch (cause) {
    throw new Error(
      `the package ${name} ${isMissing(cause) ? 'is not installed' : `cannot be loaded: ${readFirstLine(cause)}`}`,
      {
        cause,
      },
    );
  }
}

function isMissing(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'MODULE_NOT_FOUND';
}

function readFirstLine(cause: unknown): string {
  return String(cause instanceof Error ? cause.message : cause).split('\n', 1)[0]!;
}
