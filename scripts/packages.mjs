// `npm run packages`: builds, and writes every package of a release to dist/packages or another folder: divisor,
// @divisor/client and @divisor/engine for npm, a wheel and a source distribution for Python, the bill of materials, and
// the SHA-256 of each file. The same build gives the same bytes. Needs no Python and no network.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { zipSync } from 'fflate';
import { buildOrEnd } from './build.mjs';
import { isExternal, readBundledPackages } from './bundled-packages.mjs';
import { createBillOfMaterials, resolvePackage } from './sbom.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const OUT = resolve(process.argv[2] ?? join(ROOT, 'dist/packages'));
/** Contents of the packages of npm, one folder each. */
const STAGED = join(OUT, 'staged');
/** Tested versions of the packages that the service needs: `npm ci` in the folder of the package installs them. */
const SHRINKWRAP = 'npm-shrinkwrap.json';
/**
 * Matches files and folders of dist, data and src/clients that no release contains. The script of the command line is
 * only used with its code cache, which belongs to one version of Node.
 */
const UNSHIPPED =
  /\.(?:cache|map|tsbuildinfo)$|(?:^|\/)(?:__pycache__|dist\/(?:\.build|packages|bench|test)|dist\/bundle\/dispatch\.cjs)$/;
/** Time of each file in the wheel: that which npm gives to the files of a package. */
const PACKED_AT = new Date(1985, 9, 26, 8, 15);
/** Matches the reference to a source map, which no package contains. */
const SOURCE_MAP = /^\/\/# sourceMappingURL=.*\n?/m;

const hash = (bytes, encoding) => createHash('sha256').update(bytes).digest(encoding);

await buildOrEnd();
const { createTarParts } = await import('../dist/src/views/bundle/tar.js');
rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });
const read = (file) => readFileSync(join(ROOT, file), 'utf8');
const project = JSON.parse(read('package.json'));
const lock = JSON.parse(read('package-lock.json'));
const bill = `${JSON.stringify(createBillOfMaterials(project, lock, readBundledPackages()), null, 2)}\n`;

stageService();
stageClient();
stageEngine();
for (const name of readdirSync(STAGED))
  execFileSync('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', OUT], { cwd: join(STAGED, name) });
packPython();
writeFileSync(join(OUT, `divisor-${project.version}.cdx.json`), bill);
const files = readdirSync(OUT).filter((name) => statSync(join(OUT, name)).isFile());
const sums = files.map((name) => `${hash(readFileSync(join(OUT, name)), 'hex')}  ${name}\n`);
writeFileSync(join(OUT, 'SHA256SUMS'), sums.join(''));
for (const name of files)
  process.stdout.write(`${(statSync(join(OUT, name)).size / 1e6).toFixed(2).padStart(8)} MB  ${name}\n`);

/** Returns the manifest of a package with the members that all packages have. */
function createManifest(name, members) {
  const { version, license, type, engines } = project;
  // A registry accepts a provenance only for the repository whose workflow states it.
  const repository = process.env.GITHUB_REPOSITORY;
  return {
    name,
    version,
    license,
    type,
    engines,
    ...(repository === undefined ? {} : { repository: `git+https://github.com/${repository}.git` }),
    publishConfig: { access: 'public', provenance: true },
    ...members,
  };
}

/** Writes the files of a package to its folder. */
function stage(folder, manifest, files) {
  const written = { 'package.json': `${JSON.stringify(manifest, null, 2)}\n`, LICENSE: read('LICENSE'), ...files };
  for (const [name, content] of Object.entries(written)) {
    const path = join(STAGED, folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }
}

/**
 * Stages the service. Its bundles contain most packages, so the package depends on the others only; the bill of
 * materials inside lists both.
 */
function stageService() {
  const { description, bin, imports, exports, files, optionalDependencies, peerDependencies, peerDependenciesMeta } =
    project;
  const dependencies = Object.fromEntries(Object.entries(project.dependencies).filter(([name]) => isExternal(name)));
  const manifest = createManifest('divisor', {
    description,
    bin,
    imports,
    exports,
    files: [...files.filter((file) => !file.startsWith('!')), SHRINKWRAP],
    dependencies,
    optionalDependencies,
    peerDependencies,
    peerDependenciesMeta,
  });
  const isShipped = (path) => !UNSHIPPED.test(path);
  // A folder cannot be copied into itself, so the entries of dist are copied one by one.
  const places = manifest.files
    .filter((name) => name !== SHRINKWRAP)
    .flatMap((name) => (name === 'dist' ? readdirSync(join(ROOT, name)).map((entry) => `${name}/${entry}`) : [name]));
  for (const place of places.filter(isShipped))
    cpSync(join(ROOT, place), join(STAGED, 'divisor', place), { recursive: true, filter: isShipped });
  stage('divisor', manifest, {
    'README.md': read('README.md'),
    'dist/sbom.cdx.json': bill,
    [SHRINKWRAP]: `${JSON.stringify(createShrinkwrap(manifest), null, 2)}\n`,
    ...createAuditFiles(manifest),
  });
}

/**
 * Returns the manifest and the lock file by which `npm audit --package-lock-only` in `dist/audit` of an installation
 * checks the bundled packages, too.
 */
function createAuditFiles({ version, license, optionalDependencies }) {
  const { dependencies } = project;
  const manifest = { name: 'divisor-audit', version, license, private: true, dependencies, optionalDependencies };
  return {
    'dist/audit/package.json': `${JSON.stringify(manifest, null, 2)}\n`,
    'dist/audit/package-lock.json': `${JSON.stringify(createShrinkwrap(manifest), null, 2)}\n`,
  };
}

/** Returns the entries of the lock file that a manifest reaches. */
function createShrinkwrap(manifest) {
  const places = new Set(['']);
  const packages = { ...lock.packages, '': manifest };
  for (const place of places) {
    const { dependencies, optionalDependencies } = packages[place];
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const found = resolvePackage(packages, place, name);
      if (found !== undefined) places.add(found);
    }
  }
  const { name, version, license, engines, bin, dependencies, optionalDependencies } = manifest;
  const { peerDependencies, peerDependenciesMeta } = manifest;
  const root = { name, version, license, bin, dependencies, engines, optionalDependencies };
  return {
    name,
    version,
    lockfileVersion: lock.lockfileVersion,
    requires: true,
    packages: {
      '': { ...root, peerDependencies, peerDependenciesMeta },
      ...Object.fromEntries(Object.entries(lock.packages).filter(([place]) => place !== '' && places.has(place))),
    },
  };
}

function stageClient() {
  const names = ['divisor', 'contract', 'errors'].flatMap((name) => [`${name}.js`, `${name}.d.ts`]);
  const manifest = createManifest('@divisor/client', {
    description: 'The typed client of Divisor, index construction and analytics as a service.',
    exports: { '.': { types: './divisor.d.ts', default: './divisor.js' }, './package.json': './package.json' },
    files: names,
    sideEffects: false,
  });
  const files = names.map((name) => [name, read(`dist/src/clients/typescript/${name}`).replace(SOURCE_MAP, '')]);
  stage('client', manifest, { ...Object.fromEntries(files), 'README.md': read('src/clients/typescript/README.md') });
}

function stageEngine() {
  const modules = readdirSync(join(ROOT, 'dist/engine')).filter(
    (name) => name.endsWith('.js') && name !== 'verify-worker.js',
  );
  const manifest = createManifest('@divisor/engine', {
    description: 'The index engine of Divisor as a library for Node and browsers, without dependencies.',
    exports: { '.': { types: './engine.d.ts', default: './engine.js' }, './package.json': './package.json' },
    files: [...modules, 'engine.d.ts', 'contract.d.ts', 'LICENSES.txt'],
    sideEffects: false,
  });
  stage('engine', manifest, {
    ...Object.fromEntries(modules.map((name) => [name, read(`dist/engine/${name}`)])),
    'engine.d.ts': read('dist/src/engine/api.d.ts').replaceAll('#clients/typescript/contract.js', './contract.js'),
    'contract.d.ts': read('dist/src/clients/typescript/contract.d.ts'),
    'LICENSES.txt': read('dist/engine/LICENSES.txt'),
    'README.md': read('src/engine/README.md'),
  });
}

/** Writes the wheel and the source distribution of the Python client from its pyproject.toml. */
function packPython() {
  const folder = 'src/clients/python';
  const settings = read(`${folder}/pyproject.toml`);
  const text = (name) => new RegExp(`^${name} = "(.*)"$`, 'm').exec(settings)[1];
  const extras = [
    ...settings
      .split('[project.optional-dependencies]')[1]
      .split('\n\n')[0]
      .matchAll(/^(\w+) = (\[.*\])$/gm),
  ];
  const classifiers = JSON.parse(/^classifiers = (\[.*\])$/m.exec(settings)[1]);
  const metadata = [
    'Metadata-Version: 2.1',
    `Name: ${text('name')}`,
    `Version: ${project.version}`,
    `Summary: ${text('description')}`,
    `License: ${project.license}`,
    `Requires-Python: ${text('requires-python')}`,
    ...classifiers.map((classifier) => `Classifier: ${classifier}`),
    ...extras.flatMap(([, extra, list]) => [
      `Provides-Extra: ${extra}`,
      ...JSON.parse(list).map((requirement) => `Requires-Dist: ${requirement}; extra == "${extra}"`),
    ]),
    'Description-Content-Type: text/markdown',
    '',
    read(`${folder}/README.md`),
  ].join('\n');
  const modules = readdirSync(join(ROOT, folder, 'divisor'))
    .filter((name) => /\.pyi?$|^py\.typed$/.test(name))
    .toSorted()
    .map((name) => [`divisor/${name}`, Buffer.from(read(`${folder}/divisor/${name}`))]);
  const stem = `${text('name').replaceAll('-', '_')}-${project.version}`;

  const info = `${stem}.dist-info`;
  const wheel = [
    ...modules,
    [`${info}/METADATA`, Buffer.from(metadata)],
    [
      `${info}/WHEEL`,
      Buffer.from('Wheel-Version: 1.0\nGenerator: divisor\nRoot-Is-Purelib: true\nTag: py3-none-any\n'),
    ],
    [`${info}/licenses/LICENSE`, Buffer.from(read('LICENSE'))],
  ];
  const record = wheel.map(([name, bytes]) => `${name},sha256=${hash(bytes, 'base64url')},${bytes.length}\n`).join('');
  const recordFile = [`${info}/RECORD`, Buffer.from(`${record}${info}/RECORD,,\n`)];
  writeFileSync(
    join(OUT, `${stem}-py3-none-any.whl`),
    zipSync(Object.fromEntries([...wheel, recordFile]), { mtime: PACKED_AT }),
  );

  const source = [
    ...modules,
    ...['pyproject.toml', 'README.md', 'example.py', 'verify_published.py'].map((name) => [
      name,
      Buffer.from(read(`${folder}/${name}`)),
    ]),
    ['LICENSE', Buffer.from(read('LICENSE'))],
    ['PKG-INFO', Buffer.from(metadata)],
  ];
  const members = source.map(([name, bytes]) => ({ name: `${stem}/${name}`, bytes }));
  writeFileSync(join(OUT, `${stem}.tar.gz`), gzipSync(Buffer.concat([...createTarParts(members)]), { level: 9 }));
}
