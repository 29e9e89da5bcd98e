import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSessions } from '#http/oidc/sign-in.js';
import { createEndedSessions } from '#services/keys/keys.js';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import type { DocumentStore } from '#store/port.js';

let folder: string;
let documents: DocumentStore;
let nowMs: number;

beforeEach(async () => {
  nowMs = Date.parse('2026-11-20T12:00:00Z');
  folder = await mkdtemp(join(tmpdir(), 'sessions-'));
  documents = await openDocumentStore({ folder });
});
afterEach(async () => {
  await documents.close();
  await rm(folder, { recursive: true });
});

const HOUR = 3_600_000;
const readFront = (isReadOnly = false) => createEndedSessions(documents, () => nowMs, isReadOnly);
const createSession = (id: string, subject = 'ada', scopes = ['read']) => ({
  id,
  subject,
  scopes,
  ends: nowMs + 8 * HOUR,
});

test('a session that ends at one process ends at every other, and remains ended after a restart', async () => {
  const [one, other] = [await readFront(), await readFront()];
  const session = createSession('s1');
  expect([one.has(session), other.has(session)]).toEqual([false, false]);
  await one.add(session);
  expect(one.has(session)).toBe(true);
  await expect.poll(() => other.has(session)).toBe(true);
  expect((await readFront()).has(session)).toBe(true);
  for (const otherSession of [createSession('s2'), createSession('s1', 'bob')])
    expect(other.has(otherSession)).toBe(false);
});

test('sign-outs of two processes at once end both sessions', async () => {
  const [one, other] = [await readFront(), await readFront()];
  await Promise.all([one.add(createSession('s1')), other.add(createSession('s2'))]);
  const laterFront = await readFront();
  expect([laterFront.has(createSession('s1')), laterFront.has(createSession('s2'))]).toEqual([true, true]);
});

test('no number of sign-outs revives a session, or needs more space than sixteen per person', async () => {
  const endedFront = await readFront();
  const sessions = Array.from({ length: 40 }, (_, i) => createSession(`s${i}`));
  for (const session of sessions) {
    await endedFront.add(session);
    nowMs += 1000;
  }
  const begunLater = createSession('later');
  for (const endedList of [endedFront, await readFront()]) {
    expect(sessions.filter((session) => !endedList.has(session))).toEqual([]);
    expect(endedList.has(begunLater)).toBe(false);
  }
  const [id] = await documents.ids('ended-sessions');
  const { body } = (await documents.get('ended-sessions', id!)) as { readonly body: { readonly sessions: unknown[] } };
  expect(body.sessions.length).toBeLessThanOrEqual(16);
});

test('expired sign-outs are deleted, and those without effect are not stored', async () => {
  const endedFront = await readFront();
  for (const subject of ['ada', 'bob', 'eve']) await endedFront.add(createSession('s', subject));
  await endedFront.add(createSession('s', 'nobody', []));
  expect(await documents.ids('ended-sessions')).toHaveLength(3);
  nowMs += 8 * HOUR;
  await endedFront.add(createSession('t', 'dan'));
  expect(await documents.ids('ended-sessions')).toHaveLength(1);
});

test('a process that writes nothing ends its session', async () => {
  const endedFront = await readFront(true);
  await endedFront.add(createSession('s1'));
  expect([endedFront.has(createSession('s1')), await documents.ids('ended-sessions')]).toEqual([true, []]);
});

test('an attempt to sign in is used once, in this process and in others', async () => {
  const open = async () => createSessions({ key: Buffer.alloc(32, 1), now: () => nowMs, ended: await readFront() });
  const sessions = await open();
  const attempt = { state: 'random', ends: nowMs + 600_000 };
  expect([sessions.use(attempt), sessions.use(attempt)]).toEqual([true, false]);
  expect((await open()).use(attempt)).toBe(true);
  await sessions.keepUsed(attempt, sessions.begin({ keyId: 'sub:a', name: 'a', scopes: new Set(['read']) }));
  expect((await open()).use(attempt)).toBe(false);
  expect((await open()).use({ ...attempt, state: 'other' })).toBe(true);
});
