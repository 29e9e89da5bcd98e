import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasModuleIn, PYTHONS, reportMissing } from '../clients/python-user.js';
import { IS_SOAK } from '../soak.js';

const run = promisify(execFile);
const PROCESS_OPTIONS = { maxBuffer: 64 << 20 };
/** Releases to pack. Packing takes eight seconds of processor time, so only the soak compares two. */
const RELEASES = IS_SOAK ? ['first', 'second'] : ['first'];

interface MaterialsList {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly components: readonly {
    readonly 'bom-ref': string;
    readonly name: string;
    readonly purl: string;
    readonly hashes: readonly { readonly alg: string; readonly content: string }[];
    readonly licenses?: readonly object[];
    readonly properties?: readonly { readonly name: string; readonly value: string }[];
  }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

test('the bill of materials lists every package of a release with its hash and its dependencies', async () => {
  const [first, second] = await Promise.all(
    [1, 2].map(() => run(process.execPath, ['scripts/sbom.mjs'], PROCESS_OPTIONS)),
  );
  expect(first!.stdout).toBe(second!.stdout);
  const bill = JSON.parse(first!.stdout) as MaterialsList;
  expect([bill.bomFormat, bill.specVersion]).toEqual(['CycloneDX', '1.6']);
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Readonly<Record<string, { readonly dev?: boolean; readonly integrity?: string }>>;
  };
  const shippedPackages = Object.entries(packages).filter(([place, { dev }]) => place !== '' && dev !== true);
  expect(bill.components).toHaveLength(shippedPackages.length);
  const digests = shippedPackages.map(([, { integrity }]) =>
    Buffer.from(integrity!.split('-')[1]!, 'base64').toString('hex'),
  );
  expect(bill.components.map(({ hashes }) => hashes[0]!.content).toSorted()).toEqual(digests.toSorted());
  const refs = new Set(bill.components.map((component) => component['bom-ref']));
  const { dependencies = {} } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    dependencies?: Readonly<Record<string, string>>;
  };
  const [root, ...otherDependencies] = bill.dependencies;
  for (const [name, version] of Object.entries(dependencies))
    expect(root!.dependsOn).toContain(`pkg:npm/${name.replace('@', '%40')}@${version}#node_modules/${name}`);
  // The release or another component needs every component that is listed.
  const reachedPackages = new Set<string>(root!.dependsOn);
  for (const ref of reachedPackages)
    for (const reachedRef of otherDependencies.find((each) => each.ref === ref)?.dependsOn ?? [])
      reachedPackages.add(reachedRef);
  const peers = [...refs].filter((ref) => !reachedPackages.has(ref));
  expect(peers.every((ref) => ref.startsWith('pkg:npm/'))).toBe(true);
  for (const { dependsOn } of bill.dependencies) for (const ref of dependsOn) expect(refs).toContain(ref);
});

test('the bill of materials names every bundled package with its licence and its bundle', async () => {
  const bill = JSON.parse((await run(process.execPath, ['scripts/sbom.mjs'], PROCESS_OPTIONS)).stdout) as MaterialsList;
  const bundled = bill.components.filter(({ properties }) => properties !== undefined);
  const bundlesOf = new Map(bundled.map(({ name, properties }) => [name, properties!.map(({ value }) => value)]));
  const expectedBundles = {
    ssh2: 'dist/bundle',
    nodemailer: 'dist/bundle',
    '@modelcontextprotocol/sdk': 'dist/bundle',
    hono: 'dist/bundle',
    preact: 'dist/console',
    'pdfjs-dist': 'dist/console',
    uplot: 'dist/console',
    '@fontsource-variable/inter': 'dist/console',
    '@lezer/lr': 'dist/console',
    '@jitl/quickjs-wasmfile-release-sync': 'dist/engine',
  };
  for (const [name, bundle] of Object.entries(expectedBundles))
    expect([name, bundlesOf.get(name)]).toEqual([name, [bundle]]);
  for (const { name, licenses } of bundled) expect([name, licenses?.length]).toEqual([name, 1]);
  // The licence texts of a bundle have the same packages.
  const files = { bundle: 'LICENSES.txt', console: 'assets/licences.txt', engine: 'LICENSES.txt' };
  for (const [bundle, file] of Object.entries(files)) {
    const text = readFileSync(join('dist', bundle, file), 'utf8');
    for (const [name, bundles] of bundlesOf)
      if (bundles.includes(`dist/${bundle}`))
        expect(text.split('\n').some((line) => line.startsWith(`${name} `))).toBe(true);
  }
});

test('a bundled package for development only, or without a licence, has no bill of materials', async () => {
  const { createBillOfMaterials } = (await import(pathToFileURL(resolve('scripts/sbom.mjs')).href)) as {
    readonly createBillOfMaterials: (...parts: readonly unknown[]) => unknown;
  };
  const lock = { packages: { '': {}, 'node_modules/a': { version: '1.0.0', integrity: 'sha512-AA==', dev: true } } };
  const bundled = new Map([['node_modules/a', ['console']]]);
  const release = { name: 'release', version: '1.0.0', license: 'MIT' };
  expect(() => createBillOfMaterials(release, lock, bundled)).toThrow(/must be dependencies.*node_modules\/a/);
  const unlicensed = { packages: { '': {}, 'node_modules/a': { version: '1.0.0', integrity: 'sha512-AA==' } } };
  expect(() => createBillOfMaterials(release, unlicensed, bundled)).toThrow(/node_modules\/a states no licence/);
});

test('every package that the program imports is a dependency of the release', () => {
  const project = JSON.parse(readFileSync('package.json', 'utf8')) as Readonly<
    Record<string, Readonly<Record<string, string>>>
  >;
  const shipped = new Set(
    ['dependencies', 'optionalDependencies', 'peerDependencies'].flatMap((group) => Object.keys(project[group]!)),
  );
  const sources = ['src', 'workers', 'kernels'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(?:tsx?|css)$/.test(name) && !name.endsWith('.d.ts'))
      .map((name) => join(folder, name)),
  );
  const imported = sources.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/^(?:.*\bfrom|@?import) ['"]([a-z@][\w@/.-]*)['"];$/gm)].map(
      ([, specifier]) => [file, /^(?:@[^/]+\/)?[^/]+/.exec(specifier!)![0]],
    ),
  );
  expect(imported.map(([, name]) => name)).toEqual(expect.arrayContaining(['ssh2', 'preact', 'uplot', 'hono']));
  const missing = imported.filter(([, name]) => !shipped.has(name!));
  expect(missing).toEqual([]);
});

const { version: VERSION } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };

/** Folder of the packed releases, and of a project that has the packages of the first one installed. */
let folder: string;
const packed = (name: string, release = RELEASES[0]!) => join(folder, release, name);
const SERVICE = `divisor-${VERSION}.tgz`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'divisor-packed-'));
  for (const release of RELEASES)
    await run(process.execPath, ['scripts/packages.mjs', join(folder, release)], PROCESS_OPTIONS);
  await installService();
  for (const name of ['client', 'engine'])
    await unpack(packed(`divisor-${name}-${VERSION}.tgz`), join(folder, 'node_modules/@divisor', name));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function unpack(file: string, place: string): Promise<void> {
  await mkdir(place, { recursive: true });
  await run('tar', ['xf', file, '-C', place, '--strip-components', '1']);
}

/**
 * Installs the service. The soak uses npm and the registry. Otherwise the packages that the release names are copied
 * from this project, which needs no network; no other package can be loaded in the project.
 */
async function installService(): Promise<void> {
  await writeFile(join(folder, 'package.json'), '{ "private": true }');
  if (IS_SOAK) {
    await run('npm', ['install', '--no-audit', '--no-fund', packed(SERVICE)], { ...PROCESS_OPTIONS, cwd: folder });
    return;
  }
  const place = join(folder, 'node_modules/divisor');
  await unpack(packed(SERVICE), place);
  const { packages } = JSON.parse(readFileSync(join(place, 'npm-shrinkwrap.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, object>>;
  };
  const places = Object.keys(packages).filter((name) => name !== '' && existsSync(name));
  for (const name of places)
    await cp(name, join(folder, name), {
      recursive: true,
      filter: (path) => !path.slice(name.length).includes('node_modules'),
    });
  await mkdir(join(folder, 'node_modules/.bin'));
  await symlink('../divisor/dist/src/main.js', join(folder, 'node_modules/.bin/divisor'));
}

/** Returns the output of a program that runs in the project. @throws Error if the program fails */
async function runProgram(name: string, program: string): Promise<string> {
  await writeFile(join(folder, name), program);
  return (await run(process.execPath, [name], { ...PROCESS_OPTIONS, cwd: folder })).stdout;
}

test('a packed release has the same bytes every time, and contains no test, cache or secret', async () => {
  const sums = RELEASES.map((release) => readFileSync(packed('SHA256SUMS', release), 'utf8'));
  expect(new Set(sums).size).toBe(1);
  const lines = sums[0]!.trimEnd().split('\n');
  expect(lines.map((line) => line.slice(66))).toEqual([
    `divisor-${VERSION}.cdx.json`,
    SERVICE,
    `divisor-client-${VERSION}.tgz`,
    `divisor-engine-${VERSION}.tgz`,
    `divisor_client-${VERSION}-py3-none-any.whl`,
    `divisor_client-${VERSION}.tar.gz`,
  ]);
  for (const line of lines)
    expect(
      createHash('sha256')
        .update(readFileSync(packed(line.slice(66))))
        .digest('hex'),
    ).toBe(line.slice(0, 64));
  // The archive and its compression contain no times and owners of this machine. The files are sorted by name.
  expect(readFileSync(packed(SERVICE)).readUInt32LE(4)).toBe(0);
  const { stdout } = await run('tar', ['tvf', packed(SERVICE), '--utc', '--numeric-owner'], PROCESS_OPTIONS);
  const entries = stdout.trimEnd().split('\n');
  expect(entries.filter((line) => !/^-rw[x-]r-[x-]r-[x-] 0\/0 +\d+ 1985-10-26 08:15 package\/\S/.test(line))).toEqual(
    [],
  );
  const paths = entries.map((line) => line.split(' package/')[1]!);
  expect(paths).toEqual(
    expect.arrayContaining([
      'package.json',
      'LICENSE',
      'SECURITY.md',
      'npm-shrinkwrap.json',
      'dist/answers.json',
      'dist/engine/engine.js',
      'dist/sbom.cdx.json',
      'dist/src/main.js',
      'src/clients/python/divisor/contract.py',
    ]),
  );
  expect(
    paths.filter((path) =>
      /^dist\/(?:test|bench|packages|\.build)\/|node_modules\/|\.(?:cache|map|pem)$|__pycache__/.test(path),
    ),
  ).toEqual([]);
});

test.each(['divisor', '@divisor/client', '@divisor/engine'])('the manifest of %s is ready for a registry', (name) => {
  const manifest = JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8')) as Readonly<
    Record<string, unknown>
  >;
  expect(manifest).toMatchObject({
    name,
    version: VERSION,
    license: 'Apache-2.0',
    engines: { node: '>=20.19' },
    publishConfig: { access: 'public', provenance: true },
  });
  expect([manifest['private'], manifest['scripts'], manifest['devDependencies']]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  for (const file of manifest['files'] as readonly string[])
    expect([file, existsSync(join(folder, 'node_modules', name, file))]).toEqual([file, true]);
});

test('the bill of materials in the package lists every bundled package, and the manifest every other one', () => {
  const place = join(folder, 'node_modules/divisor');
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8')) as {
    readonly [group: string]: Readonly<Record<string, string>>;
  };
  const bill = JSON.parse(readFileSync(join(place, 'dist/sbom.cdx.json'), 'utf8')) as MaterialsList;
  const bundled = new Set(bill.components.filter(({ properties }) => properties !== undefined).map(({ name }) => name));
  const project = JSON.parse(readFileSync('package.json', 'utf8')) as {
    readonly [group: string]: Readonly<Record<string, string>>;
  };
  // Only types of this package are imported.
  const neither = Object.keys(project['dependencies']!).filter(
    (name) => !bundled.has(name) && !(name in dependencies!) && name !== '@jitl/quickjs-ffi-types',
  );
  expect(neither).toEqual([]);
  const audited = JSON.parse(readFileSync(join(place, 'dist/audit/package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, unknown>>;
  };
  const places = Object.keys(audited.packages);
  const isAudited = (name: string) => places.some((each) => each.endsWith(`node_modules/${name}`));
  expect([...bundled].filter((name) => !isAudited(name))).toEqual([]);
  const named = { ...dependencies, ...optionalDependencies };
  for (const [name, version] of Object.entries(named))
    expect(bill.components).toContainEqual(expect.objectContaining({ name, version }));
  expect(Object.keys(named).filter((name) => name.startsWith('@tensorflow/'))).toEqual([]);
});

/** Returns the bytes of all files in a folder, in blocks of 4 kB as file systems store them. */
function sumDiskBytes(place: string): number {
  return readdirSync(place, { recursive: true, encoding: 'utf8' })
    .map((name) => lstatSync(join(place, name)))
    .filter((stats) => stats.isFile())
    .reduce((sum, { size }) => sum + 4096 * Math.ceil(size / 4096), 0);
}

test('the installed service takes at most 200 MB, and the archive of the engine at most 3 MB', () => {
  const own = sumDiskBytes(join(folder, 'node_modules/@divisor'));
  expect(sumDiskBytes(join(folder, 'node_modules')) - own).toBeLessThanOrEqual(200e6);
  expect(lstatSync(packed(`divisor-engine-${VERSION}.tgz`)).size).toBeLessThanOrEqual(3e6);
});

test('the release workflow tests before it packs, installs before it publishes, and attaches every file', () => {
  const workflow = readFileSync('.github/workflows/release.yml', 'utf8');
  const jobs = new Map(
    workflow
      .split(/^  (?=\w+:$)/m)
      .slice(1)
      .map((text) => [/^\w+/.exec(text)![0], text]),
  );
  const readNeeds = (job: string) => /^    needs: (.*)$/m.exec(jobs.get(job)!)?.[1];
  expect([...jobs.keys()].slice(-6).map((job) => [job, readNeeds(job)])).toEqual([
    ['packages', undefined],
    ['install', 'packages'],
    ['npm', 'install'],
    ['python', 'install'],
    ['image', 'install'],
    ['release', '[npm, python, image]'],
  ]);
  expect(jobs.get('packages')).toMatch(
    /run: npm run test:all\n[\s\S]*run: npm run packages\n[\s\S]*attest-build-provenance/,
  );
  expect(workflow).toMatch(/^on:\n  push:\n    tags: \['v\*'\]$/m);
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    readonly engines: { readonly node: string };
  };
  expect(jobs.get('install')).toContain(`node: ['${engines.node.replace('>=', '')}', '22', '24']`);
  expect(jobs.get('release')).toContain('gh release create "$GITHUB_REF_NAME" files/*');
});

/** Executables of Node by major version: this one, and those that OTHER_NODES names. */
const NODES = new Map(
  await Promise.all(
    [process.execPath, ...(process.env['OTHER_NODES'] ?? '').split(':').filter((file) => file !== '')].map(
      async (file) => [(await run(file, ['-p', 'process.versions.node.split(".")[0]'])).stdout.trim(), file] as const,
    ),
  ),
);
for (const major of ['20', '22', '24'])
  if (!NODES.has(major))
    console.log(`the installed packages on Node ${major}: skipped, OTHER_NODES names no such Node`);

describe.each([...NODES])('installed in an empty folder, on Node %s', (major, node) => {
  const path = `${dirname(node)}${delimiter}${process.env['PATH']}`;
  const onNode = () => ({ ...PROCESS_OPTIONS, cwd: folder, env: { ...process.env, PATH: path } });

  test('npx divisor demo computes an index and writes its factsheet', async () => {
    const { stdout } = await run('npx', ['--no-install', 'divisor', 'demo', '--once'], onNode());
    const [, factsheet] = /^ +(\S+\.factsheet\.pdf) /m.exec(stdout)!;
    expect(readFileSync(resolve(folder, factsheet!)).subarray(0, 5).toString()).toBe('%PDF-');
  });

  test('npx divisor serve answers with its console, its reference and its health', async () => {
    const words = ['--no-install', 'divisor', 'serve', '--home', join(folder, `home-${major}`), '--port', '0'];
    // The service has its own process group, because npx starts it by a shell.
    const child = spawn('npx', [...words, '--workers', '1'], { ...onNode(), detached: true });
    const ended = once(child, 'close');
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.stderr.resume();
    try {
      await expect.poll(() => output).toMatch(/listening on http:\S+/);
      const url = /listening on (http:\S+)/.exec(output)![1]!;
      const headers = { accept: 'text/html, application/json' };
      const get = async (place: string) => (await fetch(new URL(place, url), { headers })).text();
      const { version, checks } = JSON.parse(await get('/health')) as {
        readonly version: string;
        readonly checks: readonly { readonly ok: boolean }[];
      };
      expect([version, checks.filter(({ ok }) => !ok)]).toEqual([VERSION, []]);
      expect(await get('/')).toContain('<script type="module"');
      expect(await get('/docs')).toContain('Divisor');
      expect(JSON.parse(await get('/openapi.json'))).toMatchObject({
        paths: { '/health': { get: { responses: { 200: { content: { 'application/json': { example: {} } } } } } } },
      });
    } finally {
      process.kill(-child.pid!, 'SIGTERM');
      await ended;
    }
  });

  test('the engine computes the levels of two securities with equal weights', async () => {
    const text = readFileSync('src/engine/README.md', 'utf8');
    await writeFile(join(folder, 'levels.mjs'), /^```js\n(.*?)^```$/ms.exec(text)![1]!);
    // One security gains a tenth and the other nothing.
    expect((await run(node, ['levels.mjs'], onNode())).stdout.trim()).toBe('[ 1000, 1050 ]');
  });
});

const enginePage = readFileSync('data/guide/engine.md', 'utf8');
const example = /^```js 0\n(.*?)^```$/ms.exec(enginePage)![1]!;

test('the example of the engine has at most 30 lines', () => {
  expect(example.split('\n').length - 1).toBeLessThanOrEqual(30);
});

test('the example of the engine runs with only the packed package, and its levels are those computed by hand', async () => {
  const shownResult = JSON.parse(await runProgram('example.mjs', example)) as {
    readonly findings: readonly unknown[];
    readonly dates: readonly string[];
    readonly levels: readonly number[];
    readonly divisor: readonly number[];
    readonly weights: readonly (readonly [string, number])[];
    readonly why: boolean;
    readonly hash: string;
  };
  // A third of the money is invested in each of three securities from the first close on.
  const growth = [
    [1, 1, 1],
    [1.1, 1, 0.95],
    [1.2, 1.05, 0.9],
    [1.2, 0.95, 0.975],
    [1.3, 1, 1],
  ];
  expect(shownResult.dates).toEqual(['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05', '2024-01-08']);
  growth.forEach(([a, b, c], t) => expect(shownResult.levels[t]).toBeCloseTo((1000 * (a! + b! + c!)) / 3, 9));
  expect(shownResult.divisor).toEqual([1, 1, 1, 1, 1]);
  const total = 1.2 + 0.95 + 0.975;
  expect(shownResult.weights.map(([name]) => name)).toEqual(['AAA', 'CCC', 'BBB']);
  [1.2 / total, 0.975 / total, 0.95 / total].forEach((weight, i) =>
    expect(shownResult.weights[i]![1]).toBeCloseTo(weight, 12),
  );
  expect([shownResult.findings, shownResult.why]).toEqual([[], true]);
  expect(shownResult.hash).toMatch(/^[0-9a-f]{64}$/);
});

test('an import of the engine changes no global, writes no file and leaves no handle open', async () => {
  const program = `
    const before = new Set(Reflect.ownKeys(globalThis));
    const { openEngine } = await import('divisor/engine');
    const added = Reflect.ownKeys(globalThis).filter((key) => !before.has(key)).map(String);
    const open = process.getActiveResourcesInfo().filter((kind) => !/Pipe|TTY|CloseReq/.test(kind));
    console.log(JSON.stringify({ kind: typeof openEngine, added, open, listeners: process.eventNames().length }));`;
  const output = await runProgram('import.mjs', program);
  const nothingRun = await runProgram('nothing.mjs', 'console.log(process.eventNames().length);');
  const expected = { kind: 'function', added: [], open: [], listeners: Number(nothingRun) };
  expect(JSON.parse(output)).toEqual(expected);
});

const typedScript = `
  import { openEngine, type Backtest, type EngineError } from 'divisor/engine';
  const engine = await openEngine({
    market: { prices: { dates: new Int32Array(0), identifiers: [], fields: { CLOSE: new Float64Array(0) } } },
  });
  const run: Backtest = engine.backtest('EQ', { start: '2024-01-02' });
  const last: number | undefined = run.levels('total').levels.at(-1);
  const names: readonly string[] = run.weights().weights.map(({ identifier }) => identifier);
  export const all = [last, names, (undefined as unknown as EngineError).code];
  import { openEngine as openOwn, type Backtest as OwnBacktest } from '@divisor/engine';
  const own: OwnBacktest = (await openOwn({ market: { prices: { columns: [], data: [] } } })).backtest('EQ', {});
  import { createDivisorClient, type IndexDocument } from '@divisor/client';
  const client = createDivisorClient({ url: 'http://127.0.0.1:8080' });
  const index: IndexDocument = await client.call('getIndex', { params: { index_id: 'EQ' } });
  export const others: readonly string[] = [own.hash, index.calendar];`;

test.each(['nodenext', 'bundler'])(
  'the types of all packages compile in a strict program that resolves by %s',
  async (resolution) => {
    const module = resolution === 'bundler' ? 'preserve' : 'nodenext';
    const options = ['--module', module, '--moduleResolution', resolution, '--target', 'es2022', '--lib', 'es2023,dom'];
    await writeFile(join(folder, 'typed.mts'), typedScript);
    await writeFile(join(folder, 'wrong.mts'), typedScript.replace("levels('total')", "levels('gross')"));
    const compiler = resolve('node_modules/typescript/bin/tsc');
    const words = [compiler, ...options, '--strict', '--noEmit', '--types', '', 'typed.mts', 'wrong.mts'];
    const failure = await run(process.execPath, words, { cwd: folder }).catch(
      (thrown: { readonly stdout: string }) => thrown,
    );
    const [first = '', ...others] = failure.stdout.split('\n').filter((line) => /^\S/.test(line));
    expect(first).toMatch(/^wrong\.mts.*"gross"/);
    expect(others).toEqual([]);
  },
);

/** First installed Python that can create virtual environments and install into them. */
const INSTALLER = PYTHONS.find((command) => hasModuleIn(command, 'pip', 'venv'));
reportMissing('the Python package', { 'pip and venv': INSTALLER !== undefined });

const INSTALLED = `
import json, pathlib, site
from importlib.metadata import metadata, version
import divisor, divisor.aio, divisor.notebook, divisor.version
folder = pathlib.Path(divisor.__file__).parent
print(json.dumps({
    "isInstalled": str(folder.parent) in site.getsitepackages(),
    "versions": [divisor.version.VERSION, version("divisor-client")],
    "extras": metadata("divisor-client").get_all("Provides-Extra"),
    "types": sorted(file.name for file in folder.iterdir() if file.name in ("aio.pyi", "py.typed")),
}))`;

test.skipIf(INSTALLER === undefined)('the wheel is typed, and pip installs it in an empty environment', async () => {
  const options = {
    ...PROCESS_OPTIONS,
    cwd: folder,
    env: { ...process.env, PIP_CONFIG_FILE: '/dev/null', PIP_DISABLE_PIP_VERSION_CHECK: '1' },
  };
  await run(INSTALLER!, ['-m', 'venv', '--without-pip', 'environment'], options);
  const python = join(folder, 'environment/bin/python');
  const wheel = packed(`divisor_client-${VERSION}-py3-none-any.whl`);
  const pip = (...words: string[]) => run(INSTALLER!, ['-m', 'pip', '--python', python, ...words], options);
  await pip('install', '--no-index', wheel);
  // The flag -I makes Python ignore PYTHONPATH and the working folder.
  const { stdout } = await run(python, ['-I', '-c', INSTALLED], options);
  expect(JSON.parse(stdout)).toEqual({
    isInstalled: true,
    versions: [VERSION, VERSION],
    extras: ['pandas', 'arrow', 'notebook'],
    types: ['aio.pyi', 'py.typed'],
  });
  expect((await pip('check')).stdout).toContain('No broken requirements');
  // pip finds every file by its entry in RECORD, and the hash of the entry is that of the file.
  await pip('uninstall', '--yes', 'divisor-client');
  expect(existsSync(join(folder, 'environment/lib/python3/site-packages/divisor'))).toBe(false);
});

test('the source distribution has the sources, the settings of the build and the metadata of the wheel', async () => {
  const stem = `divisor_client-${VERSION}`;
  const { stdout } = await run('tar', ['tf', packed(`${stem}.tar.gz`)], PROCESS_OPTIONS);
  const names = stdout.trimEnd().split('\n');
  expect(names.filter((name) => !name.startsWith(`${stem}/`))).toEqual([]);
  expect(names).toEqual(
    expect.arrayContaining(
      ['PKG-INFO', 'LICENSE', 'pyproject.toml', 'divisor/contract.py', 'divisor/py.typed', 'verify_published.py'].map(
        (name) => `${stem}/${name}`,
      ),
    ),
  );
  const information = await run('tar', ['xfO', packed(`${stem}.tar.gz`), `${stem}/PKG-INFO`], PROCESS_OPTIONS);
  expect(information.stdout).toMatch(
    new RegExp(`^Metadata-Version: 2\\.1\nName: divisor-client\nVersion: ${VERSION.replaceAll('.', '\\.')}\n`),
  );
});
