import { jobIdSchema, type JobStatus } from '#contract/jobs.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import { checkShape } from '#domain/schema/shape.js';
import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import type { ResponseParts } from '../reply.js';
import { CANCELLED } from './running-calls.js';
import { toToolResult, type ToolResult } from './tool-answer.js';
import type { Arguments } from './tool-request.js';
import { WAIT_TOOL, type ListedTool } from './tools.js';

/** Interval between checks of a job's progress. */
const LOOK_SECONDS = 1;
const WAIT_DEFAULT_SECONDS = 30;

const WaitArguments = defineObject(() => ({
  job_id: jobIdSchema,
  seconds: z
    .number()
    .min(0)
    .max(LIMITS.MAX_TOOL_WAIT_SECONDS)
    .default(WAIT_DEFAULT_SECONDS)
    .meta({ description: 'Maximum wait in seconds.' }),
}));

/** Describes the tool that waits for a job of any kind. */
export function createWaitTool(): ListedTool {
  const { $schema: _, ...inputSchema } = z.toJSONSchema(WaitArguments, { io: 'input' });
  return {
    name: WAIT_TOOL,
    description: `Waits until a job has ended, or for \`seconds\`, and returns its status with its result. Reports the progress from 0 to 1. A job that still runs is returned as it is: call the tool again. Cancelling the call cancels the job.\nUnits: seconds; progress is a fraction.\nLimits: waits at most ${LIMITS.MAX_TOOL_WAIT_SECONDS} seconds; answer ${LIMITS.MAX_TOOL_JOB_BYTES} bytes, then its series are shortened; needs the scope read, and run to cancel.`,
    inputSchema: { ...inputSchema, type: 'object' },
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  };
}

export interface WaitContext {
  /** Sends a request to the service. */
  readonly ask: (method: 'GET' | 'DELETE', path: string) => Promise<ResponseParts>;
  /** Aborted when the client cancels or disconnects. If the reason is CANCELLED, the job is cancelled as well. */
  readonly signal: AbortSignal;
  readonly report: (progress: number, message: string) => Promise<void>;
}

/** Waits for a job. @throws Refusal VALIDATION_FAILED */
export async function waitForJob(argumentValues: Arguments, { ask, signal, report }: WaitContext): Promise<ToolResult> {
  const parsedArguments = checkShape(WaitArguments, argumentValues);
  if (parsedArguments.value === undefined) throw refuseWithFindings('arguments', parsedArguments.findings);
  const { job_id: jobId, seconds } = parsedArguments.value;
  const path = `/jobs/${jobId}`;
  const deadlineMs = performance.now() + seconds * 1000;
  let lastProgress = -1;
  for (;;) {
    const secondsLeft = (deadlineMs - performance.now()) / 1000;
    const answer = await ask('GET', `${path}?wait=${Math.max(0, Math.min(LOOK_SECONDS, secondsLeft)).toFixed(3)}`);
    const isCancelled = signal.aborted && signal.reason === CANCELLED;
    if (isCancelled) return toToolResult(await ask('DELETE', path), { method: 'GET', url: path });
    const status = await readStatus(answer);
    if (status !== undefined && status.progress > lastProgress) {
      lastProgress = status.progress;
      await report(status.progress, `${status.status}: ${status.message}`);
    }
    const hasEnded =
      status === undefined ||
      status.status === 'succeeded' ||
      status.status === 'failed' ||
      status.status === 'cancelled';
    if (hasEnded || secondsLeft <= 0 || signal.aborted)
      return toToolResult(answer, { method: 'GET', url: path }, LIMITS.MAX_TOOL_JOB_BYTES);
  }
}

/**
 * Parses the status in a short response. Returns undefined for an error, and for a long response: it contains a result,
 * so its job has ended.
 */
async function readStatus({ status, body }: ResponseParts): Promise<JobStatus | undefined> {
  return status === 200 && typeof body === 'string' ? (JSON.parse(body) as JobStatus) : undefined;
}
