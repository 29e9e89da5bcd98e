import { JOB_PRIORITIES, type JobPriority } from '#domain/jobs/priority.js';
import { FINDING_CODES, type FindingCode } from '#domain/refusals/findings.js';
import { suggestName } from '#base/text/nearest-name.js';
import type { FlagValues } from '../command-line.js';
import { EXIT } from '../connection.js';
import { formatDecimal, formatPercent, formatTable } from '../terminal.js';
import { UsageError } from '../usage-error.js';

/** Members that are fractions, shown as percentages. */
const FRACTION_METRICS = new Set([
  'total_return',
  'annualised_return',
  'volatility',
  'max_drawdown',
  'tracking_error',
  'tracking_difference',
  'turnover',
]);

/**
 * Formats a figure. A fraction becomes a percentage, another metric has two decimals, and a missing value is a dash.
 */
export function formatFigure(name: string, value: number | null): string {
  if (value === null) return '-';
  return FRACTION_METRICS.has(name) ? formatPercent(value) : formatDecimal(value);
}

/** Lists members of a result, one per row. */
export function formatMembers<R extends object>(result: R, names: readonly (keyof R & string)[]): string {
  return formatTable(
    names.map((name) => {
      const value = result[name];
      return [
        name,
        typeof value === 'number' && FRACTION_METRICS.has(name) ? formatPercent(value) : String(value ?? '-'),
      ];
    }),
  );
}

/** Flag that names a benchmark. */
export const BENCHMARK_FLAG = {
  benchmark: {
    type: 'string',
    value: 'NAME',
    help: 'index:ID, or identifier:ID for a security or series of the store. An id without a prefix is an index if one exists, else an identifier.',
  },
} as const;

/** Flags that limit a backtest to the data that was known at a given time. */
export const AS_KNOWN_FLAGS = {
  'as-known-on': {
    type: 'string',
    value: 'WHEN',
    help: 'Use the data known at a version, a date (its end, in UTC) or a time.',
  },
  'as-known-at-decisions': {
    type: 'boolean',
    help: 'Decide each rebalance with the data known at the end of its decision date.',
  },
} as const;

/** Returns the request members of the `AS_KNOWN_FLAGS` flags. */
export function readAsKnownOn(flags: FlagValues): {
  readonly as_known_on?: string | number;
  readonly as_known?: 'decision';
} {
  const knownOn = flags.text('as-known-on');
  return {
    ...(knownOn === undefined ? {} : { as_known_on: /^\d+$/.test(knownOn) ? Number(knownOn) : knownOn }),
    ...(flags.isSet('as-known-at-decisions') ? { as_known: 'decision' } : {}),
  };
}

/** Flags of commands that start jobs. */
export const JOB_FLAGS = {
  callback: { type: 'string', value: 'URL', help: 'URL that the service notifies when the job ends.' },
  priority: {
    type: 'string',
    value: 'PRIORITY',
    help: 'high starts before all normal jobs and requires the scope admin; low starts after them. Default: normal.',
    choices: JOB_PRIORITIES,
  },
} as const;

/** Returns the query of a request that starts jobs. */
export const readJobQuery = (flags: FlagValues) => ({
  callback: flags.text('callback'),
  priority: flags.text<JobPriority>('priority'),
});

/** Flag with which a command fails at certain data warnings, so that a script can stop. */
export const FAIL_ON_FLAGS = {
  'fail-on': {
    type: 'string',
    value: 'CODES',
    help: 'Exit with 3 if a finding has one of these codes, separated by commas: PARTIAL_DATE.',
  },
} as const;

/** Parses the codes in `--fail-on`. @throws UsageError for an unknown code */
export function parseFailingCodes(flags: FlagValues): readonly FindingCode[] {
  const codes = flags.text('fail-on')?.split(',') ?? [];
  return codes.map((word) => {
    const text = word.trim();
    const code = FINDING_CODES.find((findingCode) => findingCode === text);
    if (code === undefined)
      throw new UsageError(
        `--fail-on: no finding has the code ${text}.${suggestName(text, FINDING_CODES) || ' See the guide page on codes, for example PARTIAL_DATE.'}`,
      );
    return code;
  });
}

/** Returns the exit status of a completed command. It depends on whether `--fail-on` contains the code of a finding. */
export function computeFindingsStatus(findings: readonly { readonly code: string }[], flags: FlagValues): number {
  const codes = parseFailingCodes(flags);
  return findings.some(({ code }) => codes.some((failingCode) => failingCode === code)) ? EXIT.found : EXIT.done;
}
