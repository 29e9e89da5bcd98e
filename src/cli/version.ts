import { readFileSync } from 'node:fs';

/** The folder of the package, above the compiled files. */
export const PACKAGE_ROOT = new URL('../../../', import.meta.url);

/** The engine version, as the package declares it. */
export function engineVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('package.json', PACKAGE_ROOT), 'utf8')) as { version: string };
  return version;
}
