// Packages of npm whose modules a bundle contains. Each build step writes the list of its bundle; the bill of materials
// and the licences derive from it.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Folders of the bundles below dist. Each contains `packages.json`. */
export const BUNDLES = ['bundle', 'console', 'engine'];

/** Packages that are not bundled: native modules, and modules that load files from their own folder. */
const EXTERNAL_PACKAGES = [
  '@duckdb/node-bindings',
  '@tensorflow/',
  '@jitl/quickjs-wasmfile-release-sync',
  'koffi',
  'lmdb',
  'node-sqlite3-wasm',
  'pdfkit',
  'pg',
  'pg-copy-streams',
  'pino',
  'piscina',
];

/** Returns true if a module belongs to a package that the program loads from its folder. */
export const isExternal = (id) =>
  EXTERNAL_PACKAGES.some((name) => id === name || id.startsWith(name.endsWith('/') ? name : `${name}/`));

/** Plugin of Rolldown and Vite that collects the modules of a bundle, those of style sheets and files included. */
export function createModuleCollector() {
  const ids = new Set();
  const plugin = {
    name: 'bundled-modules',
    generateBundle(_options, output) {
      for (const id of this.getModuleIds()) ids.add(id);
      for (const { originalFileNames = [] } of Object.values(output))
        for (const file of originalFileNames) ids.add(file);
    },
  };
  return { ids, plugin };
}

const PACKAGE = /^.*?(node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+)(?=\/)/s;

/** Returns the folders of the packages of modules, relative to the project and sorted. */
export function listPackageFolders(ids) {
  const folders = [...ids].flatMap((id) => PACKAGE.exec(id.replaceAll('\\', '/'))?.[1] ?? []);
  return [...new Set(folders)].toSorted();
}

/** Reads name, version and licence of an installed package. */
export function readPackage(folder) {
  const { name, version, license, licenses } = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'));
  // Older packages list their licences.
  const licence = license?.type ?? license ?? licenses?.map(({ type }) => type).join(' OR ');
  return { name, version, licence };
}

/** Writes the packages of a bundle, and their licences to a file in its folder. */
export function writePackages(out, ids, licenceFile) {
  const folders = listPackageFolders(ids);
  writeFileSync(join(out, 'packages.json'), `${JSON.stringify(folders, null, 1)}\n`);
  writeFileSync(join(out, licenceFile), folders.map(formatLicence).join(`\n${'-'.repeat(80)}\n\n`));
}

function formatLicence(folder) {
  const { name, version, licence } = readPackage(folder);
  const files = readdirSync(join(ROOT, folder)).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file));
  const text = files.map((file) => readFileSync(join(ROOT, folder, file), 'utf8').trim()).join('\n\n');
  return `${name} ${version} (${licence})\n\n${text}\n`;
}

/**
 * Returns the folders of the packages of every bundle, each with the names of its bundles.
 * @throws Error if a bundle has not been built
 */
export function readBundledPackages() {
  const packages = new Map();
  for (const bundle of BUNDLES) {
    const file = join(ROOT, 'dist', bundle, 'packages.json');
    if (!existsSync(file)) throw new Error(`${file} is missing: run npm run build before`);
    for (const folder of JSON.parse(readFileSync(file, 'utf8')))
      packages.set(folder, [...(packages.get(folder) ?? []), bundle]);
  }
  return packages;
}
