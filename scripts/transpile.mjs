// Writes the compiled files of the sources without checking their types, in seconds instead of a minute: for the first
// start of a fresh copy. `npm run build` and later starts compile with all checks.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { transformSync } from 'rolldown/utils';

const FOLDERS = ['src', 'kernels', 'workers'];
const OMITTED = /^(?:src\/console\/|kernels\/wasm\/)|\.d\.ts$/;

for (const folder of FOLDERS)
  for (const name of readdirSync(folder, { recursive: true })) {
    const file = join(folder, name).replaceAll('\\', '/');
    if (/\.c?ts$/.test(file) && !OMITTED.test(file)) transpile(file);
  }

function transpile(file) {
  const { code, errors } = transformSync(file, readFileSync(file, 'utf8'), {
    typescript: { onlyRemoveTypeImports: true },
  });
  if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`);
  if (code.includes('"@oxc-project/runtime/')) throw new Error(`${file}: needs a package that is not installed.`);
  const output = join('dist', file.replace(/ts$/, 'js'));
  mkdirSync(dirname(output), { recursive: true });
  writeFileSync(output, code);
}
