import { FINDING_CODES, type FindingCode } from '#domain/refusals/findings.js';
import { didYouMean } from '#base/text/nearest-name.js';
import type { FlagValues } from '../command-line.js';
import { EXIT } from '../connection.js';
import { decimal, percent, table } from '../terminal.js';
import { UsageError } from '../usage-error.js';

/** Members that are fractions, shown as percentages. */
const FRACTIONS = new Set([
  'total_return',
  'annualised_return',
  'volatility',
  'max_drawdown',
  'tracking_error',
  'tracking_difference',
  'turnover',
]);

/**
 * A figure as a person reads it: fractions as percentages, other metrics with two decimals, a dash for what is not
 * measured.
 */
export function figure(name: string, value: number | null): string {
  if (value === null) return '-';
  return FRACTIONS.has(name) ? percent(value) : decimal(value);
}

/** Members of a result, one a row. */
export function members<R extends object>(result: R, names: readonly (keyof R & string)[]): string {
  return table(
    names.map((name) => {
      const value = result[name];
      return [name, typeof value === 'number' && FRACTIONS.has(name) ? percent(value) : String(value ?? '-')];
    }),
  );
}

/** Flag that names a benchmark. */
export const BENCHMARK = {
  benchmark: {
    type: 'string',
    value: 'NAME',
    help: 'index:ID, or identifier:ID for a name or series of the store; an id alone is an index, else an identifier.',
  },
} as const;

/** Flags that say what of the data a backtest sees. */
export const AS_KNOWN = {
  'as-known-on': {
    type: 'string',
    value: 'WHEN',
    help: 'Use the data as it was known: a version, a date (its end, in UTC) or a time.',
  },
  'as-known-at-decisions': {
    type: 'boolean',
    help: 'Decide each rebalance on the version of the data that was known at the end of its decision date.',
  },
} as const;

/** The members of a request that those flags are. */
export function asKnown(flags: FlagValues): {
  readonly as_known_on?: string | number;
  readonly as_known?: 'decision';
} {
  const on = flags.text('as-known-on');
  return {
    ...(on === undefined ? {} : { as_known_on: /^\d+$/.test(on) ? Number(on) : on }),
    ...(flags.isSet('as-known-at-decisions') ? { as_known: 'decision' } : {}),
  };
}

/** Flag of commands whose jobs others wait for, too. */
export const CALLBACK = {
  callback: { type: 'string', value: 'URL', help: 'Where the service sends word of the end of a job.' },
} as const;

/** Flag of commands that a script must not go on from when the data is doubtful. */
export const FAIL_ON = {
  'fail-on': {
    type: 'string',
    value: 'CODES',
    help: 'End with 3 when a finding has one of these codes, with commas between them: PARTIAL_DATE.',
  },
} as const;

/** The codes of `--fail-on`. @throws UsageError for one that no finding has */
export function failingCodes(flags: FlagValues): readonly FindingCode[] {
  const codes = flags.text('fail-on')?.split(',') ?? [];
  return codes.map((word) => {
    const text = word.trim();
    const code = FINDING_CODES.find((known) => known === text);
    if (code === undefined)
      throw new UsageError(
        `--fail-on: no finding has the code ${text}.${didYouMean(text, FINDING_CODES) || ' PARTIAL_DATE is one; the page of codes lists all.'}`,
      );
    return code;
  });
}

/** Status of a command that is done: whether `--fail-on` names the code of a finding. */
export function statusOfFindings(findings: readonly { readonly code: string }[], flags: FlagValues): number {
  const codes = failingCodes(flags);
  return findings.some(({ code }) => codes.some((failing) => failing === code)) ? EXIT.found : EXIT.done;
}
