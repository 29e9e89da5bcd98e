import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type DeliveryWorld, type WorldOptions } from './delivery-world.js';
import { computeHash, listLogLines, openWorlds } from './open-worlds.js';

let world: DeliveryWorld;
const { open: openNew } = openWorlds();
const open = async (options?: WorldOptions) => (world = await openNew(options));
const listLines = () => listLogLines(world);

describe('a folder', () => {
  const createFolderClient = (change: object = {}) =>
    world.clientOf({ targets: [{ type: 'folder', name: 'house', url: `file://${world.root}/acme`, ...change }] });

  test('contains the files under their names with a checksum each, and nothing else', async () => {
    await open();
    const files = [world.file('CORE', 'a,b\n1,2\n'), world.file('EVEN', 'a,b\n3,4\n')];
    expect(await world.deliver(createFolderClient(), files)).toEqual({
      delivered: 2,
      waiting: 0,
      failed: 0,
      reason: null,
    });
    const folder = join(world.root, 'acme');
    expect(readdirSync(folder).toSorted()).toEqual([
      'CORE_20241231_closing.csv',
      'CORE_20241231_closing.csv.sha256',
      'EVEN_20241231_closing.csv',
      'EVEN_20241231_closing.csv.sha256',
    ]);
    expect(readFileSync(join(folder, 'CORE_20241231_closing.csv'), 'utf8')).toBe('a,b\n1,2\n');
    expect(readFileSync(join(folder, 'CORE_20241231_closing.csv.sha256'), 'utf8')).toBe(
      `${computeHash('a,b\n1,2\n')}  CORE_20241231_closing.csv\n`,
    );
  });

  test('receives a file once, however often it is delivered', async () => {
    await open();
    const files = [world.file('CORE', 'one')];
    await world.deliver(createFolderClient(), files);
    const { mtimeMs, ino } = statSync(join(world.root, 'acme/CORE_20241231_closing.csv'));
    await world.deliver(createFolderClient(), files);
    await world.deliver(createFolderClient(), files, { isRepeat: true });
    const after = statSync(join(world.root, 'acme/CORE_20241231_closing.csv'));
    expect([after.mtimeMs, after.ino]).toEqual([mtimeMs, ino]);
    expect(world.read.length).toBe(1);
    expect(await listLines()).toEqual([
      'CORE_20241231_closing.csv: Delivered.',
      'CORE_20241231_closing.csv: The same file was there already.',
    ]);
  });

  test('receives a corrected file in place of the first', async () => {
    await open();
    await world.deliver(createFolderClient(), [world.file('CORE', 'one')]);
    await world.deliver(createFolderClient(), [world.file('CORE', 'two')]);
    expect(readFileSync(join(world.root, 'acme/CORE_20241231_closing.csv'), 'utf8')).toBe('two');
    expect(readFileSync(join(world.root, 'acme/CORE_20241231_closing.csv.sha256'), 'utf8')).toContain(
      computeHash('two'),
    );
    expect((await listLines()).at(-1)).toContain('in place of another version');
  });

  test('has paths by a pattern', async () => {
    await open();
    const path = '{client}/{date:YYYY}/{date:MM}/{index}-{table}.txt';
    await world.deliver(createFolderClient({ path, checksum: false }), [world.file('CORE', 'one')]);
    expect(readFileSync(join(world.root, 'acme/ACME/2024/12/CORE-closing.txt'), 'utf8')).toBe('one');
    expect(existsSync(join(world.root, 'acme/ACME/2024/12/CORE-closing.txt.sha256'))).toBe(false);
  });

  test('receives one of two files with the same path, which is logged', async () => {
    await open();
    const files = [world.file('CORE', 'one'), world.file('EVEN', 'two')];
    await world.deliver(createFolderClient({ path: 'levels.csv' }), files);
    expect(readFileSync(join(world.root, 'acme/levels.csv'), 'utf8')).toBe('one');
    expect(await listLines()).toContain(
      'levels.csv: EVEN_20241231_closing.csv was not delivered: CORE_20241231_closing.csv has the same path.',
    );
  });

  test('outside the folders that the operator allows receives nothing, by name or by a link', async () => {
    await open();
    const files = [world.file('CORE', 'one')];
    const outsideClient = world.clientOf({
      targets: [{ type: 'folder', name: 'out', url: `file://${world.base}/other` }],
    });
    expect((await world.deliver(outsideClient, files)).reason).toContain('--delivery-roots');
    mkdirSync(join(world.base, 'secret'));
    symlinkSync(join(world.base, 'secret'), join(world.root, 'acme'));
    expect((await world.deliver(createFolderClient(), files)).reason).toContain('A link leads out');
    expect(readdirSync(join(world.base, 'secret'))).toEqual([]);
  });

  test('with a link in place of a temporary file writes nothing through the link', async () => {
    await open();
    const secret = join(world.base, 'secret');
    writeFileSync(secret, 'unchanged');
    mkdirSync(join(world.root, 'acme'));
    const part = `.CORE_20241231_closing.csv.${computeHash('one').slice(0, 12)}.part`;
    symlinkSync(secret, join(world.root, 'acme', part));
    const { delivered, reason } = await world.deliver(createFolderClient(), [world.file('CORE', 'one')]);
    expect([delivered, reason]).toEqual([0, 'The folder could not be written: ELOOP.']);
    expect(readFileSync(secret, 'utf8')).toBe('unchanged');
  });

  test('that is not writable fails with the reason, and receives the file once it is writable', async () => {
    await open();
    writeFileSync(join(world.root, 'acme'), 'a file, no folder');
    const files = [world.file('CORE', 'one')];
    expect(await world.deliver(createFolderClient(), files)).toMatchObject({ delivered: 0, waiting: 1, failed: 0 });
    expect((await world.record()).files[0]).toMatchObject({
      state: 'waiting',
      attempts: 3,
      rounds: 1,
      code: 'DELIVERY_FAILED',
    });
    rmSync(join(world.root, 'acme'));
    expect(await world.deliver(createFolderClient(), files)).toMatchObject({ delivered: 1 });
    expect((await world.record()).files[0]).toMatchObject({ state: 'delivered', attempts: 4, rounds: 2, code: null });
  });

  test('is given up after the last round', async () => {
    await open();
    const files = [world.file('CORE', 'one')];
    const outsideClient = world.clientOf({
      targets: [{ type: 'folder', name: 'out', url: `file://${world.base}/other` }],
    });
    for (let round = 1; round < 50; round++) expect((await world.deliver(outsideClient, files)).waiting).toBe(1);
    expect(await world.deliver(outsideClient, files)).toMatchObject({ waiting: 0, failed: 1 });
    expect((await world.deliver(outsideClient, files)).failed).toBe(1);
    expect((await world.record()).files[0]!.rounds).toBe(50);
  });
});

describe('an entitlement', () => {
  const listPathsFor = async (entitlements: object[], target: object = {}) => {
    await open();
    const client = world.clientOf({
      entitlements,
      targets: [{ type: 'folder', name: 'house', url: `file://${world.root}`, checksum: false, ...target }],
    });
    const files = [
      world.file('CORE', '1'),
      world.file('CORE', '2', 'opening'),
      world.file('EVEN', '3'),
      world.file('EVEN', '4', 'report'),
    ];
    await world.deliver(client, files);
    return readdirSync(world.root).toSorted();
  };

  test('decides by index, table and date which files a client receives', async () => {
    expect(await listPathsFor([])).toEqual([]);
    expect(await listPathsFor([{ indices: ['CORE'] }])).toEqual([
      'CORE_20241231_closing.csv',
      'CORE_20241231_opening.csv',
    ]);
    expect(await listPathsFor([{ tables: ['closing'] }])).toEqual([
      'CORE_20241231_closing.csv',
      'EVEN_20241231_closing.csv',
    ]);
    expect(
      await listPathsFor([
        { indices: ['CORE'], tables: ['opening'] },
        { indices: ['EVEN'], tables: ['report'] },
      ]),
    ).toEqual(['CORE_20241231_opening.csv', 'EVEN_20241231_report.pdf']);
    expect(await listPathsFor([{ starts_on: '2025-01-01' }])).toEqual([]);
    expect(await listPathsFor([{ ends_on: '2024-12-30' }])).toEqual([]);
    expect((await listPathsFor([{ starts_on: '2024-12-31', ends_on: '2024-12-31' }])).length).toBe(4);
  });

  test('is not widened by a target', async () => {
    expect(await listPathsFor([{ indices: ['CORE'] }], { tables: ['closing', 'report'] })).toEqual([
      'CORE_20241231_closing.csv',
    ]);
  });
});
