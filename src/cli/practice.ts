import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { listen } from '#http/server.js';
import { formatTicker } from '#market/synthetic/names.js';
import { issueKey } from '#services/operations/keys.js';
import { compose } from './compose.js';
import { readSettings, type Settings } from './settings.js';

/** Smallest market that a job can generate. */
const STORE = { store_id: 'practice', name: 'Practice', seed: 1, assets: 2, start: '2024-01-02', end: '2024-12-31' };

/** Requests that start jobs. Clients would notice a slow estimate most, because it takes only 40 ms. */
const PRACTICE_JOBS: readonly (readonly [path: string, body: object])[] = [
  ['/data/synthetic', STORE],
  ['/risk-models/practice/estimate', { identifiers: [0, 1].map(formatTicker) }],
];

/**
 * Runs jobs on a temporary service in this process and discards the service. V8 has then compiled the code of requests,
 * jobs, documents and events. This saves a third of the time of the first job of a client.
 * @param serviceSettings settings of the running service
 */
export async function runPracticeJobs(serviceSettings: Pick<Settings, 'home' | 'numerics'>): Promise<void> {
  const settings = createPracticeSettings(serviceSettings);
  const folder = settings.home;
  await rm(folder, { recursive: true, force: true }); // left by a process that ended during its practice
  // Nobody else can use the temporary service. Its only key is used only here.
  const { key, record } = issueKey({ name: 'practice', scopes: ['admin'], expires: null }, Date.now());
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  let defect: unknown;
  const service = await compose({
    role: 'practice',
    settings: { ...settings, apiKeys: [record] },
    log: pino({ level: 'silent' }),
    onDefect: (cause) => (defect ??= cause),
  });
  try {
    const server = await listen({ app: service.app, host: '127.0.0.1', port: 0 });
    try {
      for (const [path, body] of PRACTICE_JOBS) await runJob(server.url, headers, path, body);
    } finally {
      service.drain();
      await server.close(0);
    }
    if (defect !== undefined) throw defect;
  } finally {
    await service.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Returns the settings of a temporary service. It has the engine of the running service, and its home is in the scratch
 * folder of that service.
 */
export function createPracticeSettings({ home, numerics }: Pick<Settings, 'home' | 'numerics'>): Settings {
  const folder = join(home, 'scratch', 'practice');
  const flags = ['--home', folder, '--numerics', numerics, '--workers', '1', '--warm-up', 'off'];
  return readSettings(flags, {}).settings;
}

/** Submits a job, follows its events and reads its result. @throws Error if the job does not succeed */
async function runJob(url: string, headers: Readonly<Record<string, string>>, path: string, body: object) {
  const submission = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const { job_id: id } = (await submission.json()) as { readonly job_id?: string }; // status of the job
  await (await fetch(`${url}/jobs/${id}/events`, { headers })).text();
  const jobText = await (await fetch(`${url}/jobs/${id}`, { headers })).text();
  if ((JSON.parse(jobText) as { readonly status?: string }).status !== 'succeeded')
    throw new Error(`${path}: ${jobText}`);
}
