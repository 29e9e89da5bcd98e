import { AsyncResource } from 'node:async_hooks';
import { open, type FileHandle } from 'node:fs/promises';
import type { SqlFormat } from '#contract/sql.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { answerQuery } from '#market/process/market-process.js';
import type { SqlInputs, SqlNeeds, SqlOutcome } from '#market/sql/sql-order.js';
import { createGate, type Requester } from '../shared/gate.js';
import { createSqlInputs, type SqlInputsDependencies } from './inputs.js';
import { createInputFiles } from './input-files.js';

export interface SqlResponse extends SqlOutcome {
  readonly stream: ReadableStream<Uint8Array>;
}

export interface Sql {
  /**
   * Answers a query. It covers only documents that the client may read.
   * @throws Refusal VALIDATION_FAILED, QUERY_LIMIT, NO_DATA_SOURCE, OVERLOADED, RATE_LIMITED
   */
  answer(request: { readonly query: string; readonly format: SqlFormat }, asker: Requester): Promise<SqlResponse>;
  close(): Promise<void>;
}

export interface SqlDependencies extends Omit<SqlInputsDependencies, 'files'> {
  /** Path of the module that encodes results. */
  readonly encoder: string;
  readonly secondsMax: number;
}

/** Limits on concurrent queries. Each query runs in its own process. One key leaves at least one slot to other keys. */
const QUERIES = { name: 'queries', runningMax: 3, waitingMax: 30, clientRunningMax: 2, clientWaitingMax: 10 };

export function createSql({ encoder, secondsMax, ...dependencies }: SqlDependencies): Sql {
  const gate = createGate(QUERIES);
  const files = createInputFiles(LIMITS.MAX_SQL_INPUT_BYTES);
  const inputs = createSqlInputs({ ...dependencies, files });
  const limits = { runs: LIMITS.MAX_SQL_RUNS, rows: LIMITS.MAX_SQL_ROWS, bytes: LIMITS.MAX_SQL_BYTES };

  return {
    answer: ({ query, format }, requester) =>
      gate(async () => {
        const [runs, columns] = await Promise.all([inputs.runs(), inputs.columns()]);
        const openInputs = inputs.open(requester.signal);
        // The process asks for data outside the HTTP request. The prefixes of the client still apply.
        const onNeeds = AsyncResource.bind((needs: SqlNeeds): Promise<SqlInputs> =>
          openInputs.read(needs, new Set(runs)),
        );
        const order = { query, format, runs, columns, encoder, limits };
        try {
          return await answerQuery(order, { onNeeds, secondsMax, signal: requester.signal }, async (file, outcome) => ({
            ...outcome,
            stream: createFileStream(await open(file, 'r')),
          }));
        } finally {
          openInputs.release();
        }
      }, requester),
    close: () => files.close(),
  };
}

/** Number of bytes that are read at a time if the reader provides no buffer. */
const CHUNK_BYTES = 256 * 1024;

/** Streams the bytes of a file, and closes the file at the end. */
function createFileStream(file: FileHandle): ReadableStream<Uint8Array> {
  return new ReadableStream({
    type: 'bytes',
    autoAllocateChunkSize: CHUNK_BYTES,
    async pull(controller) {
      const request = controller.byobRequest!; // Memory is allocated for readers that provide no buffer.
      const { buffer, byteOffset, byteLength } = request.view!;
      const { bytesRead } = await file.read(new Uint8Array(buffer, byteOffset, byteLength), 0, byteLength);
      if (bytesRead > 0) return request.respond(bytesRead);
      await file.close();
      controller.close();
      request.respond(0);
    },
    cancel: () => file.close(),
  });
}
