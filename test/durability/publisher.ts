import type { PublicKey } from '#domain/definition/publication.js';
import { verifyLog } from '#store/history/publication-log.js';

export interface PublisherAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Sends a request. Returns undefined if the service was killed before it responded. */
export type PublisherAsk = (
  url: string,
  method: string,
  path: string,
  body?: unknown,
) => Promise<PublisherAnswer | undefined>;

/** A client that publishes the closes of an index in small steps. It remembers the head of the log after each step. */
export interface Publisher {
  acknowledged(): number;
  work(url: string, isOver: () => boolean): Promise<void>;
  /** Checks the published closes after a restart. @returns missing or incomplete closes */
  check(url: string): Promise<string[]>;
}

/** Index whose closes are published. */
export const PUBLISHED = 'bt-99';

const INDEX = `/analytics/${PUBLISHED}`;

export function createPublisher(ask: PublisherAsk, dates: readonly string[]): Publisher {
  const heads: string[] = [];
  let next = 0;
  return {
    acknowledged: () => heads.length,
    async work(url, isOver) {
      while (!isOver() && next < dates.length) {
        const answer = await ask(url, 'POST', `${INDEX}/publish`, { through: dates[next] });
        if (answer === undefined) return;
        if (answer.status === 503) continue; // the service is overloaded
        if (answer.status !== 200) throw new Error(`not published: ${JSON.stringify(answer.body)}`);
        heads.push(String(answer.body['head']));
        next += 3;
      }
    },
    async check(url) {
      const log = await ask(url, 'GET', `${INDEX}/published`);
      if (log?.status === 404) return heads.length === 0 ? [] : ['the published log is gone'];
      const entries = log?.body['entries'] as readonly { readonly hash: string; readonly date: string }[];
      const { keys } = (await ask(url, 'GET', `${INDEX}/published/keys`))!.body as {
        readonly keys: readonly PublicKey[];
      };
      const verdict = verifyLog(entries, { keys: new Map(keys.map((key) => [key.key_id, key])), head: null });
      const entryHashes = new Set(entries.map(({ hash }) => hash));
      return [
        ...('reason' in verdict ? [`entry ${verdict.seq} of the published log: ${verdict.reason}`] : []),
        ...heads.filter((head) => !entryHashes.has(head)).map((head) => `the published entry ${head} is gone`),
        ...(new Set(entries.map(({ date }) => date)).size === entries.length ? [] : ['a close was published twice']),
      ];
    },
  };
}
