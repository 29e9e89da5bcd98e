import { readFileSync } from 'node:fs';

/** A golden file of `test/golden/numerics`; `make.py` in the same folder generates them. */
export function golden<T>(name: string): T {
  const file = new URL(`../../../test/golden/numerics/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')) as T; // `make.py` determines the format of the file.
}
