// Writes the parts of the clients that derive from the contract: types, operations, error codes and version. The program
// needs them to compile, so the generator is bundled from its sources, which needs no types. The modules of the bundle
// are the inputs of this build step.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const GENERATOR = 'test/clients/sources.ts';
const BUNDLE = join(ROOT, 'dist/.build/clients.mjs');
/** Modules from which the clients were generated, relative to the project. */
const MODULES = join(ROOT, 'dist/.build/clients.json');

const bundle = await rolldown({
  cwd: ROOT,
  platform: 'node',
  logLevel: 'warn',
  input: GENERATOR,
  external: (id) => !/^(?:[.#]|@oxc-project\/)/.test(id) && !isAbsolute(id) && id !== GENERATOR,
  // Without the condition of compiled modules, the imports of package.json lead to sources.
  resolve: { conditionNames: ['default'] },
  treeshake: false,
});
const { output } = await bundle.write({ file: BUNDLE, format: 'esm', codeSplitting: false });
const { generateClientSources } = await import(pathToFileURL(BUNDLE).href);
for (const [file, text] of Object.entries(generateClientSources())) {
  const path = join(ROOT, file);
  if (existsSync(path) && readFileSync(path, 'utf8') === text) continue;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
const modules = output[0].moduleIds.filter((id) => id.startsWith(ROOT)).map((id) => relative(ROOT, id));
writeFileSync(MODULES, `${JSON.stringify(modules.toSorted(), null, 1)}\n`);
