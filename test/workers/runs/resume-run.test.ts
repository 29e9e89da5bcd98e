import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { serialize } from 'node:v8';
import { expect, test } from 'vitest';
import { createCheckpoint } from '#domain/backtest/checkpoint.js';
import { CannotResumeError } from '#domain/definition/runs.js';
import { shareMarket } from '#domain/market/market-data.js';
import { digestContent } from '#market/content/content-hash.js';
import { encodeCheckpoint, type ResumeOrder, resumeStored } from '#workers/runs/backtest.js';
import { runOn } from '../../domain/backtest/random-run.js';
import { createWeekdayCalendars } from '../../domain/backtest/market-builder.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';
import { createMarket } from '../bits-market.js';
import { createDocument } from '../../domain/index-document.js';

const createFolder = openTemporaryFolders();

/** Returns an equal value whose numbers, lists and texts V8 stores in other forms. */
function changeForms(value: unknown): unknown {
  if (typeof value === 'number') return toHeapNumber(value);
  if (typeof value === 'string') return `…${value}`.slice(1); // two bytes per character
  if (Array.isArray(value)) return Object.assign(Array(value.length), value.map(changeForms)); // a list with holes
  if (value instanceof Map) return new Map(Array.from(value, ([key, member]) => [key, changeForms(member)]));
  if (ArrayBuffer.isView(value) || typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, changeForms(member)]));
}

/** Returns the number from a list of doubles, where a whole number is not stored as an integer. */
function toHeapNumber(value: number): number {
  return [0.5, value].at(1)!;
}

test('equal checkpoints have the same bytes, in whatever form V8 stores their values', async () => {
  const market = createMarket(3, 130);
  const calendars = createWeekdayCalendars({ MAIN: { from: '2022-01-03', to: '2022-12-30' } });
  const document = createDocument({ base_date: '2022-01-10', rebalance: { frequency: 'monthly' } });
  const run = runOn(calendars, market, document);
  const checkpoint = createCheckpoint(run);
  const otherForms = changeForms(checkpoint) as typeof checkpoint;
  expect(otherForms).toStrictEqual(checkpoint);
  expect(serialize(otherForms)).not.toEqual(serialize(checkpoint));
  const handle = { ...shareMarket(market), digests: (await digestContent(market)).digests };
  const order = { plan: run.plan, engineVersion: 'any', handle, market };
  expect(encodeCheckpoint({ ...order, checkpoint: otherForms })).toEqual(encodeCheckpoint({ ...order, checkpoint }));
});

test('a run with a checkpoint of an earlier format is not extended', async () => {
  const bytes = serialize({ format: 14, identity: '', prefix: {}, checkpoint: {} });
  const path = join(await createFolder(), 'checkpoint');
  await writeFile(path, bytes);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const order = { run: { checked: [], checkpoint: { path, sha256 } } } as unknown as ResumeOrder;
  expect(() => resumeStored(order, { report() {} } as never)).toThrow(new CannotResumeError('no_checkpoint'));
});
