import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { API } from '#contract/api.js';
import { ErrorEnvelope } from '#contract/payloads.js';
import type { Route } from '#contract/route.js';
import { ERRORS } from '#domain/base/refusals.js';
import { createConformity } from '../http/conformity.js';
import type { WireAnswer, WireRequest } from './wire.js';
import { getApiDocument } from '../contract/api-document.js';

/** Compares a response with the OpenAPI document of the service and returns the differences. */
export type Judge = (request: WireRequest, answer: WireAnswer) => readonly string[];

/** Status codes that a request may have if it does not reach an operation. */
const UNROUTED_STATUSES = new Set([400, 401, 403, 404, 405]);

export function createJudge(): Judge {
  const findViolations = createConformity(getApiDocument());
  return (request, answer) => {
    const { status, headers } = answer;
    const faults = [...listHeaderFaults(answer)];
    if (status >= 500 && status !== 501 && status !== 503) faults.push(`status ${status}`);
    const type = headers['content-type'] === undefined ? null : String(headers['content-type']);
    const isJson = type?.startsWith('application/json') === true && request.method !== 'HEAD';
    const body = isJson && !answer.isCut ? parseJson(answer.body, faults) : answer.body;
    if (status >= 400 && request.method !== 'HEAD') faults.push(...listEnvelopeFaults(status, body));
    const operation = findOperation(request);
    if (operation === undefined) {
      if (!UNROUTED_STATUSES.has(status)) faults.push(`${status} of no operation`);
    } else if (request.method !== 'HEAD' && status !== 405) {
      faults.push(...findViolations(operation, { status, type, body }));
    }
    return faults;
  };
}

function listHeaderFaults({ status, headers }: WireAnswer): string[] {
  const faults: string[] = [];
  const wantedHeaders = ['x-request-id', 'x-engine-version', 'x-content-type-options', 'content-security-policy'];
  if (status === 503) wantedHeaders.push('retry-after');
  if (status === 401) wantedHeaders.push('www-authenticate');
  if (status === 405) wantedHeaders.push('allow');
  for (const name of wantedHeaders) if (headers[name] === undefined) faults.push(`${status} without ${name}`);
  for (const name of ['set-cookie', 'x-evil', 'x-powered-by', 'server'])
    if (headers[name] !== undefined) faults.push(`a header ${name}`);
  return faults;
}

function listEnvelopeFaults(status: number, body: unknown): string[] {
  const envelope = ErrorEnvelope.safeParse(body);
  if (!envelope.success) return [`${status} without an ErrorEnvelope`];
  const { code, message } = envelope.data.error;
  const faults: string[] = [];
  if (ERRORS[code].status !== status) faults.push(`${code} under ${status}`);
  if (OWN_PLACES.some((place) => message.includes(place)) || /\bat .+:\d+:\d+/.test(message))
    faults.push(`a place of this machine or a stack in the message: ${message}`);
  return faults;
}

function parseJson(bytes: Buffer, faults: string[]): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    faults.push('a body of JSON that is none');
    return undefined;
  }
}

/** Names of this machine that an error message must not contain unless the request contains them. */
const OWN_PLACES = [
  process.cwd(),
  'node_modules',
  'dist/src',
  join(tmpdir(), 'divisor-'),
  '/dev/shm',
  process.execPath,
];

const OPERATIONS = Object.entries(API as Record<string, Route>).map(([id, route]) => ({
  id,
  method: route.method,
  parameters: (route.path.match(/\{/g) ?? []).length,
  pattern: new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
}));

/**
 * Returns the operation of a request. It reads the path as a URL parser does. A literal segment takes precedence over a
 * parameter.
 */
function findOperation({ method, path }: WireRequest): string | undefined {
  const [bare = ''] = path.split(/[?#]/);
  const routeMethod = method === 'HEAD' ? 'GET' : method;
  const normalPath = normalisePath(bare);
  const onPath = OPERATIONS.filter(({ pattern }) => pattern.test(normalPath)).toSorted(
    (a, b) => a.parameters - b.parameters,
  );
  const fixedOperations = onPath.filter(({ parameters }) => parameters === onPath[0]?.parameters);
  return fixedOperations.find((operation) => operation.method === routeMethod)?.id;
}

function normalisePath(path: string): string {
  try {
    const { pathname } = new URL(`http://localhost${path}`);
    return decodeURI(pathname);
  } catch {
    return path;
  }
}
