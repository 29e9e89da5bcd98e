import { readFileSync } from 'node:fs';

/** Returns the version that the package declares. The bundle contains it as a text. */
export function readPackageVersion(): string {
  const file = new URL('../../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string }).version;
}
