import { readFileSync } from 'node:fs';

/** A golden file of `test/golden/numerics`; how they were made is said by `make.py` beside them. */
export function golden<T>(name: string): T {
  const file = new URL(`../../../test/golden/numerics/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')) as T; // Our own file: its shape is that of make.py.
}
