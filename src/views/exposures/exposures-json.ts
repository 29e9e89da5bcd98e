import type { ExposuresView } from '#contract/analytics/exposures.js';
import {
  createJsonObject,
  createTextMember,
  createValueMember,
  createWrittenMember,
  type Member,
} from '../json-object.js';
import type { JsonWriter } from '../json-writer.js';
import { encodeDays } from '../series-json.js';
import type { Exposures } from './exposures-view.js';
import { FIELD_WIDTH, type FieldSeries } from './field-series.js';
import { writeFigure } from './figure-texts.js';
import type { GroupWeights } from './weights-by-group.js';

/** Creates a member that is a list of numbers. Missing values are null. */
function createKnownMember<V, S>(readValues: (source: S) => Float64Array): Member<V, S> {
  return createWrittenMember((json, source) => writeFigure(json, readValues(source)));
}

function writeItems<S>(json: JsonWriter, items: readonly S[], write: (json: JsonWriter, item: S) => void): void {
  json.raw('[');
  items.forEach((item, k) => {
    if (k > 0) json.raw(',');
    write(json, item);
  });
  json.raw(']');
}

function createNullableWriter<S>(
  write: (json: JsonWriter, source: S) => void,
): (json: JsonWriter, source: S | null) => void {
  return (json, source) => {
    if (source === null) json.raw('null');
    else write(json, source);
  };
}

const writeFigureOrNull = createNullableWriter(writeFigure);

const GROUP = createJsonObject<ExposuresView['groups'][number], GroupWeights>({
  group: createTextMember(({ group }) => group),
  weights: createKnownMember(({ weights }) => weights),
  benchmark_weights: createWrittenMember((json, { benchmark }) => writeFigureOrNull(json, benchmark)),
});

type FieldBody = Omit<ExposuresView['fields'][number], 'field' | 'benchmark'>;

const PERCENTILES = createJsonObject<FieldBody['percentiles'], FieldSeries['percentiles']>({
  p10: createKnownMember(({ p10 }) => p10),
  p25: createKnownMember(({ p25 }) => p25),
  p50: createKnownMember(({ p50 }) => p50),
  p75: createKnownMember(({ p75 }) => p75),
  p90: createKnownMember(({ p90 }) => p90),
});

const FIELD_BODY = {
  mean: createKnownMember<FieldBody['mean'], FieldSeries>(({ mean }) => mean),
  coverage: createKnownMember<FieldBody['coverage'], FieldSeries>(({ coverage }) => coverage),
  percentiles: createWrittenMember<FieldBody['percentiles'], FieldSeries>((json, { percentiles }) =>
    PERCENTILES.write(json, percentiles),
  ),
};
const BENCHMARK_FIELD = createJsonObject<FieldBody, FieldSeries>(FIELD_BODY);

const FIELD = createJsonObject<ExposuresView['fields'][number], Exposures['fields'][number]>({
  field: createTextMember(({ field }) => field),
  mean: createKnownMember(({ own }) => own.mean),
  coverage: createKnownMember(({ own }) => own.coverage),
  percentiles: createWrittenMember((json, { own }) => PERCENTILES.write(json, own.percentiles)),
  benchmark: createWrittenMember((json, { benchmark }) => createNullableWriter(BENCHMARK_FIELD.write)(json, benchmark)),
});

const CONCENTRATION = createJsonObject<ExposuresView['concentration'], Exposures>({
  herfindahl: createKnownMember(({ herfindahl }) => herfindahl),
  effective: createKnownMember(({ effective }) => effective),
  largest: createKnownMember(({ largest }) => largest),
  gross_effective: createKnownMember(({ grossEffective }) => grossEffective),
  gross_largest: createKnownMember(({ grossLargest }) => grossLargest),
});

const EXPOSURES = createJsonObject<ExposuresView, Exposures>({
  index_id: createTextMember(({ indexId }) => indexId),
  by: createTextMember(({ by }) => by),
  benchmark: createValueMember(({ benchmark }) => benchmark),
  dates: createWrittenMember((json, { days }) => {
    json.raw('[');
    json.token(encodeDays(days));
    json.raw(']');
  }),
  groups: createWrittenMember((json, { groups }) => writeItems(json, groups, GROUP.write)),
  fields: createWrittenMember((json, { fields }) => writeItems(json, fields, FIELD.write)),
  concentration: createWrittenMember(CONCENTRATION.write),
  active_share: createWrittenMember((json, { activeShare }) => writeFigureOrNull(json, activeShare)),
  turnover: createKnownMember(({ turnover }) => turnover),
});

/** Maximum size in bytes of a number with seventeen digits and its comma, and of a date. */
const NUMBER_BYTES = 21;
const DATE_BYTES = 13;

/**
 * Estimates the size of an ExposuresView in bytes. If a buffer is too small, its contents must be moved during writing.
 */
export function estimateExposuresBytes({ days, groups, fields, benchmark }: Exposures): number {
  const sides = benchmark === null ? 1 : 2;
  const numbers = CONCENTRATION_AND_TURNOVER + sides * (groups.length + FIELD_WIDTH * fields.length);
  return ENVELOPE_BYTES + days.length * (DATE_BYTES + NUMBER_BYTES * numbers);
}

/** Number of series in addition to groups and fields: five concentration figures, turnover and active share. */
const CONCENTRATION_AND_TURNOVER = 7;
/** Size of the names of members, groups and fields in bytes. */
const ENVELOPE_BYTES = 1 << 13;

/**
 * Writes an ExposuresView as JSON.
 * @throws Refusal NUMERIC_FAILURE
 * @cost 50 ns per number without cached text
 */
export const writeExposures = (json: JsonWriter, exposures: Exposures): void => EXPOSURES.write(json, exposures);
