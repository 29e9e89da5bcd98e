import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { IS_SOAK } from '../soak.js';

const run = promisify(execFile);
/** Names of packages to pack. It takes six seconds of processor time to pack one, so only the soak compares two. */
const PACK_FOLDERS = IS_SOAK ? ['first', 'second'] : ['first'];
const PROCESS_OPTIONS = { maxBuffer: 64 << 20 };

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

/** Files in a packed package. */
type PackedFiles = readonly { readonly path: string }[];

/** Packages in separate folders, and a project that has only the first package installed. */
let packages: readonly { readonly file: string; readonly files: PackedFiles }[];
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'divisor-packed-'));
  packages = await Promise.all(PACK_FOLDERS.map((name) => packInto(join(folder, name))));
  const location = join(folder, 'node_modules/divisor');
  await mkdir(location, { recursive: true });
  await run('tar', ['xf', packages[0]!.file, '-C', location, '--strip-components', '1']);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function packInto(place: string): Promise<(typeof packages)[number]> {
  await mkdir(place);
  const { stdout } = await run(
    'npm',
    ['pack', '--ignore-scripts', '--json', '--pack-destination', place],
    PROCESS_OPTIONS,
  );
  const [{ filename, files }] = JSON.parse(stdout) as [{ readonly filename: string; readonly files: PackedFiles }];
  return { file: join(place, filename), files };
}

/** Returns the output of a program that runs in the project. @throws Error if the program fails */
async function runProgram(name: string, program: string): Promise<string> {
  await writeFile(join(folder, name), program);
  return (await run(process.execPath, [name], { ...PROCESS_OPTIONS, cwd: folder })).stdout;
}

test('a packed release has the same bytes every time, and contains no test, cache or secret', async () => {
  const hashes = await Promise.all(
    packages.map(async ({ file }) =>
      createHash('sha512')
        .update(await readFile(file))
        .digest('hex'),
    ),
  );
  expect(new Set(hashes).size).toBe(1);
  // The archive and its compression contain no times and owners of this machine. The files are sorted by name.
  expect((await readFile(packages[0]!.file)).readUInt32LE(4)).toBe(0);
  const { stdout } = await run('tar', ['tvf', packages[0]!.file, '--utc', '--numeric-owner'], PROCESS_OPTIONS);
  const entries = stdout.trimEnd().split('\n');
  expect(entries.length).toBe(packages[0]!.files.length);
  expect(entries.filter((line) => !/^-rw[x-]r-[x-]r-[x-] 0\/0 +\d+ 1985-10-26 08:15 package\/\S/.test(line))).toEqual(
    [],
  );
  const paths = packages[0]!.files.map(({ path }) => path);
  expect(paths).toEqual(
    expect.arrayContaining(['package.json', 'LICENSE', 'SECURITY.md', 'dist/src/main.js', 'dist/engine/engine.js']),
  );
  expect(
    paths.filter((path) => /^dist\/(?:test|bench|\.build)\/|node_modules\/|\.cache$|\.pem$|__pycache__/.test(path)),
  ).toEqual([]);
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
  export const all = [last, names, (undefined as unknown as EngineError).code];`;

test.each(['nodenext', 'bundler'])('its types compile in a strict program that resolves by %s', async (resolution) => {
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
});
