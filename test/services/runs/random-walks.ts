import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatDay } from '#domain/base/time.js';
import { openCalendars } from '#market/serve/calendar-files.js';

/** Sessions of New York from the start of 2023 on. */
export const SESSIONS: readonly string[] = Array.from(openCalendars().get('XNYS')!.sessions, (day) => formatDay(day))
  .filter((day) => day >= '2023-01-03')
  .slice(0, 90);

export interface Walk {
  readonly names: readonly string[];
  /** Number of sessions with data; default: all 90. */
  readonly sessions?: number;
  /** Seed of the prices. Another seed gives another content. */
  readonly seed?: number;
}

/**
 * Returns the closes of a security on the sessions. They come from a congruential generator and depend only on the
 * identifier and the seed.
 */
export function drawCloses(name: string, { sessions = SESSIONS.length, seed = 1 }: Omit<Walk, 'names'>): number[] {
  let state = [...name].reduce((sum, letter) => 31 * sum + letter.codePointAt(0)!, seed) % 2_147_483_647;
  let close = 100;
  return Array.from({ length: sessions }, () => {
    state = (48_271 * state) % 2_147_483_647;
    close *= 1 + 0.03 * (state / 2_147_483_647 - 0.5);
    return Math.round(1e4 * close) / 1e4;
  });
}

/** Writes a folder for a store. It contains random walks, and a sector for each security. */
export function writeWalks(folder: string, walk: Walk): string {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const bars = walk.names.flatMap((name) =>
    drawCloses(name, walk).map((close, t) => `${name},${SESSIONS[t]},${close}`),
  );
  writeFileSync(join(folder, 'market.csv'), `identifier,date,CLOSE\n${bars.join('\n')}\n`);
  writeFileSync(
    join(folder, 'reference.csv'),
    `identifier,SECTOR\n${walk.names.map((name, i) => `${name},S${i % 2}`).join('\n')}\n`,
  );
  return folder;
}

/** Returns an index with equal weights of all securities, or of the listed securities. */
export function createEqualIndex(id: string, identifiers: readonly string[] | null = null, rest: object = {}): object {
  const universe = identifiers === null ? {} : { universe: { kind: 'list', identifiers } };
  return {
    id,
    name: id,
    calendar: 'XNYS',
    base_date: SESSIONS[0],
    rebalance: { frequency: 'monthly' },
    ...universe,
    pipeline: { weighting: { type: 'EqualWeight' } },
    ...rest,
  };
}
