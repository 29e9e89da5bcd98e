import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../store/temporary-folder.js';

const run = promisify(execFile);
const ROOM = { maxBuffer: 64 << 20 };

interface Bill {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly components: readonly {
    readonly 'bom-ref': string;
    readonly name: string;
    readonly purl: string;
    readonly hashes: readonly { readonly alg: string; readonly content: string }[];
  }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

test('the bill of materials names every package of a release with its hash, and what each depends on', async () => {
  const [first, second] = await Promise.all([1, 2].map(() => run(process.execPath, ['scripts/sbom.mjs'], ROOM)));
  expect(first!.stdout).toBe(second!.stdout);
  const bill = JSON.parse(first!.stdout) as Bill;
  expect([bill.bomFormat, bill.specVersion]).toEqual(['CycloneDX', '1.6']);
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Readonly<Record<string, { readonly dev?: boolean; readonly integrity?: string }>>;
  };
  const shipped = Object.entries(packages).filter(([place, { dev }]) => place !== '' && dev !== true);
  expect(bill.components).toHaveLength(shipped.length);
  const digests = shipped.map(([, { integrity }]) => Buffer.from(integrity!.split('-')[1]!, 'base64').toString('hex'));
  expect(bill.components.map(({ hashes }) => hashes[0]!.content).toSorted()).toEqual(digests.toSorted());
  const refs = new Set(bill.components.map((component) => component['bom-ref']));
  const { dependencies = {} } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    dependencies?: Readonly<Record<string, string>>;
  };
  const [root, ...others] = bill.dependencies;
  for (const [name, version] of Object.entries(dependencies))
    expect(root!.dependsOn).toContain(`pkg:npm/${name.replace('@', '%40')}@${version}#node_modules/${name}`);
  // Each is needed by the release or by another one: none is named that nothing brings.
  const reached = new Set<string>(root!.dependsOn);
  for (const ref of reached)
    for (const next of others.find((each) => each.ref === ref)?.dependsOn ?? []) reached.add(next);
  const peers = [...refs].filter((ref) => !reached.has(ref));
  expect(peers.every((ref) => ref.startsWith('pkg:npm/'))).toBe(true);
  for (const { dependsOn } of bill.dependencies) for (const ref of dependsOn) expect(refs).toContain(ref);
});

test('a packed release has the same bytes every time, and holds no test, cache or secret', async () => {
  const hashes = [];
  let files: readonly { readonly path: string }[] = [];
  for (let i = 0; i < 2; i++) {
    const folder = await temporaryFolder();
    const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], ROOM);
    const [packed] = JSON.parse(stdout) as [{ readonly filename: string; readonly files: typeof files }];
    hashes.push(
      createHash('sha512')
        .update(await readFile(join(folder, packed.filename)))
        .digest('hex'),
    );
    ({ files } = packed);
  }
  expect(hashes[0]).toBe(hashes[1]);
  const paths = files.map(({ path }) => path);
  expect(paths).toEqual(expect.arrayContaining(['package.json', 'LICENSE', 'SECURITY.md', 'dist/src/main.js']));
  expect(
    paths.filter((path) => /^dist\/(?:test|bench|\.build)\/|node_modules\/|\.cache$|\.pem$|__pycache__/.test(path)),
  ).toEqual([]);
});
