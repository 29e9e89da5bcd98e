import { afterAll, beforeAll, expect, test } from 'vitest';
import type {
  BenchmarkStatement,
  GovernanceOverview,
  MethodologyChange,
  ProcedurePayload,
} from '#contract/governance.js';
import {
  createDefinition,
  createFamilyOn,
  createFiles,
  performDay,
  putSchedule,
  SESSIONS,
} from '../daily-plans/family.js';
import { runService, type RunningService } from '../running-service.js';
import { formatStatement } from '#views/statement-text.js';

/** Service with a published index, procedures and decisions. Each test depends on the previous test. */
let service: RunningService;
let family: Awaited<ReturnType<typeof createFamilyOn>>;
const readSession = (k: number): string => SESSIONS[k]!;
const readStatement = async (id: string) =>
  (await service.ask<BenchmarkStatement>('GET', `/indices/${id}/statement`)).body;

beforeAll(async () => {
  service = await runService();
  family = await createFamilyOn(service, 10);
  await putSchedule(service, { enabled: false, indices: ['CORE'] });
  expect((await performDay(service, readSession(9))).state).toBe('done');
});
afterAll(() => service.close());

const createCessation = (change: object = {}) => ({
  name: 'Cessation',
  kind: 'cessation',
  text: 'An index ends six months after its notice.',
  indices: ['CORE'],
  ...change,
});

test('a procedure is a document with versions, in the statement of its indices', async () => {
  expect((await service.ask('PUT', '/procedures/cessation', createCessation())).status).toBe(200);
  const laterCessation = createCessation({ text: 'An index ends a year after its notice.', review_by: '2026-01-31' });
  const put = await service.ask<ProcedurePayload>('PUT', '/procedures/cessation', laterCessation);
  expect(put.body).toMatchObject({ procedure_id: 'cessation', version: 2 });
  expect(
    (await service.ask('PUT', '/procedures/all', createCessation({ kind: 'complaints', indices: null }))).status,
  ).toBe(200);
  const readIds = async (index: string) => (await readStatement(index)).procedures.map((one) => one.procedure_id);
  expect(await readIds('CORE')).toEqual(['all', 'cessation']);
  expect(await readIds('EVEN')).toEqual(['all']);
  const first = await service.ask<ProcedurePayload>('GET', '/procedures/cessation/versions/1');
  expect(first.body.text).toBe('An index ends six months after its notice.');
  expect((await service.ask('POST', '/procedures/cessation/versions/1/restore')).status).toBe(200);
  expect((await readStatement('CORE')).procedures[1]).toMatchObject({ version: 3, text: first.body.text });
  expect((await service.refusal('PUT', '/procedures/x', createCessation({ kind: 'lunch' }))).status).toBe(422);
  expect((await service.refusal('PUT', '/procedures/x', createCessation({ indices: ['NONE'] }))).status).toBe(422);
  expect((await service.refusal('GET', '/procedures/none')).code).toBe('PROCEDURE_NOT_FOUND');
  expect((await service.ask('DELETE', '/procedures/all')).status).toBe(204);
  expect(await readIds('EVEN')).toEqual([]);
});

test('a statement counts the published closes, and lists the decisions of people about the index', async () => {
  const before = await readStatement('CORE');
  expect(before.publication).toEqual({
    first: readSession(0),
    through: readSession(9),
    closes: 10,
    restatements: 0,
    index_version: before.version,
  });
  expect((await readStatement('EVEN')).publication).toBeNull();
  // A run without a reason does not count as a judgement.
  expect(before.discretion).toMatchObject({ judgements: [], overrides: [] });
  const repetition = { again: ['publish'], reason: 'Asked by a client' };
  await performDay(service, readSession(9), repetition);
  expect((await readStatement('CORE')).discretion.judgements).toMatchObject([{ reason: 'Asked by a client' }]);
  expect((await readStatement('EVEN')).discretion.judgements).toEqual([]); // the index has no schedule
  const { body } = await service.ask<GovernanceOverview>('GET', '/governance');
  expect(body.registers).toMatchObject({ clients: 0, errors: 0, judgements: 2 });
  expect(body.statements).toContainEqual({
    index_id: 'CORE',
    published_through: readSession(9),
    published_version: 1,
    version: 1,
    to_complete: ['purpose'], // its procedure is the cessation
    entries: 10,
    errors: 0,
    data_through: readSession(9),
    sessions_behind: 0,
  });
  expect(body.statements).toContainEqual({
    index_id: 'EVEN',
    published_through: null,
    published_version: null,
    version: 1,
    to_complete: ['purpose', 'procedures'],
    entries: 0,
    errors: 0,
    data_through: readSession(9),
    sessions_behind: null,
  });
  expect(body.latest_judgements).toMatchObject([{ reason: 'Asked by a client' }]);
});

test('a statement lists prices that people overrode', async () => {
  const request = { identifier: 'AA', date: readSession(8), price: 21, reason: 'Close of the exchange' };
  expect((await service.ask('POST', '/data/stores/vendor/overrides', request)).status).toBe(200);
  await service.waitForJob('refresh:vendor');
  const overrides = (await readStatement('CORE')).discretion.overrides;
  expect(overrides).toMatchObject([{ ...request, author: 'local', approval_id: null, approved_by: [] }]);
  expect((await readStatement('EVEN')).discretion.overrides).toEqual([]); // the index was never run
  const { body } = await service.ask(
    'PUT',
    '/indices/LATER',
    createDefinition('LATER', 'EqualWeight', { base_date: readSession(9) }),
  );
  expect(body, JSON.stringify(body)).toHaveProperty('index');
  expect((await readStatement('LATER')).discretion.overrides).toEqual([]); // before the base date of the index
});

test('the change log has the sentences that each version removed and added', async () => {
  const put = (body: object, note: string) => service.ask('PUT', '/indices/EVEN', body, { 'x-change-note': note });
  const cappedRules = { pipeline: { weighting: { type: 'MarketCapWeight', cap: 0.4 } } };
  expect((await put(createDefinition('EVEN', 'EqualWeight', cappedRules), 'Capped')).status).toBe(200);
  const { body } = await service.ask<{ changes: MethodologyChange[] }>('GET', '/indices/EVEN/changes');
  const [latest, first] = body.changes;
  expect(latest).toMatchObject({ version: 2, note: 'Capped', action: 'updated', author: 'local' });
  expect(first).toMatchObject({ version: 1, removed: [], added: [] });
  const { methodology } = await readStatement('EVEN');
  for (const sentence of latest!.added) expect(methodology).toContain(sentence);
  for (const sentence of latest!.removed) expect(methodology).not.toContain(sentence);
  expect(latest!.added.join(' ')).toMatch(/40 ?%/);
});

test('the text for publication has every section and the sentences of the statement', async () => {
  const statement = await readStatement('CORE');
  const response = await service.download('/indices/CORE/statement', { headers: { accept: 'text/markdown' } });
  expect(response.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
  const text = await response.text();
  const titles = [...text.matchAll(/^## (.+)$/gm)].map(([, title]) => title);
  expect(titles).toEqual([
    'Purpose',
    'Methodology',
    'Input data',
    'Discretion',
    'Limitations',
    'Review',
    'Changes of the methodology',
    'Published closes',
    'Errors',
    'Procedure: Cessation (version 3)',
  ]);
  for (const sentence of [...statement.methodology, ...statement.inputs.hierarchy, ...statement.limitations])
    expect(text).toContain(sentence);
  expect(text).not.toContain('is not published');
  expect(text).toMatch(/\nConstituents are (not reviewed\.|reviewed \S+\. Next effective dates: )/);
  expect((await service.refusal('GET', '/indices/NONE/statement')).code).toBe('INDEX_NOT_FOUND');
});

test.each([
  ['none', 'Constituents are not reviewed.\n'],
  ['annual', 'Constituents are reviewed annually. Next effective dates: '],
  ['semi_annual', 'Constituents are reviewed semi-annually. Next effective dates: '],
])('the text of an index with the frequency %s states its reviews', async (frequency, sentence) => {
  const document = createDefinition('REVIEWS', 'EqualWeight', { rebalance: { frequency } });
  expect((await service.ask('PUT', '/indices/REVIEWS', document)).status).toBe(200);
  const response = await service.download('/indices/REVIEWS/statement', { headers: { accept: 'text/markdown' } });
  expect(await response.text()).toContain(`## Review\n\n${sentence}`);
});

test('the inputs of a statement and its methodology state the same treatment of missing prices', async () => {
  for (const treatment of [{}, { max_stale_sessions: 2, suspension: 'zero' }, { missing_prices: 'fail' }]) {
    const rules = { pipeline: { weighting: { type: 'EqualWeight' }, treatment } };
    expect((await service.ask('PUT', '/indices/GAPS', createDefinition('GAPS', 'EqualWeight', rules))).status).toBe(
      200,
    );
    const { methodology, inputs } = await readStatement('GAPS');
    const sentence = inputs.hierarchy[1]!;
    expect(methodology.some((one) => one.startsWith(sentence))).toBe(true);
    expect(sentence.includes('carried forward')).toBe(treatment.missing_prices === undefined);
  }
});

test('a statement describes the version of the published closes, and states that a later version is not published', async () => {
  const before = await readStatement('CORE');
  const definition = createDefinition('CORE', 'EqualWeight', { description: 'All securities.', base_value: 500 });
  expect((await service.ask('PUT', '/indices/CORE', definition)).status).toBe(200);
  const after = await readStatement('CORE');
  expect([after.version, after.latest_version]).toEqual([before.version, before.version! + 1]);
  expect(after.methodology).toEqual(before.methodology);
  expect(after.purpose).toBeNull(); // the published version has no description
  expect(after.changes.map(({ version }) => version)).toEqual([before.version]);
  expect(formatStatement(after)).toContain(`Version ${after.latest_version} of the definition is not published`);
  const { body } = await service.ask<GovernanceOverview>('GET', '/governance');
  expect(body.statements.find(({ index_id: id }) => id === 'CORE')).toMatchObject({
    version: after.latest_version,
    published_version: before.version,
    to_complete: [],
  });
});

test('an index is behind by the sessions of its data after its last published close', async () => {
  await family.write({ ...createFiles(readSession(10)), ...createFiles(readSession(12)) });
  await family.refresh();
  const { body } = await service.ask<GovernanceOverview>('GET', '/governance');
  // The session without a file is a session of the exchange. So one of its closes is missing.
  expect(body.statements.find(({ index_id: id }) => id === 'CORE')).toMatchObject({
    published_through: readSession(9),
    data_through: readSession(12),
    sessions_behind: 3,
  });
});
