import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import type { RiskModelView } from '#contract/risk-models.js';
import type { z } from 'zod';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import { type RunningService, runService } from '../../running-service.js';

export type View = z.infer<typeof RiskModelView>;

/** Weekdays from 2023-01-02 on. */
export const DAYS = Array.from({ length: 420 }, (_, i) => new Date(Date.UTC(2023, 0, 2 + i)))
  .filter((date) => date.getUTCDay() % 6 !== 0)
  .map((date) => date.toISOString().slice(0, 10));

/**
 * Four securities with a common factor, and special ones. Objects would reorder the ids `700` and `1398`. LATE is
 * listed late, and FLAT has a constant price. TWIN equals AAA. GAPS equals BBB, but it has no price on every fiftieth
 * day.
 */
const NAMES = ['1398', '700', 'AAA', 'BBB', 'FLAT', 'LATE'];
const SHADOWS = ['GAPS', 'TWIN'];
export const isGap = (t: number): boolean => t % 50 === 7;
export const prices = createCloses();

function createCloses(): Record<string, (number | null)[]> {
  const random = createCounterRandom({ seed: 5, stream: 1 });
  const levels = new Map(NAMES.map((name) => [name, 100]));
  const series: Record<string, (number | null)[]> = Object.fromEntries(NAMES.map((name) => [name, []]));
  DAYS.forEach((_, t) => {
    const market = 0.01 * random.normal();
    NAMES.forEach((name, i) => {
      const growth =
        name === 'FLAT'
          ? 100
          : Math.round(levels.get(name)! * (1 + market * (0.5 + i / 4) + 0.01 * random.normal()) * 1e6) / 1e6;
      levels.set(name, growth);
      series[name]!.push(name === 'LATE' && t < 200 ? null : growth);
    });
  });
  return { ...series, TWIN: [...series['AAA']!], GAPS: series['BBB']!.map((close, t) => (isGap(t) ? null : close)) };
}

/** Sectors of the securities that have one. */
export const SECTORS = { '1398': 'Banks', AAA: 'Banks', '700': 'Media', BBB: 'Media' } as const;

/** Computes the estimate as the contract defines it, one matrix at a time. The securities must have no gaps. */
export function computeByDefinition(names: readonly string[], delta?: number): number[][] {
  const returns = DAYS.slice(1).map((_, t) => names.map((name) => prices[name]![t + 1]! / prices[name]![t]! - 1));
  const means = names.map((_, i) => returns.reduce((total, row) => total + row[i]!, 0) / returns.length);
  const s = means.map((mi, i) =>
    means.map(
      (mj, j) => returns.reduce((total, row) => total + (row[i]! - mi) * (row[j]! - mj), 0) / (returns.length - 1),
    ),
  );
  let correlations = 0;
  names.forEach((_, i) =>
    names.forEach((__, j) => (correlations += i === j ? 0 : s[i]![j]! / Math.sqrt(s[i]![i]! * s[j]![j]!))),
  );
  const rbar = correlations / (names.length * (names.length - 1));
  const d = delta ?? names.length / (names.length + returns.length);
  return s.map((row, i) =>
    row.map((value, j) => 252 * (i === j ? value : d * rbar * Math.sqrt(s[i]![i]! * s[j]![j]!) + (1 - d) * value)),
  );
}

/** Computes the annualised variance: sum w (x - mean)^2 / (1 - sum w^2). The weights have a half-life in sessions. */
export function computeWeightedVariance(name: string, [from, to]: readonly [number, number], halfLife: number): number {
  const returns = DAYS.slice(from + 1, to + 1).map(
    (_, t) => prices[name]![from + t + 1]! / prices[name]![from + t]! - 1,
  );
  const raw = returns.map((_, t) => 0.5 ** ((returns.length - 1 - t) / halfLife));
  const total = raw.reduce((sum, weight) => sum + weight, 0);
  const weights = raw.map((weight) => weight / total);
  const mean = returns.reduce((sum, value, t) => sum + weights[t]! * value, 0);
  const squares = weights.reduce((sum, weight) => sum + weight * weight, 0);
  return (252 * returns.reduce((sum, value, t) => sum + weights[t]! * (value - mean) ** 2, 0)) / (1 - squares);
}

export let service: RunningService;
beforeAll(async () => {
  service = await runService();
  const folder = join(service.root, 'market');
  await mkdir(folder, { recursive: true });
  const rows = [...NAMES, ...SHADOWS].flatMap((name) =>
    DAYS.flatMap((day, t) => (prices[name]![t] === null ? [] : [`${name},${day},${prices[name]![t]}`])),
  );
  await writeFile(join(folder, 'market.csv'), `identifier,date,CLOSE\n${rows.join('\n')}\n`);
  const sectors = Object.entries(SECTORS).map(([name, sector]) => `${name},${sector}`);
  await writeFile(join(folder, 'reference.csv'), `identifier,SECTOR\n${sectors.join('\n')}\n`);
  const { status, body } = await service.ask('POST', '/data/stores', {
    store_id: 'market',
    name: 'Market',
    kind: 'folder',
    location: folder,
    activate: true,
  });
  expect(status, JSON.stringify(body)).toBe(201);
});
afterAll(() => service.close());

export async function estimateToEnd(modelId: string, body?: unknown): Promise<JobStatus> {
  const { status, body: job } = await service.ask<JobStatus>('POST', `/risk-models/${modelId}/estimate`, body);
  expect(status, JSON.stringify(job)).toBe(202);
  return service.waitForJob(job.job_id);
}

export async function readView(modelId: string): Promise<View> {
  return (await service.ask<View>('GET', `/risk-models/${modelId}`)).body;
}

export const listCodes = (error: { readonly detail: Readonly<Record<string, unknown>> | null }) =>
  ((error.detail ?? {})['findings'] as { code: string; path: string }[]).map(({ code, path }) => `${code} ${path}`);

export async function fetchBytes(path: string, accept: string): Promise<Uint8Array> {
  return new Uint8Array(await (await fetch(service.url() + path, { headers: { accept } })).arrayBuffer());
}

export async function fetchText(path: string): Promise<string> {
  return (await fetch(service.url() + path)).text();
}
