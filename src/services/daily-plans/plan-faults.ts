import type { ScheduleBody } from '#domain/daily-plans/schedule-document.js';
import { findCheckKind } from '#domain/daily-plans/check-catalogue.js';
import { createFileName } from '#domain/daily-plans/file-name.js';
import { readPattern } from '#domain/daily-plans/steps/export.js';
import { isBuiltIn } from '#domain/reports/built-in.js';
import { parseValidDay } from '#domain/time/days.js';

/** Returns steps and checks that need an earlier step, with their paths. */
export function listMisplacedSteps({ steps }: ScheduleBody): readonly (readonly [string, string])[] {
  const firstRun = steps.findIndex(({ type }) => type === 'run');
  const firstFile = steps.findIndex(({ type }) => type === 'export' || type === 'render');
  return steps.flatMap((step, k) => {
    if (step.type === 'deliver' && (firstFile === -1 || k < firstFile))
      return [[`steps[${k}]`, 'deliver sends files of earlier steps, so it must come after an export or render step.']];
    if (step.type === 'compare' && k < firstRun)
      return [[`steps[${k}]`, 'compare reads runs, so it must come after the run step.']];
    if (step.type !== 'checks' || k > firstRun) return [];
    return (step.checks ?? []).flatMap(({ check }, c): (readonly [string, string])[] =>
      findCheckKind(check).needsRun
        ? [[`steps[${k}].checks[${c}]`, `${check} reads runs, so its step must come after the run step.`]]
        : [],
    );
  });
}

/** Returns the indices that steps name, with their paths. */
export function listNamedIndices({ steps }: ScheduleBody): readonly (readonly [string, string])[] {
  const list = (ids: readonly string[] | null, path: string): [string, string][] =>
    (ids ?? []).map((id, i) => [`${path}.indices[${i}]`, id]);
  return steps.flatMap((step, k) => {
    if (step.type === 'render') return list(step.indices, `steps[${k}]`);
    if (step.type !== 'export') return [];
    return step.files.flatMap(({ indices }, f) => list(indices, `steps[${k}].files[${f}]`));
  });
}

/** Series with which the levels of an index are compared. */
interface SecondSource {
  readonly path: string;
  readonly index: string;
  readonly series: string;
  /** True if an earlier step refreshes the data, which may add the series. */
  readonly isRefreshed: boolean;
}

/** Returns the series with which steps and checks compare the levels of indices. */
export function listSecondSources({ steps }: ScheduleBody): readonly SecondSource[] {
  const firstRefresh = steps.findIndex(({ type }) => type === 'refresh');
  return steps.flatMap((step, k) => {
    const isRefreshed = firstRefresh >= 0 && firstRefresh < k;
    const list = (seriesByIndex: Readonly<Record<string, string>>, path: string): SecondSource[] =>
      Object.entries(seriesByIndex).map(([index, series]) => ({
        path: `steps[${k}].${path}.${index}`,
        index,
        series,
        isRefreshed,
      }));
    if (step.type === 'compare') return list(step.second_source, 'second_source');
    if (step.type !== 'checks') return [];
    return (step.checks ?? []).flatMap((check, c) =>
      check.check === 'second_source' ? list(check.series, `checks[${c}].series`) : [],
    );
  });
}

interface NamedDocument {
  readonly path: string;
  readonly kind: 'template' | 'store' | 'client';
  readonly word: string;
  readonly name: string;
}

/** Returns the stored documents that steps name, except indices. */
export function listNamedDocuments({ steps }: ScheduleBody): readonly NamedDocument[] {
  return steps.flatMap((step, k): readonly NamedDocument[] => {
    const path = `steps[${k}]`;
    if (step.type === 'render' && !isBuiltIn(step.template_id))
      return [{ path: `${path}.template_id`, kind: 'template', word: 'report template', name: step.template_id }];
    if (step.type === 'refresh' && step.store_id != null)
      return [{ path: `${path}.store_id`, kind: 'store', word: 'data store', name: step.store_id }];
    if (step.type !== 'deliver') return [];
    return (step.clients ?? []).map((name, c) => ({
      path: `${path}.clients[${c}]`,
      kind: 'client',
      word: 'client',
      name,
    }));
  });
}

/**
 * Date for comparing file names. Two file names that differ on this date differ on every date, unless their date
 * formats differ.
 */
const SAMPLE_DAY = parseValidDay('2001-12-31');

interface PlannedFile {
  readonly path: string;
  readonly pattern: string;
  readonly index: string;
  readonly table: string;
}

/** Reports file name patterns that give two files of one day the same name. */
export function reportRepeatedNames(
  schedule: string,
  body: ScheduleBody,
): readonly { readonly path: string; readonly pattern: string; readonly message: string }[] {
  const plannedFiles = new Map<string, PlannedFile>();
  const faults = new Map<string, { path: string; pattern: string; message: string }>();
  for (const file of listPlannedFiles(body)) {
    const { path, pattern, index, table } = file;
    const name = createFileName(pattern, { schedule, index, table, day: SAMPLE_DAY });
    const otherPlannedFile = plannedFiles.get(name);
    plannedFiles.set(name, otherPlannedFile ?? file);
    if (otherPlannedFile === undefined || faults.has(path)) continue;
    const neededName =
      otherPlannedFile.index !== index
        ? 'a name with {index}'
        : otherPlannedFile.table !== table
          ? 'a name with {table}'
          : 'another name';
    const message = `${pattern} is the name of both ${otherPlannedFile.table} of ${otherPlannedFile.index} and ${table} of ${index}; use ${neededName}.`;
    faults.set(path, { path, pattern, message });
  }
  return [...faults.values()];
}

function listPlannedFiles({ indices, steps }: ScheduleBody): readonly PlannedFile[] {
  return steps.flatMap((step, k) => {
    if (step.type === 'render')
      return (step.indices ?? indices).map((index) => {
        return { path: `steps[${k}].name`, pattern: step.name, index, table: 'report' };
      });
    if (step.type !== 'export') return [];
    return step.files.flatMap((file, f) =>
      (file.indices ?? indices).map((index) => {
        return { path: `steps[${k}].files[${f}].name`, pattern: readPattern(file), index, table: file.table };
      }),
    );
  });
}
