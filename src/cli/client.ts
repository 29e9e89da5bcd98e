import type { ErrorDetail } from '#domain/refusal.js';
import type { JobStatus } from '#jobs/status.js';

/** The service seen from outside, over HTTP: what the demo and the command line speak. */
export interface Client {
  readonly url: string;
  /** JSON of a success answer. @throws ServiceError for any other answer, UnreachableError when nothing answers. */
  call<T = unknown>(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<T>;
  /** Bytes of a success answer. */
  download(path: string): Promise<Uint8Array>;
  /** Follows a job to its end. @throws ServiceError when it fails or is cancelled. */
  finish<T = unknown>(job: JobStatus, onProgress?: (job: JobStatus) => void): Promise<T>;
}

/** The service answered with an error, or a job ended with one. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly status: number | null;
  readonly detail: ErrorDetail;

  constructor(status: number | null, detail: ErrorDetail) {
    super(`${detail.code}: ${detail.message}`);
    this.status = status;
    this.detail = detail;
  }
}

/** Nothing answers at the address. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

/** Longest wait of one poll; the service allows 60. */
const POLL_SECONDS = 20;

export function createClient({ url, key }: { readonly url: string; readonly key?: string | undefined }): Client {
  async function request(method: string, path: string, body?: unknown): Promise<Response> {
    const headers: Record<string, string> = { accept: 'application/json' };
    if (key !== undefined) headers['authorization'] = `Bearer ${key}`;
    if (body !== undefined) headers['content-type'] = 'application/json';
    let response: Response;
    try {
      response = await fetch(new URL(path, url), { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
    } catch (cause) {
      throw new UnreachableError(`Nothing answers at ${url}.`, { cause });
    }
    if (!response.ok) throw new ServiceError(response.status, await errorOf(response));
    return response;
  }

  async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await request(method, path, body);
    return (response.status === 204 ? null : await response.json()) as T;
  }

  return {
    url,
    call,
    download: async (path) => new Uint8Array(await (await request('GET', path)).arrayBuffer()),
    async finish<T>(job: JobStatus, onProgress?: (job: JobStatus) => void): Promise<T> {
      let latest = job;
      while (latest.status === 'pending' || latest.status === 'running') {
        onProgress?.(latest);
        latest = await call<JobStatus>('GET', `/jobs/${latest.job_id}?wait=${POLL_SECONDS}`);
      }
      onProgress?.(latest);
      if (latest.status === 'succeeded') return latest.result as T;
      throw new ServiceError(null, latest.error ?? { code: 'UNCLASSIFIED_FAILURE', message: `Job ${latest.job_id} was ${latest.status}.`, detail: null });
    },
  };
}

async function errorOf(response: Response): Promise<ErrorDetail> {
  const text = await response.text();
  try {
    return (JSON.parse(text) as { error: ErrorDetail }).error;
  } catch {
    return { code: 'INTERNAL', message: `The address answered ${response.status} without an error envelope: is it this service?`, detail: null };
  }
}
