import { openSpan, parseTraceParent, runWithinSpan } from '#base/tracing/spans.js';
import type { RunningAttempt } from './attempt.js';
import type { JobIdentity } from './job-record.js';

/** Starts an attempt in a trace span. Its parent is the request of the job, possibly on another machine. */
export function traceAttempt(
  { job_id: jobId, kind, trace_parent: traceParent }: Pick<JobIdentity, 'job_id' | 'kind' | 'trace_parent'>,
  parts: readonly number[] | undefined,
  start: () => RunningAttempt,
): RunningAttempt {
  const parent = parseTraceParent(traceParent);
  const span =
    parent &&
    openSpan(`${parts === undefined ? 'job' : 'parts of'} ${kind}`, {
      kind: 'consumer',
      parent,
      attributes: { 'divisor.job_id': jobId, 'divisor.parts': parts?.length },
    });
  if (span === undefined) return start();
  const attempt = runWithinSpan(span.context, start);
  attempt.completion.then(
    () => span.end(),
    (failure: unknown) => span.end(failure instanceof Error ? failure.message : String(failure)),
  );
  return attempt;
}
