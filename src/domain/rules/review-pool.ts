import type { Engine } from '#kernels/engines/engine.js';
import type { ReviewPool } from '../books/decider.js';
import type { CrossSection, CrossSections } from '../datapoints/cross-section.js';
import type { IndexWeights } from '../datapoints/expression-section.js';
import { useNumber } from '../datapoints/field-use.js';
import { listPositions, rankPositions, selectPositionsWithValue } from '../datapoints/ranking.js';
import type { SessionMarket } from '../market/session-market.js';
import type { StoredModels } from '../risk/stored-model.js';
import type { BoundPipeline } from './bound-pipeline.js';
import { flagMembers, type Choice } from './choose.js';
import type { RawWeights } from './weighting-class.js';
import { readValues } from './verdicts.js';

interface PoolInput {
  readonly pipeline: BoundPipeline;
  readonly sections: CrossSections;
  readonly market: SessionMarket;
  readonly engine: Engine;
  readonly riskModel: StoredModels;
  readonly universe: (session: number) => Int32Array;
  readonly indexWeights: (indexId: string, session: number) => IndexWeights | null;
  readonly verdictsOn: (session: number, incumbents: Int32Array | null) => Choice['verdicts'];
}

/** Creates the pool of securities that may replace constituents between reviews. */
export function createPool({
  pipeline,
  sections,
  market,
  engine,
  riskModel,
  universe,
  indexWeights,
  verdictsOn,
}: PoolInput): ReviewPool {
  const { identifiers, securityCount } = market;
  const findCrossSection = (session: number, incumbents: Uint8Array | null): CrossSection =>
    sections.at(session, universe(session)).given({
      incumbents,
      indexWeights: (indexId) => indexWeights(indexId, session),
    });
  const weigh = (session: number, columns: Int32Array): RawWeights =>
    pipeline.weighting.weigh({ cross: findCrossSection(session, null), columns, identifiers, engine, riskModel });
  const lastRanking = pipeline.rules.findLastIndex(({ rule }) => rule.ranks === true);
  return {
    ranking(session, incumbents) {
      const last = lastRanking < 0 ? undefined : verdictsOn(session, incumbents)[lastRanking];
      if (last === undefined) return new Int32Array(0);
      const { scope, verdict } = last;
      const left = Array.from(scope.columns.keys()).flatMap((position) => {
        const rank = verdict.kept[position] === 1 ? null : verdict.because(position).rank;
        return rank === null ? [] : [{ column: scope.columns[position]!, rank }];
      });
      return Int32Array.from(
        left.toSorted((a, b) => a.rank - b.rank || a.column - b.column),
        ({ column }) => column,
      );
    },
    passes(session, staying, candidate) {
      const columns = Int32Array.from(new Set([...staying, candidate])).toSorted();
      const position = columns.indexOf(candidate);
      const incumbents = flagMembers(staying, securityCount);
      const scope = { cross: findCrossSection(session, incumbents), columns, identifiers, incumbents };
      return pipeline.rules.every(({ rule }) => rule.ranks === true || rule.select(scope).kept[position] === 1);
    },
    values(session, columns) {
      const raw = weigh(session, columns);
      return raw.kind === 'refused' ? new Float64Array(columns.length).fill(Number.NaN) : raw.values;
    },
    fixedShares(session, columns) {
      const raw = weigh(session, columns);
      return raw.kind === 'refused' ? undefined : raw.shares;
    },
    ranked(session, field, { columns, constituents }) {
      const cross = findCrossSection(session, flagMembers(constituents, securityCount));
      const values = readValues({ cross, columns }, useNumber(field));
      return rankPositions(values, selectPositionsWithValue(values, listPositions(columns)), false).map(
        (position) => columns[position]!,
      );
    },
  };
}
