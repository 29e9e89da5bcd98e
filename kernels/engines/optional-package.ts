import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** Loads a package by name; tests give their own. */
export type Loader = (name: string) => unknown;

/**
 * A package that need not be installed. It is required, not imported: the command line is a script whose compiled code the
 * build keeps, and such a script knows no `import()`.
 * @throws Error saying that it is not installed, or why it cannot be loaded
 */
export async function optionalPackage(name: string, load: Loader = (wanted) => require(wanted)): Promise<unknown> {
  try {
    return await load(name);
  } catch (cause) {
    throw new Error(
      `the package ${name} ${isMissing(cause) ? 'is not installed' : `cannot be loaded: ${firstLine(cause)}`}`,
      {
        cause,
      },
    );
  }
}

function isMissing(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'MODULE_NOT_FOUND';
}

function firstLine(cause: unknown): string {
  return String(cause instanceof Error ? cause.message : cause).split('\n', 1)[0]!;
}
