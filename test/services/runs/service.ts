import { join } from 'node:path';
import type { OpenApiDocument } from '#contract/openapi.js';
import { createConformity, type Conformity } from '../../http/conformity.js';
import { runService } from '../running-service.js';

/** A response with its JSON body. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // Bodies are the answers of the route under test.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
}

/** A running service on its own home. */
export interface TestService {
  readonly home: string;
  call(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Calls an operation. Fails if the response does not conform to the document that the service publishes. */
  checked(operation: string, path: string, body?: unknown): Promise<Answer>;
  /** Waits for a job to end and returns the response. */
  finished(jobId: string): Promise<Answer>;
  close(): Promise<void>;
}

/** Starts a service in the process of the test, because the tests check its responses and not its process. */
export async function startService(): Promise<TestService> {
  const run = await runService();
  const call = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> => {
    const response = await run.download(path, {
      method,
      ...(body === undefined
        ? { headers }
        : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json', ...headers } }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
  };
  const document = (await call('GET', '/openapi.json')).body as OpenApiDocument;
  const conformity: Conformity = createConformity(document);
  const methods = new Map(
    Object.values(document.paths).flatMap((path) =>
      Object.entries(path).map(
        ([method, operation]) => [String(operation['operationId']), method.toUpperCase()] as const,
      ),
    ),
  );
  return {
    home: join(run.root, 'home'),
    call,
    async checked(operation, path, body) {
      const answer = await call(methods.get(operation)!, path, body);
      const problems = conformity(operation, {
        status: answer.status,
        type: answer.headers.get('content-type'),
        body: answer.body,
      });
      if (problems.length > 0) throw new Error(problems.slice(0, 5).join('\n'));
      return answer;
    },
    async finished(jobId) {
      for (;;) {
        const answer = await call('GET', `/jobs/${jobId}?wait=30`);
        if (!['pending', 'running'].includes(answer.body.status)) return answer;
      }
    },
    close: () => run.close(),
  };
}
