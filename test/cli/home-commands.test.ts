import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openHome } from '#store/home/home.js';
import { openStore } from '#store/open-store.js';
import { flipDocument } from '../store/flip-document.js';
import { temporaryFolders } from '../store/temporary-folder.js';
import { divisor, finished, serving, type Run } from './process.js';

/** A home with a managed market, an index, its run and a watchlist, made once and served by a process of its own. */
let base: string;
let home: string;
let service: Run & { readonly url: string };
const newFolder = temporaryFolders();

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

async function ask(url: string, method: string, path: string, body?: unknown): Promise<Answer> {
  const init =
    body === undefined
      ? { method }
      : { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const response = await fetch(`${url}${path}`, init);
  const text = await response.text();
  return { status: response.status, body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>) };
}

async function job(url: string, path: string, body: unknown): Promise<void> {
  let { body: status } = await ask(url, 'POST', path, body);
  while (status['status'] === 'pending' || status['status'] === 'running')
    ({ body: status } = await ask(url, 'GET', `/jobs/${String(status['job_id'])}?wait=30`));
  if (status['status'] !== 'succeeded') throw new Error(`${path}: ${JSON.stringify(status)}`);
}

const INDEX = {
  id: 'EVEN',
  name: 'Even',
  calendar: 'XNYS',
  base_date: '2024-01-02',
  pipeline: { weighting: { type: 'EqualWeight' } },
};

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'divisor-home-'));
  home = join(base, 'home');
  service = await serving(home, ['--log-level', 'error', '--workers', '1', '--drain-ms', '0']);
  await job(service.url, '/data/synthetic', {
    store_id: 'market',
    seed: 3,
    assets: 5,
    start: '2024-01-02',
    end: '2024-06-28',
  });
  await ask(service.url, 'PUT', '/indices/EVEN', INDEX);
  await job(service.url, '/analytics/EVEN/backtest', {});
  await ask(service.url, 'PUT', '/data/watchlists/mine', { name: 'Mine', identifiers: ['A'] });
}, 60_000);

afterAll(async () => {
  service?.child.kill('SIGTERM');
  await service?.ended;
  await rm(base, { recursive: true, force: true });
});

const lines = (text: string): Record<string, unknown>[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe('a backup', () => {
  test('is taken while clients write, restored elsewhere, and served with everything it had', async () => {
    const folder = join(await newFolder(), 'copy');
    const over = new AbortController();
    const written: number[] = [];
    const writing = (async () => {
      for (let i = 0; !over.signal.aborted; i++) {
        const { status } = await ask(service.url, 'PUT', '/data/watchlists/busy', {
          name: `v${i}`,
          identifiers: ['A'],
        });
        if (status < 300) written.push(i);
      }
    })();
    await expect.poll(() => written.length).toBeGreaterThan(3);
    const before = written.at(-1)!;
    const { status, out, err } = await finished(['backup', folder, '--home', home]);
    over.abort();
    await writing;
    expect({ status, err }).toEqual({ status: 0, err: '' });
    expect(lines(out)[0]).toMatchObject({ folder, damaged: [] });

    const other = join(await newFolder(), 'elsewhere');
    expect((await finished(['restore', folder, '--home', other])).status).toBe(0);
    const record = await (await fetch(`${service.url}/analytics/EVEN/record`)).text();
    const again = await serving(other, ['--log-level', 'error', '--workers', '1', '--drain-ms', '0']);
    try {
      expect(await (await fetch(`${again.url}/analytics/EVEN/record`)).text()).toBe(record);
      const busy = Number(String((await ask(again.url, 'GET', '/data/watchlists/busy')).body['name']).slice(1));
      expect(busy).toBeGreaterThanOrEqual(before);
      await expect
        .poll(async () => (await ask(again.url, 'GET', '/data/stores/market')).body['active'], { timeout: 20_000 })
        .toBe(true);
      expect((await ask(again.url, 'GET', '/data/stores/market')).body['location']).toContain(other);
    } finally {
      again.child.kill('SIGTERM');
      await again.ended;
    }
    expect((await finished(['verify', '--home', other])).status).toBe(0);
  }, 120_000);

  test('goes to a new folder only, and leaves nothing behind in the home', async () => {
    const folder = await newFolder();
    await writeFile(join(folder, 'mine'), '');
    const { status, err } = await finished(['backup', folder, '--home', home]);
    expect([status, err]).toEqual([
      78,
      `divisor: The folder ${folder} is not empty; a backup is written to a new one.\n`,
    ]);
    expect((await readdir(home)).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  test('removes what one that was killed left in the home', async () => {
    await mkdir(join(home, '.backup-4194300-ab', 'artifacts'), { recursive: true });
    const folder = join(await newFolder(), 'copy');
    expect((await finished(['backup', folder, '--home', home])).status).toBe(0);
    expect((await readdir(home)).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  test('of no home is refused', async () => {
    const folder = await newFolder();
    expect((await finished(['backup', join(folder, 'copy'), '--home', join(folder, 'none')])).status).toBe(78);
  });
});

describe('a damaged home or backup', () => {
  /** A copy of the home that no process serves. */
  async function stillHome(): Promise<string> {
    const folder = await newFolder();
    const copy = join(folder, 'backup');
    const other = join(folder, 'home');
    await finished(['backup', copy, '--home', home]);
    await finished(['restore', copy, '--home', other]);
    return other;
  }

  /** Changes one byte of a stored document. */
  async function flip(file: string): Promise<void> {
    const bytes = await readFile(file);
    const at = Math.floor(bytes.length / 2);
    bytes[at] = bytes[at]! ^ 1;
    await writeFile(file, bytes);
  }

  test('is told part by part, with names and reasons', async () => {
    const other = await stillHome();
    const [managed] = await readdir(join(other, 'stores'));
    await flip(join(other, 'stores', managed!, 'market.parquet'));
    const artifacts = await readdir(join(other, 'artifacts'));
    await flip(join(other, 'artifacts', artifacts[0]!));
    await rm(join(other, 'artifacts', artifacts[1]!));
    await flipDocument(other, 'main\u0000watchlist\u0000mine');

    const { status, out } = await finished(['verify', '--home', other]);
    expect(status).toBe(1);
    const damaged = Object.fromEntries(lines(out).map(({ part, damaged: found }) => [part, found]));
    expect(damaged['watchlist']).toEqual([{ name: 'mine', reason: 'its checksum does not hold' }]);
    expect(damaged['stores']).toEqual([{ name: 'market/market', reason: 'its checksum does not hold' }]);
    const named = { documents: expect.arrayContaining(['run EVEN']) };
    const told = [
      { ...named, name: artifacts[0], reason: 'its checksum does not hold' },
      { ...named, name: artifacts[1], reason: 'the file is missing' },
    ];
    expect(damaged['artifacts']).toHaveLength(2);
    expect(damaged['artifacts']).toEqual(expect.arrayContaining(told));
    expect(damaged['index']).toEqual([]);

    const folder = join(await newFolder(), 'copy');
    const copied = await finished(['backup', folder, '--home', other]);
    expect(copied.status).toBe(1);
    expect(lines(copied.out)[0]!['damaged']).toEqual(
      expect.arrayContaining([`artifacts/${artifacts[0]}`, `artifacts/${artifacts[1]}`]),
    );
  }, 60_000);

  test('whose store document cannot be read keeps the folder that the document named', async () => {
    const other = await stillHome();
    const before = await readdir(join(other, 'stores'));
    await flipDocument(other, 'main\u0000store\u0000market');
    const again = await serving(other, ['--log-level', 'error', '--drain-ms', '0']);
    await expect.poll(async () => (await ask(again.url, 'GET', '/data/stores')).body['skipped']).toBe(1);
    again.child.kill('SIGTERM');
    await again.ended;
    expect([before.length, await readdir(join(other, 'stores'))]).toEqual([1, before]);
  }, 60_000);

  test('is not restored, and the home stays as it was', async () => {
    const folder = await newFolder();
    const copy = join(folder, 'backup');
    await finished(['backup', copy, '--home', home]);
    await flip(join(copy, 'documents', 'data.mdb'));
    expect((await finished(['verify', '--backup', copy])).status).toBe(1);
    const other = join(folder, 'home');
    const { status, err } = await finished(['restore', copy, '--home', other]);
    expect([status, err]).toEqual([
      78,
      `divisor: The backup ${copy} is damaged and was not restored: documents/data.mdb.\n`,
    ]);
    await expect(stat(other)).rejects.toThrow('ENOENT');
  });

  test.each([
    ['a newer engine', { home_format: 99 }, 'format 99'],
    ['a newer layout of backups', { format: 2 }, 'has the format 2'],
    ['somebody who climbs', { files: [{ path: '../../outside', bytes: 1, sha256: '0'.repeat(64) }] }, 'manifest'],
    [
      'somebody who climbs inside',
      { files: [{ path: 'stores/../documents', bytes: 1, sha256: '0'.repeat(64) }] },
      'manifest',
    ],
    ['somebody who stays', { files: [{ path: 'stores/./documents', bytes: 1, sha256: '0'.repeat(64) }] }, 'manifest'],
  ])('by %s is refused', async (_name, change, says) => {
    const folder = await newFolder();
    const copy = join(folder, 'backup');
    await finished(['backup', copy, '--home', home]);
    const file = join(copy, 'manifest.json');
    await writeFile(file, JSON.stringify({ ...(JSON.parse(await readFile(file, 'utf8')) as object), ...change }));
    const { status, err } = await finished(['restore', copy, '--home', join(folder, 'home')]);
    expect(status).toBe(78);
    expect(err).toContain(says);
  });
});

describe('a restore', () => {
  test('does not touch a home that is served, nor one that holds documents unless it is told to', async () => {
    const folder = await newFolder();
    const copy = join(folder, 'backup');
    await finished(['backup', copy, '--home', home]);
    expect((await finished(['restore', copy, '--home', home, '--replace'])).status).toBe(75);

    const other = join(folder, 'home');
    await finished(['restore', copy, '--home', other]);
    const refused = await finished(['restore', copy, '--home', other]);
    expect([refused.status, refused.err]).toEqual([
      78,
      `divisor: The home ${other} holds documents, artifacts, stores already; --replace moves them aside.\n`,
    ]);
    const replaced = await finished(['restore', copy, '--home', other, '--replace']);
    expect(replaced.status).toBe(0);
    const aside = String(lines(replaced.out)[0]!['aside']);
    expect((await readdir(aside)).toSorted()).toEqual(['artifacts', 'documents', 'stores']);
    expect((await finished(['verify', '--home', other])).status).toBe(0);
  }, 60_000);

  test('that was cut short is not served, and comes to its end when it is run again', async () => {
    const folder = await newFolder();
    const copy = join(folder, 'backup');
    const other = join(folder, 'home');
    await finished(['backup', copy, '--home', home]);
    await finished(['restore', copy, '--home', other]);
    await writeFile(join(other, 'format'), 'restoring\n');
    await rm(join(other, 'artifacts'), { recursive: true });
    const refused = await finished(['serve', '--home', other, '--port', '0']);
    expect([refused.status, refused.err]).toEqual([78, expect.stringContaining('is incomplete')]);
    expect((await finished(['restore', copy, '--home', other])).status).toBe(0);
    expect((await finished(['verify', '--home', other])).status).toBe(0);
  }, 60_000);
});

test('a command whose reader goes away ends quietly with it', async () => {
  const run = divisor(['verify', '--home', home]);
  run.child.stdout.destroy();
  expect([await run.ended, run.err()]).toEqual([141, '']);
});

describe('the layout of a home', () => {
  test('is taken to the newest step by step, a step that was cut short again', async () => {
    const path = await newFolder();
    await (await openHome(path)).close();
    const steps: string[] = [];
    let isCut = true;
    const upgrades = [
      async () => void steps.push('1 to 2'),
      async () => {
        steps.push('2 to 3');
        if (isCut) throw new Error('the power failed');
      },
    ];
    await expect(openHome(path, upgrades)).rejects.toThrow('the power failed');
    expect(await readFile(join(path, 'format'), 'utf8')).toBe('2\n');
    isCut = false;
    await (await openHome(path, upgrades)).close();
    expect(steps).toEqual(['1 to 2', '2 to 3', '2 to 3']);
    expect(await readFile(join(path, 'format'), 'utf8')).toBe('3\n');
    await expect(openHome(path)).rejects.toMatchObject({
      exitStatus: 78,
      message: 'The home has format 3; this engine reads formats up to 1.',
    });
  });

  test('of version 0.1.0 is read with all it holds', async () => {
    const path = join(await newFolder(), 'home');
    await cp('test/golden/home-format-1', path, { recursive: true });
    const opened = await openHome(path);
    const store = await openStore({
      home: opened,
      onFailure: (cause) => {
        throw cause;
      },
    });
    const ids = JSON.parse(await readFile('test/golden/home-format-1/ids.json', 'utf8')) as Record<string, string[]>;
    for (const [kind, expected] of Object.entries(ids)) {
      expect(await store.documents.ids(kind as never), kind).toEqual(expected);
      for (const id of expected)
        expect(await store.documents.get(kind as never, id), `${kind} ${id}`).toHaveProperty('body');
    }
    await store.close();
    await opened.close();
    expect((await finished(['verify', '--home', path])).status).toBe(0);
  });

  test('with results but without documents is refused, and nothing is swept', async () => {
    const path = await newFolder();
    await (await openHome(path)).close();
    await writeFile(join(path, 'artifacts', `${'a'.repeat(32)}.art`), 'x');
    const { status, err } = await finished(['serve', '--home', path, '--port', '0']);
    expect([status, err]).toEqual([78, expect.stringContaining('holds 1 results but no documents')]);
    expect(await readdir(join(path, 'artifacts'))).toHaveLength(1);
  });
});

describe('the doctor', () => {
  test('finds a served home well, and says who serves it', async () => {
    const { hostname, port } = new URL(service.url);
    const { status, out } = await finished(['doctor', '--home', home, '--host', hostname, '--port', port]);
    const found = Object.fromEntries(lines(out).map(({ subject, state, says }) => [subject, [state, says]]));
    expect(lines(out).filter(({ state }) => state === 'fault')).toEqual([]);
    expect(status).toBe(0);
    expect(found['lock']).toEqual(['ok', `Process ${service.child.pid} serves the home.`]);
    expect(found['address']).toEqual(['ok', expect.stringMatching(/^Divisor \d.* listens/)]);
    expect(found['documents']).toEqual(['ok', expect.stringContaining('every checksum holds')]);
  });

  test.each([
    ['their defaults', []],
    ['those given', ['--data-roots', '/usr:/absent/place']],
  ])('names the allowed folders as the settings show them: %s', async (_, flags) => {
    const folder = await newFolder();
    const shown = (await finished(['config', '--home', folder, ...flags])).out
      .split('\n')
      .find((line) => line.startsWith('dataRoots'))!;
    const value = shown.split(/ {2,}/)[1]!;
    expect(value).toBe(flags.length === 0 ? `${folder}, ${process.cwd()}` : '/usr, /absent/place');
    const { out } = await finished(['doctor', '--home', folder, '--port', '0', ...flags]);
    const found = lines(out).find(({ subject }) => subject === 'data roots')!;
    expect(found['says']).toContain(
      `Folder stores and file databases may lie below ${value}; --data-roots or DIVISOR_DATA_ROOTS names others.`,
    );
    expect(found['state']).toBe(flags.length === 0 ? 'ok' : 'warning');
  });

  test('ends with 1 for what has to be mended, each in a sentence', async () => {
    const folder = await newFolder();
    await writeFile(join(folder, 'format'), '7\n');
    await mkdir(join(folder, 'documents'));
    await writeFile(join(folder, 'documents', 'data.mdb'), '');
    const { status, out } = await finished([
      'doctor',
      '--home',
      folder,
      '--host',
      '0.0.0.0',
      '--port',
      '0',
      '--data-roots',
      '/absent/place',
    ]);
    expect(status).toBe(1);
    const faults = Object.fromEntries(
      lines(out)
        .filter(({ state }) => state !== 'ok')
        .map(({ subject, says }) => [subject, says]),
    );
    expect(faults).toMatchObject({
      home: `${folder} has format 7; this engine reads formats up to 1.`,
      documents: expect.stringContaining('is empty'),
      keys: expect.stringContaining('Without a key the service does not listen on 0.0.0.0'),
      'data roots': expect.stringContaining('/absent/place'),
    });
  });
});
