import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { migrateDatabase } from '#store/postgres/open-documents.js';
import type { ScheduleDay } from '#domain/outputs/daily-plans.js';
import { createPlaces } from '../../cli/cluster/running-cluster.js';
import { startService, type ListeningProcess } from '../../cli/process.js';
import { hasPostgresql, openTestDatabase } from '../../postgresql/shared-postgresql.js';
import { IS_SOAK } from '../../soak.js';
import { startS3 } from '../../store/s3/s3-service.js';
import {
  DECREMENT_PERCENT,
  FAMILY,
  HISTORY,
  OVERLAY_INDICES,
  PRICES,
  RULE_INDICES,
  SECURITIES,
  SESSIONS,
} from './market.js';

const NODE_COUNT = IS_SOAK && hasPostgresql ? 2 : 1;
const STEPS = [
  { type: 'refresh' },
  { type: 'run' },
  { type: 'checks' },
  { type: 'publish' },
  { type: 'export', files: [{ table: 'levels' }] },
  { type: 'deliver' },
];

/** An index desk with its data vendor, its service, and the delivery folder of a client. */
export interface Desk {
  /** Delivery folder of the client. */
  readonly out: string;
  ask<T = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<T>;
  /** Writes a file as the vendor. */
  write(name: string, text: string): Promise<void>;
  /** Writes the price file of a session. @param wrong security whose price is ten times too high */
  writePrices(t: number, wrong?: string): Promise<void>;
  /** Splits a security two for one. Its price halves from the next file on. */
  split(security: string): void;
  /** Refreshes the whole store, as a user does after a correction. */
  refreshWhole(): Promise<void>;
  /** Starts a day. Waits until the service has done all that it can do now for this day. */
  performed(date: string): Promise<ScheduleDay>;
  /**
   * Returns the number of rounds that ended because the database or the object store did not respond. This can happen
   * on a busy machine.
   */
  outages(): number;
  /** Returns the day after all its running steps have ended. */
  settled(date: string): Promise<ScheduleDay>;
  /** Waits until a step has begun or the day has ended. */
  atStep(date: string, position: number): Promise<ScheduleDay>;
  /** Returns the number of a day's files that the client has received. */
  delivered(date: string): Promise<number>;
  /** Kills a node and restarts it on the same home. With two nodes, later requests go to the other node. */
  kill(): Promise<void>;
  close(): Promise<void>;
}

/** Returns true if the database or the object store did not respond to a step or to a request for an index. */
const isUnavailable = ({ reason, steps, held }: ScheduleDay): boolean =>
  reason?.includes(' cannot be reached') === true ||
  [...steps, ...held].some(({ code }) => code === 'STORE_UNAVAILABLE');

export async function openDesk(home: string): Promise<Desk> {
  const vendorFolder = join(home, 'vendor-in');
  const deliveryFolder = join(home, 'delivery', 'house');
  const rootFlags = ['--data-roots', home, '--delivery-roots', join(home, 'delivery')];
  // In a month of a small family, threads that compile in advance would cost more than the work itself.
  const threadFlags = IS_SOAK ? ['--workers', '2'] : ['--workers', '1', '--warm-up', 'off'];
  const flags = ['--log-level', 'error', ...threadFlags, ...rootFlags];
  const { environment, drop } = await openStoragePlaces();
  const serve = (node: number): Promise<ListeningProcess> =>
    startService(join(home, `node-${node}`), flags, environment);
  const services: ListeningProcess[] = [];
  for (let node = 0; node < NODE_COUNT; node++) services.push(await serve(node));
  let serviceIndex = 0;
  let outages = 0;
  const ratios = new Map<string, number>();

  const desk: Desk = {
    out: deliveryFolder,
    async ask<T>(method: string, path: string, body?: unknown): Promise<T> {
      const answer = await fetch(services[serviceIndex]!.url + path, {
        method,
        ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 400)}`);
      return JSON.parse(text || 'null') as T;
    },
    async write(name, text) {
      await mkdir(join(vendorFolder, name, '..'), { recursive: true });
      await writeFile(join(vendorFolder, name), text);
    },
    writePrices(t, wrong) {
      const rows = SECURITIES.map((security, i) => {
        const price = PRICES[t]![i]! / (ratios.get(security) ?? 1);
        return `${security},${SESSIONS[t]},${security === wrong ? price * 10 : price},1000000,50000000`;
      });
      const text = `identifier,date,CLOSE,VOLUME,SHARES_OUTSTANDING\n${rows.join('\n')}\n`;
      return desk.write(`market/${SESSIONS[t]}.csv`, text);
    },
    split: (security) => void ratios.set(security, 2 * (ratios.get(security) ?? 1)),
    async refreshWhole() {
      await desk.ask('POST', '/data/stores/vendor/refresh', { full: true });
      let status = 'pending';
      while (status === 'pending' || status === 'running')
        ({ status } = await desk.ask<{ status: string }>('GET', '/jobs/refresh:vendor?wait=30'));
      expect(status).toBe('succeeded');
    },
    async performed(date) {
      for (;;) {
        await desk.ask('POST', `/schedules/close/days/${date}/run`, {});
        const day = await desk.settled(date);
        if (day.state !== 'waiting' || !isUnavailable(day)) return day;
        outages++;
      }
    },
    outages: () => outages,
    async settled(date) {
      let day: ScheduleDay;
      do day = await desk.ask<ScheduleDay>('GET', `/schedules/close/days/${date}?wait=60`);
      while (day.state === 'running');
      return day;
    },
    async atStep(date, position) {
      for (;;) {
        const day = await desk.ask<ScheduleDay>('GET', `/schedules/close/days/${date}`);
        if (day.state === 'done' || day.steps[position]!.state !== 'pending') return day;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
    async delivered(date) {
      const names = await readdir(deliveryFolder);
      return names.filter((name) => name.includes(date.replaceAll('-', '')) && name.endsWith('.csv')).length;
    },
    async kill() {
      const node = serviceIndex;
      services[node]!.child.kill('SIGKILL');
      await services[node]!.ended;
      serviceIndex = (node + 1) % NODE_COUNT;
      services[node] = await serve(node);
    },
    async close() {
      for (const { child, ended } of services) {
        child.kill('SIGKILL');
        await ended;
      }
      await drop();
    },
  };
  await prepare(desk, vendorFolder);
  return desk;
}

/** Opens a database and a bucket that two nodes share. If there is only one node, it opens neither. */
async function openStoragePlaces(): Promise<{ readonly environment: Record<string, string>; drop(): Promise<void> }> {
  if (NODE_COUNT === 1) return { environment: {}, drop: async () => {} };
  const { url, drop } = await openTestDatabase();
  await migrateDatabase({ url });
  const s3 = await startS3();
  const end = async (): Promise<void> => {
    await s3.stop();
    await drop();
  };
  return { environment: createPlaces(url, s3), drop: end };
}

/** Creates the market, the indices, the client and the schedule of the desk. */
async function prepare({ ask, writePrices, out }: Desk, vendor: string): Promise<void> {
  for (let t = 0; t < HISTORY; t++) await writePrices(t);
  await ask('POST', '/data/stores', {
    store_id: 'vendor',
    name: 'vendor',
    kind: 'folder',
    location: vendor,
    activate: true,
  });
  const commonFields = { calendar: 'XNYS', base_date: SESSIONS[0] };
  for (const { id, members, frequency } of RULE_INDICES)
    await ask('PUT', `/indices/${id}`, {
      ...commonFields,
      id,
      name: id,
      base_value: 1000,
      universe: { kind: 'list', identifiers: members },
      rebalance: { frequency },
      pipeline: { weighting: { type: 'EqualWeight' } },
    });
  const overlay = { type: 'decrement', percent: DECREMENT_PERCENT };
  for (const { id, parent } of OVERLAY_INDICES)
    await ask('PUT', `/indices/${id}`, {
      ...commonFields,
      id,
      name: id,
      kind: 'overlay',
      base_value: 1000,
      source_index_id: parent,
      overlay,
    });
  await mkdir(out, { recursive: true });
  const target = { name: 'house', type: 'folder', url: `file://${out}` };
  await ask('PUT', '/clients/HOUSE', { name: 'House', entitlements: [{}], targets: [target] });
  await ask('PUT', '/schedules/close', {
    name: 'Close',
    enabled: false,
    indices: FAMILY,
    calendar: 'XNYS',
    at: '18:30',
    starts_on: SESSIONS[HISTORY],
    steps: STEPS,
  });
}
