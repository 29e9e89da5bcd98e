import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import type { Client } from 'pg';

/** Resources used by a server during an operation. */
export interface ServerUsage {
  /** Processor time of all its processes. */
  readonly ms: number;
  readonly wallMs: number;
  /** The one over the other, as text. */
  readonly share: string;
  /** Write-ahead log. */
  readonly bytes: number;
}

/** Looks at the processes of a server of this machine; those of connections that close meanwhile are left out. */
export async function serverProcess(client: Client) {
  const { rows } = await client.query<{ data: string }>(`SELECT current_setting('data_directory') AS data`);
  const pid = readFileSync(`${rows[0]!.data}/postmaster.pid`, 'utf8').split('\n')[0];

  async function processorMs(): Promise<number> {
    let ticks = 0;
    for (const name of await readdir('/proc')) {
      if (!/^\d+$/.test(name)) continue;
      // State, parent and so on: what comes after the name of the program.
      const fields = (await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '')).split(') ')[1]?.split(' ') ?? [];
      if (fields[1] === pid) ticks += Number(fields[11]) + Number(fields[12]);
    }
    return ticks * 10;
  }

  const walBytes = async (): Promise<number> =>
    Number((await client.query(`SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS bytes`)).rows[0].bytes);

  return {
    async during(work: () => Promise<unknown>): Promise<ServerUsage> {
      const [ms, bytes, start] = [await processorMs(), await walBytes(), performance.now()];
      await work();
      const wallMs = performance.now() - start;
      const used = (await processorMs()) - ms;
      return { ms: used, wallMs, share: `${((100 * used) / wallMs).toFixed(0)} %`, bytes: (await walBytes()) - bytes };
    },
  };
}
