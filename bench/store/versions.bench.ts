import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { compose } from '#cli/compose.js';
import { readSettings } from '#cli/settings.js';
import { createVersionedStore } from '#store/history/versioned-store.js';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import { openDatabaseDocuments } from '#store/postgres/open-documents.js';
import type { DocumentEngine, DocumentStore } from '#store/port.js';
import { hasPostgresql, startPostgresql } from '../../test/postgresql/postgresql-server.js';
import { percentile } from '../percentiles.js';

/**
 * What versions and the log of writes add to a PUT of a definition: the transaction with and without them, by turns, and
 * the whole PUT through the service, on LMDB and on PostgreSQL. One client, a write of each in turn, so that what else the
 * machine does falls on all alike; medians of wall time, and of processor time.
 */
const ROUNDS = 600;
/** Rounds before them, in which the program is compiled. */
const WARM_ROUNDS = 200;

const definition = (serial: number) => ({
  id: 'CORE',
  name: `Core ${serial}`,
  calendar: 'XNYS',
  base_date: '2020-01-02',
  rebalance: { frequency: 'quarterly' },
  universe: { kind: 'list', identifiers: Array.from({ length: 100 }, (_, i) => `NAME${i}`) },
  pipeline: { weighting: { type: 'EqualWeight' } },
});

interface Times {
  readonly wall: number[];
  /** Of all threads of this process, ms. */
  readonly processor: number[];
}

async function timed(write: (serial: number) => Promise<unknown>, times: Times): Promise<void> {
  const before = process.cpuUsage();
  const start = performance.now();
  await write(times.wall.length);
  times.wall.push(performance.now() - start);
  const { user, system } = process.cpuUsage(before);
  times.processor.push((user + system) / 1000);
}

const begun = (): Times => ({ wall: [], processor: [] });
const middle = (values: readonly number[]): number =>
  percentile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
const wallOf = ({ wall }: Times): number => middle(wall);
const processorOf = ({ processor }: Times): number => middle(processor);

async function compare(engine: DocumentEngine, put: (serial: number) => Promise<unknown>, name: string): Promise<void> {
  const versioned = createVersionedStore(engine);
  // As the service does: what it writes is checked against what stands, in the same transaction.
  const into = (store: DocumentStore, id: string) => (serial: number) =>
    store.transaction(
      async (tx) => {
        await tx.get('index', id);
        await tx.get('strategy', id);
        return tx.put('index', id, definition(serial));
      },
      { by: { author: 'local', note: null, requestId: 'request' } },
    );
  const turns = async ([plain, kept, whole]: readonly [Times, Times, Times], rounds: number): Promise<void> => {
    for (let round = 0; round < rounds; round++) {
      await timed(into(engine, 'plain'), plain);
      await timed(into(versioned, 'kept'), kept);
      await timed(put, whole);
    }
  };
  await turns([begun(), begun(), begun()], WARM_ROUNDS);
  const [plain, kept, whole] = [begun(), begun(), begun()];
  await turns([plain, kept, whole], ROUNDS);
  for (const [what, of] of [
    ['wall', wallOf],
    ['processor', processorOf],
  ] as const) {
    const added = of(kept) - of(plain);
    const share = (100 * added) / (of(whole) - added);
    const ms = (times: Times): string => `${of(times).toFixed(2)} ms`;
    console.log(
      `${name.padEnd(10)} ${what.padEnd(9)}  transaction ${ms(plain)}, with versions ${ms(kept)}; PUT ${ms(whole)}: ${share.toFixed(0)} % more than without`,
    );
  }
}

const folder = await mkdtemp(join(tmpdir(), 'bench-'));

async function withService(
  flags: readonly string[],
  work: (put: (serial: number) => Promise<unknown>) => Promise<void>,
) {
  const { settings } = readSettings(
    ['--home', join(folder, `home-${flags.length}`), '--workers', '1', '--warm-up', 'off', ...flags],
    {},
  );
  const onDefect = (cause: unknown): never => {
    throw cause;
  };
  const service = await compose({ role: 'service', settings, log: pino({ level: 'silent' }), onDefect });
  try {
    await work(async (serial) => {
      const init = {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(definition(serial)),
      };
      const { status } = await service.app.fetch(new Request('http://localhost/indices/CORE', init));
      if (status >= 300) throw new Error(`answered ${status}`);
    });
  } finally {
    await service.close();
  }
}

try {
  await withService([], async (put) => {
    const engine = await openDocumentStore({ folder: join(folder, 'documents') });
    await compare(engine, put, 'LMDB');
    await engine.close();
  });
  if (hasPostgresql) {
    const server = await startPostgresql();
    try {
      const onFailure = (): void => {};
      const engine = await openDatabaseDocuments({
        place: { url: server.url, schema: 'bench', migrate: true },
        onFailure,
      });
      await (await openDatabaseDocuments({ place: { url: server.url, migrate: true }, onFailure })).close();
      await withService(['--database', server.url], (put) => compare(engine, put, 'PostgreSQL'));
      await engine.close();
    } finally {
      await server.stop();
    }
  }
} finally {
  await rm(folder, { recursive: true });
}
