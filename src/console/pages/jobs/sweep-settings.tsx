import type { JobStatus } from '#clients/typescript/divisor.js';
import { Facts, type Fact } from '../../components/facts.js';
import { createFields } from '../../components/form/schema-fields.js';
import { useResource } from '../../state/resource.js';
import { useSchemas } from '../../state/schemas.js';
import { service } from '../../state/service.js';
import { formatLabel } from '../../words/labels.js';
import { countValues, formatAtMost } from '../../words/numbers.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';
import { formatQuantity } from '../../words/quantities.js';
import { useParameterLabels } from '../sweeps/parameter-labels.js';
import { getGrid, getSweepTerms } from '../sweeps/sweep-requests.js';
import { formatMetric, formatWithUnit } from '../sweeps/values.js';

interface SweepSettingsProps {
  readonly job: JobStatus;
}

/** Renders the settings of a sweep with the labels and units of its form. */
export function SweepSettings({ job: { request } }: SweepSettingsProps) {
  const sweep = (isObject(request as Json) ? request : {}) as JsonObject; // requests are plain JSON
  const id = String(sweep['index_id']);
  const schemas = useSchemas();
  const labelsOf = useParameterLabels([id]);
  const index = useResource(`index ${id}`, (signal) =>
    service.value.call('getIndex', { params: { index_id: id }, signal }),
  );
  if (labelsOf === undefined || schemas.data === undefined || index.isLoading) return null;
  const labels = labelsOf(id);
  const grid = Object.entries(getGrid(request) ?? {}).map(([pointer, values]): Fact => {
    const { label, unit } = labels(pointer);
    return [label, values.map((value) => formatWithUnit(value, unit)).join(', ')];
  });
  const terms = createFields(schemas.data, 'SweepTerms').map(({ name, label, unit }): Fact => {
    const value = getSweepTerms(request)[name];
    const isCapital = name === 'initial_capital';
    return [label, formatSetting(value, isCapital ? (index.data?.currency ?? null) : (unit ?? null))];
  });
  return (
    <Facts
      facts={[
        ['Index', id],
        ...grid,
        ['Ranked by', formatMetric(String(sweep['rank_by']))],
        ...listFoldSettings(sweep['folds']),
        ['Parts of the overfitting test', formatSetting(sweep['partitions'], null)],
        ...terms,
        ['Store', formatSetting(sweep['store_id'], null)],
      ]}
    />
  );
}

/** Returns a line for each setting of the folds. */
function listFoldSettings(folds: Json | undefined): readonly Fact[] {
  if (!isObject(folds)) return [['Test of the choice', 'none']];
  const { method, ...settings } = folds;
  return [
    ['Test of the choice', formatMetric(String(method))],
    ...Object.entries(settings).map(([name, value]): Fact => [
      formatLabel(name),
      typeof value === 'number' && SESSION_MEMBERS.includes(name)
        ? countValues(value, 'session')
        : formatSetting(value, null),
    ]),
  ];
}

/** Settings of folds that are numbers of sessions. */
const SESSION_MEMBERS: readonly string[] = ['purge', 'embargo'];

/** Formats a setting; null if it has no value. */
function formatSetting(value: Json | undefined, unit: string | null): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'number') return unit === null ? formatAtMost(value, 6) : formatQuantity(value, unit);
  return typeof value === 'string' ? formatMetric(value) : JSON.stringify(value);
}
