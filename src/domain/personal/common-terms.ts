import { compareText } from '../base/findings.js';
import { Refusal, refuseWithFindings } from '../base/refusals.js';
import { type Day, formatDay, parseValidDay } from '../base/time.js';
import { type Composer, findCompositionInForce } from '../books/compositions.js';
import { createIndexTerms } from '../books/index-run.js';
import { readGroup } from '../datapoints/expression-tree.js';
import { createEffectTable } from '../market/action-effects.js';
import { findCarriedUnder } from '../market/growth.js';
import { createExchangeRates } from '../market/rates.js';
import { createReferenceSpells, findSpell } from '../market/market-data.js';
import type { SessionMarket } from '../market/session-market.js';
import { computeWeightsBefore } from '../optimisation/derived-index.js';
import { createLoadings } from '../risk/factors.js';
import { findModelInForce } from '../risk/stored-models.js';
import type { BatchRow } from './account.js';
import type { BatchCommon, GroupOfRow } from './batch.js';

/**
 * Collects the data shared by all accounts: weights of the parent at the close, prices, and the factors of the risk
 * model.
 * @throws Refusal NO_DATA_AT_DATE, LOOK_AHEAD, MODEL_LACKS_NAMES, VALIDATION_FAILED for a model without factors or a
 *   group field without values
 */
export function composeCommon(composer: Composer, terms: BatchCommon['terms']): BatchCommon {
  const { parent, risk_model: modelId, as_of: requestedDay } = terms;
  const sm = composer.market(parent);
  const session = requestedDay === null ? sm.sessions.length - 1 : sm.sessionAt(parseValidDay(requestedDay));
  const outgoingComposition =
    session < 0 ? undefined : findCompositionInForce(composer.compositions(parent).list, session);
  if (outgoingComposition === undefined)
    throw new Refusal(
      'NO_DATA_AT_DATE',
      `The index ${parent} has no rebalance on or before ${requestedDay ?? 'the last date of the data'}.`,
    );
  const asOf = sm.sessions[session]!;
  const document = composer.document(parent);
  const treatment = composer.treatment(parent);
  // The close is treated as if a rebalance took effect after it. The holdings are then read unchanged.
  const input = {
    document,
    sm,
    treatment,
    outgoing: { ...outgoingComposition, effective: session + 1 },
    decision: session,
  };
  const solvedWeights = computeWeightsBefore(input);
  const weightByColumn = new Map(
    Array.from(solvedWeights.columns, (column, i) => [column, solvedWeights.weights[i]!] as const),
  );
  const columns = [...solvedWeights.columns].filter((column) => weightByColumn.get(column)! > 0);
  const { model, factored, placeOf } = findModel(composer, { modelId, sm, columns, asOf });
  const isOfParent = new Set(columns);
  const rates = createExchangeRates(sm, document.currency);
  const effects = createEffectTable(sm, createIndexTerms({ treatment, document }));
  const getPrice = (column: number): number =>
    findCarriedUnder(sm, effects, session, column) * (rates.isNative(column) ? 1 : rates.rateAt(session, column));
  const otherColumns = model.names
    .map((name) => sm.columnOf(name))
    .filter((column) => column >= 0 && !isOfParent.has(column) && getPrice(column) > 0);
  const all = [...columns, ...otherColumns];
  const pricedColumns = new Set([...columns, ...otherColumns]);
  const loadings = createLoadings(factored);
  const k = factored.factors.length;
  const modelPlaces = all.map((column) => placeOf.get(sm.identifiers[column]!)!);
  const selectedLoadings = new Float64Array(all.length * k);
  modelPlaces.forEach((place, i) => selectedLoadings.set(loadings.subarray(place * k, (place + 1) * k), i * k));
  return {
    terms,
    asOf,
    identifiers: all.map((column) => sm.identifiers[column]!),
    others: sm.identifiers.filter((_, column) => !pricedColumns.has(column)),
    prices: Float64Array.from(all, getPrice),
    weights: Float64Array.from(all, (column) => weightByColumn.get(column) ?? 0),
    factors: k,
    loadings: selectedLoadings,
    specific: Float64Array.from(modelPlaces, (place) => factored.specific[place]!),
    groups: terms.constraints.flatMap((row, position) => listGroups(sm, { row, at: position, columns: all, asOf })),
  };
}

interface ModelQuestion {
  readonly modelId: string;
  readonly sm: SessionMarket;
  /** Columns of the parent's securities. */
  readonly columns: readonly number[];
  readonly asOf: Day;
}

/** Returns the factors of the model in force. @throws Refusal LOOK_AHEAD, MODEL_LACKS_NAMES, VALIDATION_FAILED */
function findModel(composer: Composer, { modelId, sm, columns, asOf }: ModelQuestion) {
  const model = findModelInForce(composer.riskModel(modelId), asOf);
  if (model.observedEnd > asOf)
    throw new Refusal(
      'LOOK_AHEAD',
      `The risk model ${modelId} is estimated on returns up to ${formatDay(model.observedEnd)}, after ${formatDay(asOf)}.`,
      { model_id: modelId, observed_end: formatDay(model.observedEnd), decision_date: formatDay(asOf) },
    );
  if (model.factors === undefined) throw createMissingFactorsRefusal(modelId);
  const modelFactors = model.factors();
  const positionByName = new Map(model.names.map((name, position) => [name, position]));
  const missingColumns = columns.filter((column) => !positionByName.has(sm.identifiers[column]!));
  if (missingColumns.length > 0) throw refuseLackingSecurities(modelId, sm, missingColumns);
  return { model, factored: modelFactors, placeOf: positionByName };
}

/** Maximum number of securities in the message of a refusal; the detail lists all. */
const NAMED_MAX = 5;

/** Returns a refusal that lists the securities without an estimate and the days on which their prices begin. */
function refuseLackingSecurities(modelId: string, sm: SessionMarket, columns: readonly number[]): Refusal {
  const names = columns.map((column) => sm.identifiers[column]!);
  const begins = columns.map((column) => {
    const session = sm.sessions.findIndex((_, position) => sm.carriedClose(position, column) > 0);
    return session < 0 ? null : formatDay(sm.sessions[session]!);
  });
  const listedNames = names
    .slice(0, NAMED_MAX)
    .map((name, position) => `${name} (prices from ${begins[position] ?? 'no day'})`);
  const moreText = names.length > NAMED_MAX ? ` and ${names.length - NAMED_MAX} more` : '';
  return new Refusal(
    'MODEL_LACKS_NAMES',
    `The risk model ${modelId} has no estimate for ${listedNames.join(', ')}${moreText}, which the parent holds.`,
    { model_id: modelId, identifiers: names, prices_from: begins },
  );
}

interface GroupQuestion {
  readonly row: BatchRow;
  /** Index of the row in the terms. */
  readonly at: number;
  readonly columns: readonly number[];
  readonly asOf: Day;
}

/** Returns the members of each group of a row. A security without a value belongs to no group. */
function listGroups({ market }: SessionMarket, { row, at, columns, asOf }: GroupQuestion): GroupOfRow[] {
  if (row.type === 'PositionBounds') return [];
  const { field } = row.params;
  const spells = createReferenceSpells(market, field);
  const members = new Map<string, number[]>();
  columns.forEach((column, place) => {
    const group = readGroup(findSpell(spells[column] ?? [], asOf));
    if (group !== null) members.set(group, [...(members.get(group) ?? []), place]);
  });
  if (members.size === 0)
    throw refuseWithFindings('request', [
      {
        severity: 'error',
        code: 'UNKNOWN_FIELD',
        path: `constraints[${at}].params.field`,
        message: `constraints[${at}].params.field: no security has a value of ${field} on ${formatDay(asOf)}.`,
        value: field,
      },
    ]);
  return [...members]
    .toSorted(([a], [b]) => compareText(a, b))
    .map(([group, own]) => ({ row: at, group, members: own }));
}

const createMissingFactorsRefusal = (modelId: string): Refusal =>
  refuseWithFindings('request', [
    {
      severity: 'error',
      code: 'OUT_OF_RANGE',
      path: 'risk_model',
      message: `The risk model ${modelId} has no factors. Estimate it with statistical, industries or styles, or import a factor model.`,
      value: modelId,
    },
  ]);
