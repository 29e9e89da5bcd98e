import { orderFindings, smallValue, type Finding, type FindingCode, type Severity } from '#domain/findings.js';

/** Findings told of one store before MORE_FINDINGS takes the place of the rest. */
export const FINDINGS_MAX = 200;

/** One thing that is wrong with a dataset. */
export interface Problem {
  readonly code: FindingCode;
  readonly path: string;
  readonly message: string;
  readonly value?: unknown;
  readonly accepted?: readonly string[];
}

/** Collects what is wrong with a store: the first findings of each severity in the order they were met, and a count of the rest. */
export interface Problems {
  error(problem: Problem): void;
  warning(problem: Problem): void;
  readonly errors: number;
  /** Findings in served order; a MORE_FINDINGS finding counts those left out. */
  findings(): Finding[];
}

export function createProblems(): Problems {
  const kept: Record<Severity, Finding[]> = { error: [], warning: [], info: [] };
  const met: Record<Severity, number> = { error: 0, warning: 0, info: 0 };

  function add(severity: 'error' | 'warning', { code, path, message, value, accepted }: Problem): void {
    met[severity] += 1;
    if (met[severity] > FINDINGS_MAX) return;
    kept[severity].push({
      severity, code, message, path,
      ...(accepted ? { accepted } : {}),
      ...(value === undefined ? {} : smallValue(value)),
    });
  }

  function ordered(severity: 'error' | 'warning'): Finding[] {
    const more = met[severity] - kept[severity].length;
    const rest: Finding[] = more > 0 ? [{ severity, code: 'MORE_FINDINGS', message: `${more} more ${severity}s are not listed; the first ${FINDINGS_MAX} are.`, path: '' }] : [];
    return [...orderFindings(kept[severity]), ...rest];
  }

  return {
    error: (problem) => add('error', problem),
    warning: (problem) => add('warning', problem),
    get errors() {
      return met.error;
    },
    findings: () => [...ordered('error'), ...ordered('warning')],
  };
}

/** Where in a table: the label of its file or sheet, the data row counted from 1, the column as written. */
export function cellPath(label: string, row: number, column: string): string {
  return column === '' ? `${label}[row ${row}]` : `${label}[row ${row}].${column}`;
}
