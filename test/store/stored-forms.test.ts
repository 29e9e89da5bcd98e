import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { RunDocument } from '#domain/definition/runs.js';
import { VERSIONED_KINDS } from '#domain/definition/versions.js';
import { readJobRecord } from '#jobs/port/life-cycle.js';
import { DOCUMENT_KINDS, type DocumentEngine, type DocumentKind } from '#store/port.js';
import { loadVersion, readHead } from '#store/history/history.js';
import { openDocumentsReader } from '#store/lmdb/documents-reader.js';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import { openPostgresDocuments } from '#store/postgres/document-store.js';
import { assertCurrentForms, convertDocuments } from '#store/stored-forms.js';
import { DIVISOR, runHere, startServiceHere } from '../cli/process.js';
import { hasPostgresql, openTestSchema } from '../postgresql/shared-postgresql.js';
import { createMemoryEngine } from './memory-engine.js';
import { createTemporaryFolder } from './temporary-folder.js';

const RELEASES = ['0.1.0', '0.3.0', '0.6.0'];

/** Number of documents of each home in earlier forms, counted by hand from their listing. */
const EARLIER: Readonly<Record<string, number>> = { '0.1.0': 9, '0.3.0': 5, '0.6.0': 0 };

async function copyHome(release: string): Promise<string> {
  const path = join(await createTemporaryFolder(), 'home');
  await cp(`test/golden/home-${release}`, path, { recursive: true });
  return path;
}

type Bodies = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

/** Returns every stored body by kind and id, without the mark. */
async function readBodies(documents: DocumentEngine): Promise<Bodies> {
  const bodies = new Map<string, Readonly<Record<string, unknown>>>();
  for (const kind of DOCUMENT_KINDS)
    if (kind !== 'stored-forms')
      await documents.list(kind, (body, id) => void bodies.set(`${kind} ${id}`, body as Record<string, unknown>));
  return bodies;
}

async function readHome(path: string): Promise<Bodies> {
  const documents = await openDocumentStore({ folder: join(path, 'documents') });
  const bodies = await readBodies(documents);
  await documents.close();
  return bodies;
}

/** Puts the documents of a home into an engine. */
async function fillEngine(documents: DocumentEngine, bodies: Bodies): Promise<DocumentEngine> {
  for (const [name, body] of bodies) {
    const [kind, id] = name.split(' ') as [DocumentKind, string];
    await documents.transaction((tx) => tx.put(kind, id, body));
  }
  return documents;
}

/** Checks that no document is lost, that each keeps its members, and that the readers of today accept each. */
async function expectConverted(documents: DocumentEngine, before: Bodies): Promise<void> {
  const after = await readBodies(documents);
  for (const [name, body] of before) {
    const { artifacts: _, ...members } = body;
    expect(after.get(name), name).toMatchObject(members);
    const artifacts = Object.values((body['artifacts'] ?? {}) as object);
    expect(Object.values((after.get(name)!['artifacts'] ?? {}) as object), name).toEqual(artifacts);
  }
  for (const [name, body] of after) {
    const [kind, id] = name.split(' ') as [DocumentKind, string];
    if (kind === 'job') expect(readJobRecord(body, id), name).toBeDefined();
    if (kind === 'run' || kind === 'kept-run') expect(RunDocument.safeParse(body).error, name).toBeUndefined();
    if (!(VERSIONED_KINDS as readonly string[]).includes(kind)) continue;
    const subject = { kind, id } as Parameters<typeof readHead>[1];
    const { latest } = (await readHead(documents, subject))!;
    expect(await loadVersion(documents, subject, latest), name).toMatchObject({ version: latest });
  }
  await assertCurrentForms(documents);
}

describe.each(RELEASES)('the documents of a home of version %s', (release) => {
  test('are converted without a loss, once, and the service then starts', async () => {
    const path = await copyHome(release);
    const before = await readHome(path);
    const count = EARLIER[release]!;
    if (count > 0)
      await expect(startServiceHere(path)).rejects.toMatchObject({
        exitStatus: 78,
        message: expect.stringMatching(
          new RegExp(
            `^The store contains ${count} documents in the form of a release before 0.7.0, .*: run divisor migrate.$`,
          ),
        ) as string,
      });
    const converted = count === 0 ? 'The documents are up to date.\n' : `${count} documents were converted.\n`;
    expect(await runHere(['migrate', '--home', path])).toMatchObject({ status: 0, out: converted });
    expect((await runHere(['migrate', '--home', path])).out).toBe('The documents are up to date.\n');
    const absent = join(path, 'absent');
    const refusal = { status: 78, err: expect.stringContaining(`The home at ${absent} is missing or incomplete.`) };
    expect(await runHere(['migrate', '--home', absent])).toMatchObject(refusal);
    expect(existsSync(absent)).toBe(false);
    expect((await runHere(['verify', '--home', path])).status).toBe(0);
    const documents = await openDocumentStore({ folder: join(path, 'documents') });
    await expectConverted(documents, before);
    await documents.close();
    const service = await startServiceHere(path);
    expect((await fetch(`${service.url}/health/live`)).status).toBe(200);
    await service.stop();
  });

  test('are converted after an interruption at any transaction', async () => {
    const bodies = await readHome(await copyHome(release));
    const reference = await fillEngine(createMemoryEngine().open(), bodies);
    await convertDocuments(reference);
    const expected = await readBodies(reference);
    for (let allowed = 0; ; allowed++) {
      const documents = await fillEngine(createMemoryEngine().open(), bodies);
      let left = allowed;
      const cut: DocumentEngine = {
        ...documents,
        transaction: (change, options) =>
          left-- > 0 ? documents.transaction(change, options) : Promise.reject(new Error('the power failed')),
      };
      const isComplete = await convertDocuments(cut).then(
        () => true,
        () => false,
      );
      await convertDocuments(documents);
      expect(removeTimes(await readBodies(documents))).toEqual(removeTimes(expected));
      if (isComplete) break;
    }
  });

  test.skipIf(!hasPostgresql)('are converted in a database', async () => {
    const bodies = await readHome(await copyHome(release));
    const world = await openTestSchema();
    const documents = await openPostgresDocuments({ ...world, database: world.another() });
    await fillEngine(documents, bodies);
    if (EARLIER[release]! > 0) await expect(assertCurrentForms(documents)).rejects.toMatchObject({ exitStatus: 78 });
    expect(await convertDocuments(documents)).toBe(EARLIER[release]);
    await expectConverted(documents, bodies);
    await documents.close();
    await world.drop();
  });
});

/** The first version of a document from before versions states the time at which the engine wrote the document. */
const removeTimes = (bodies: Bodies) =>
  new Map([...bodies].map(([name, body]) => [name, name.startsWith('version ') ? { ...body, at: '' } : body]));

test('a conversion that is killed is continued by the next one', async () => {
  const path = await copyHome('0.1.0');
  const folder = join(path, 'documents');
  const documents = await openDocumentStore({ folder });
  const stored = await documents.get('job', 'risk:small');
  const body = (stored as { readonly body: object }).body;
  for (let batch = 0; batch < 40; batch++)
    await documents.transaction(async (tx) => {
      for (let i = 0; i < 100; i++)
        await tx.put('job', `risk:m${batch}-${i}`, { ...body, job_id: `risk:m${batch}-${i}` });
    });
  const before = await readBodies(documents);
  await documents.close();
  const countEarlier = async (): Promise<number> => {
    const reader = openDocumentsReader(folder);
    let count = 0;
    for await (const { kind, body } of reader.entries()) if (kind === 'job' && !('losses' in (body as object))) count++;
    await reader.close();
    return count;
  };
  const [command, ...words] = DIVISOR;
  let kills = 0;
  while ((await countEarlier()) > 0) {
    const child = spawn(command!, [...words, 'migrate', '--home', path], { stdio: 'ignore' });
    const ended = once(child, 'exit');
    const total = await countEarlier();
    // Killed as soon as some documents are converted, or at the end.
    while (child.exitCode === null && child.signalCode === null && (await countEarlier()) === total);
    child.kill('SIGKILL');
    await ended;
    kills++;
  }
  expect(kills).toBeGreaterThan(0);
  expect((await runHere(['migrate', '--home', path])).status).toBe(0);
  const after = await openDocumentStore({ folder });
  await expectConverted(after, before);
  await after.close();
});

test('versions of earlier encodings, errors without a code, single earlier files and the head of a signed log are converted', async () => {
  const documents = createMemoryEngine().open();
  const createVersion = (version: number, content: string) => ({
    version,
    action: 'created',
    at: '2026-11-20T00:00:00.000000+00:00',
    author: 'local',
    note: null,
    request_id: '',
    etag: '26cc5baf1f7aa0b6fa9b15a42a2a27c3aac7c85e4b0e1d53ea8ea3a55b1a5a36',
    content,
  });
  const file = { name: `${'0'.repeat(32)}.art`, bytes: 1, sha256: 'a'.repeat(64) };
  await documents.transaction(async (tx) => {
    await tx.put('version', 'index/EQ/0000000001', createVersion(1, '{"id":"EQ"}'));
    await tx.put(
      'version',
      'index/EQ/0000000002',
      createVersion(2, `=${Buffer.from('{"id":"EQ"}').toString('base64')}`),
    );
    await tx.put('job', 'risk:m', { job_id: 'risk:m', status: 'failed', error: 'No data.', message: null });
    await tx.put('run', 'EQ', { run_id: 'EQ', artifacts: { columns: file, base: { ...file, bytes: 2 } } });
    await tx.put('audit-head', 'head', { seq: 3, hash: 'b'.repeat(64) });
    await tx.put('audit-seal', '000000000002', {
      seq: 2,
      entry_hash: 'c'.repeat(64),
      at: '2026-11-20T00:00:00.000000+00:00',
      hash: 'd'.repeat(64),
      key_id: 'k',
      signature: '',
    });
  });
  expect(await convertDocuments(documents)).toBe(5);
  const read = async (kind: DocumentKind, id: string) =>
    ((await documents.get(kind, id)) as { readonly body: Record<string, unknown> }).body;
  // Both contents are short, so they are compressed with the dictionary, to the same text.
  const contents = [await read('version', 'index/EQ/0000000001'), await read('version', 'index/EQ/0000000002')];
  expect(contents.map(({ content }) => content)).toEqual([expect.stringMatching(/^~/), contents[0]!['content']]);
  expect(await read('job', 'risk:m')).toMatchObject({
    error: { code: 'UNCLASSIFIED_FAILURE', message: 'No data.', detail: null },
    losses: 0,
    callbacks: [],
  });
  expect(await read('run', 'EQ')).toEqual({
    run_id: 'EQ',
    extended_from: null,
    full_run_reason: null,
    artifacts: { columns: file, begun: [{ ...file, bytes: 2 }] },
  });
  expect(await read('audit-head', 'head')).toEqual({
    seq: 3,
    hash: 'b'.repeat(64),
    sealed: 2,
    seals: 1,
    seal_hash: 'd'.repeat(64),
  });
});

test.each([
  ['no prices', { message: 'no prices', detail: null }],
  [{ message: 'no prices' }, { message: 'no prices', detail: null }],
  [
    { code: null, message: 'no prices', detail: { at: 1 } },
    { message: 'no prices', detail: { at: 1 } },
  ],
  [null, { message: 'computing', detail: null }],
  [undefined, { message: 'computing', detail: null }],
  ['', { message: 'computing', detail: null }],
  [{}, { message: 'computing', detail: null }],
])('the error %j of a failed job gets a code and keeps its message', async (error, expected) => {
  const documents = createMemoryEngine().open();
  await documents.transaction((tx) => tx.put('job', 'risk:m', { status: 'failed', message: 'computing', error }));
  await convertDocuments(documents);
  expect(await documents.get('job', 'risk:m')).toMatchObject({
    body: { error: { code: 'UNCLASSIFIED_FAILURE', ...expected }, message: 'computing' },
  });
});

test('a store of a later form is refused, and an empty store is marked', async () => {
  const documents = createMemoryEngine().open();
  await assertCurrentForms(documents, true);
  expect(await documents.ids('stored-forms')).toEqual([]);
  await assertCurrentForms(documents);
  expect(await documents.get('stored-forms', 'documents')).toMatchObject({ body: { form: 1 } });
  await documents.transaction((tx) => tx.put('stored-forms', 'documents', { form: 2 }));
  await expect(assertCurrentForms(documents)).rejects.toMatchObject({
    exitStatus: 78,
    message: 'The documents have form 2; this version reads form 1: a newer version is required.',
  });
});
