import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { PublicationEntry } from '#domain/definition/publication.js';
import type { ScheduleDay } from '#domain/outputs/daily-plans.js';
import { openDesk, type Desk } from './year/desk.js';
import {
  drawSecurity,
  FAMILY,
  getFault,
  HISTORY,
  computeLevels,
  OVERLAY_INDICES,
  RULE_INDICES,
  SEED,
  SESSION_COUNT,
  SESSIONS,
  type Fault,
} from './year/market.js';

/**
 * Closed days of the exchange. The test simulates days of a family of indices, with the faults that a desk sees: late
 * files, wrong prices, repeated corporate actions, a closed exchange, an unavailable delivery target, and a killed
 * service. By default it simulates some weeks of a small family. With SOAK=1 it simulates a year of fifty indices on
 * two nodes (`SOAK_SESSIONS` shortens the year). Levels are compared with averages of price relatives.
 */
const closedDates = new Set<string>();
const reasons: string[] = [];
const killedPhases: string[] = [];
/** Positions of the steps in which the service is killed. They are used one after the other. */
const KILLED_IN = [3, 5, 0, 1, 2, 4];

/** Reaction of the desk to each fault. It first checks the state before the reaction. */
const STORIES: Readonly<Record<Fault, (desk: Desk, t: number) => Promise<void>>> = {
  async late({ performed, writePrices }, t) {
    const reason = expect.stringContaining('no prices') as string;
    expect(await performed(SESSIONS[t]!)).toMatchObject({ state: 'waiting', reason });
    await writePrices(t);
  },
  async wrong({ performed, writePrices, delivered, refreshWhole }, t) {
    const security = drawSecurity();
    await writePrices(t, security);
    const day = await performed(SESSIONS[t]!);
    const directIndices = RULE_INDICES.filter(({ members }) => members.includes(security)).map(({ id }) => id);
    const overlayIds = OVERLAY_INDICES.filter(({ parent }) => directIndices.includes(parent)).map(({ id }) => id);
    expect(day.held.map(({ index_id: id }) => id)).toEqual([...directIndices, ...overlayIds].toSorted());
    expect(new Set(day.held.map(({ code }) => code))).toEqual(new Set(['CHECK_FAILED']));
    expect(await delivered(SESSIONS[t]!)).toBe(FAMILY.length - directIndices.length - overlayIds.length);
    await writePrices(t);
    await refreshWhole();
  },
  async repeated({ performed, write, writePrices, split }, t) {
    const security = drawSecurity();
    split(security);
    const row = `${security},SPLIT,2,${SESSIONS[t]}`;
    const file = `corporate_actions/${SESSIONS[t]}.csv`;
    await write(file, `identifier,type,value,ex_date\n${row}\n${row}\n`);
    await writePrices(t);
    const day = await performed(SESSIONS[t]!);
    expect(day).toMatchObject({ state: 'blocked', reason: expect.stringContaining(`SPLIT of ${security}`) as string });
    reasons.push(day.reason!);
    await write(file, `identifier,type,value,ex_date\n${row}\n`);
  },
  async closed({ performed, ask, settled }, t) {
    const date = SESSIONS[t]!;
    closedDates.add(date);
    expect((await performed(date)).state).toBe('waiting');
    const changes = [...closedDates].map((day) => ({ date: day, session: 'closed', reason: 'Storm' }));
    await ask('PUT', '/calendars/XNYS/closures', { changes });
    let day: ScheduleDay;
    do day = await settled(date);
    while (day.state === 'waiting');
    expect(day).toMatchObject({ state: 'skipped', reason: expect.stringContaining('Storm') as string });
  },
  async target({ performed, writePrices, out }, t) {
    await writePrices(t);
    await rename(out, `${out}-away`);
    await writeFile(out, 'no folder');
    const day = await performed(SESSIONS[t]!);
    expect([day.state, day.held]).toEqual(['waiting', []]);
    expect(day.steps.find(({ type }) => type === 'publish')!.items.every(({ state }) => state === 'done')).toBe(true);
    await rm(out);
    await rename(`${out}-away`, out);
  },
  async kill({ ask, writePrices, atStep, kill, settled }, t) {
    const date = SESSIONS[t]!;
    await writePrices(t);
    await ask('POST', `/schedules/close/days/${date}/run`, {});
    const { steps } = await atStep(date, KILLED_IN[killedPhases.length % KILLED_IN.length]!);
    killedPhases.push(steps.find(({ state }) => state !== 'done')?.type ?? 'end');
    await kill();
    await settled(date);
  },
};

/**
 * Checks that every close was published once with its level. Checks also that nothing was published for a day on which
 * the exchange was closed.
 */
async function verifyPublished({ ask }: Desk): Promise<void> {
  const dates = SESSIONS.filter((date) => !closedDates.has(date));
  for (const id of FAMILY) {
    const { entries } = await ask<{ entries: PublicationEntry[] }>('GET', `/analytics/${id}/published`);
    expect(
      entries.map(({ date }) => date),
      id,
    ).toEqual(dates);
    expect(new Set(entries.map(({ kind }) => kind))).toEqual(new Set(['close']));
    const levels = computeLevels(id, dates);
    const wrongEntries = entries.filter(({ date, total }) => !(Math.abs(total! / levels.get(date)! - 1) < 1e-9));
    expect(
      wrongEntries.map(({ date, total }) => ({ date, total, level: levels.get(date) })),
      id,
    ).toEqual([]);
  }
}

/** Checks that every delivered file has a file with its checksum, and that the client has no other files. */
async function verifyDelivered({ out }: Desk): Promise<void> {
  const names = await readdir(out);
  const files = names.filter((name) => name.endsWith('.csv'));
  expect(names.length).toBe(2 * files.length);
  for (const name of files) {
    const hash = createHash('sha256')
      .update(await readFile(join(out, name)))
      .digest('hex');
    expect(await readFile(join(out, `${name}.sha256`), 'utf8')).toBe(`${hash}  ${name}\n`);
  }
}

test(
  `every close of ${SESSION_COUNT} sessions is published and delivered once (SOAK_SEED=${SEED})`,
  { timeout: 7_200_000 },
  async () => {
    const home = await mkdtemp(join(tmpdir(), 'divisor-year-'));
    const desk = await openDesk(home);
    const count: Partial<Record<Fault, number>> = {};
    try {
      for (let t = HISTORY; t < SESSIONS.length; t++) {
        const date = SESSIONS[t]!;
        const fault = getFault(t - HISTORY);
        if (fault === undefined) await desk.writePrices(t);
        else {
          count[fault] = (count[fault] ?? 0) + 1;
          await STORIES[fault](desk, t);
        }
        if (closedDates.has(date)) continue;
        const day = await desk.performed(date);
        expect([day.state, day.reason], `${date} ${fault ?? ''}`).toEqual(['done', null]);
        expect(await desk.delivered(date)).toBe(FAMILY.length);
      }
      await verifyPublished(desk);
      await verifyDelivered(desk);
      console.log(
        `faults: ${JSON.stringify(count)}; killed in: ${killedPhases.join(' ')}; outages: ${desk.outages()}; ${reasons[0] ?? ''}`,
      );
    } finally {
      await desk.close();
      await rm(home, { recursive: true, force: true });
    }
  },
);
