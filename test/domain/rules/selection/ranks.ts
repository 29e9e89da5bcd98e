import { computeMean, computeMedian, rankNames } from '../slow-market.js';
import { createValues, selectBy, computeByGroup, createPart, type Case } from './case.js';

/** Cases of rules that select by expression, list and rank. */
export const RANKS: Case[] = [
  {
    type: 'ExpressionFilter',
    params: {
      expression: {
        node: 'any',
        operands: [
          {
            node: 'all',
            operands: [
              {
                node: 'comparison',
                field: { node: 'field', name: 'SECTOR' },
                comparison: 'in',
                value: ['Energy', 'Health'],
              },
              {
                node: 'not',
                operand: { node: 'comparison', field: { node: 'field', name: 'SCORE' }, comparison: 'lt', value: 0 },
              },
            ],
          },
          {
            node: 'comparison',
            field: { node: 'field', name: 'CLOSE', aggregate: 'mean', window: 20, lag: 5, transform: 'percentile' },
            comparison: 'ge',
            value: 0.8,
          },
          {
            node: 'comparison',
            field: { node: 'field', name: 'RATING', dataset: 'reference' },
            comparison: 'between',
            value: [4, 4],
          },
        ],
      },
    },
    keeps(slow, universe, t) {
      const averages = createValues(universe, (name) => slow.over('CLOSE', name, t - 5, 20, computeMean));
      const presentAverages = [...averages.values()].filter((value) => value !== null);
      const computePercentileOf = (value: number) =>
        (presentAverages.length - (1 + presentAverages.filter((other) => other > value).length)) /
        (presentAverages.length - 1);
      return universe.filter((name) => {
        const sector = slow.reference(name, 'SECTOR');
        const score = slow.latest('SCORE', name, t);
        const passesBoth = (sector === 'Energy' || sector === 'Health') && score !== null && score >= 0;
        const average = averages.get(name)!;
        return (
          passesBoth ||
          (average !== null && computePercentileOf(average) >= 0.8) ||
          slow.reference(name, 'RATING') === 4
        );
      });
    },
  },
  {
    type: 'FieldFilter',
    params: { field: 'SCORE', comparison: 'gt', value: 0.5 },
    keeps: (slow, universe, t) =>
      selectBy(
        createValues(universe, (name) => slow.latest('SCORE', name, t)),
        (value) => value > 0.5,
      ),
  },
  {
    type: 'FieldFilter',
    params: { field: 'SCORE', comparison: 'ne', value: 0.5, missing: 'include' },
    keeps: (slow, universe, t) =>
      selectBy(
        createValues(universe, (name) => slow.latest('SCORE', name, t)),
        (value) => value !== 0.5,
        true,
      ),
  },
  {
    type: 'FieldFilter',
    params: { field: 'ACTIVE', comparison: 'eq', value: true },
    keeps: (slow, universe) => universe.filter((name) => slow.reference(name, 'ACTIVE') === true),
  },
  {
    type: 'CategoryFilter',
    params: { field: 'SECTOR', include: ['Energy', 'Technology'] },
    keeps: (slow, universe) =>
      universe.filter((name) => ['Energy', 'Technology'].includes(String(slow.reference(name, 'SECTOR')))),
  },
  {
    type: 'CategoryFilter',
    params: { field: 'SECTOR', exclude: ['Energy'], missing: 'include' },
    keeps: (slow, universe) => universe.filter((name) => slow.reference(name, 'SECTOR') !== 'Energy'),
  },
  {
    type: 'CategoryFilter',
    params: { field: 'RATING', include: ['3', '4'] },
    keeps: (slow, universe) => universe.filter((name) => [3, 4].includes(slow.reference(name, 'RATING') as number)),
  },
  {
    type: 'IncludeList',
    params: { identifiers: ['N0003', 'N0007', 'N0011', 'ABSENT'] },
    keeps: (_, universe) => universe.filter((name) => ['N0003', 'N0007', 'N0011'].includes(name)),
  },
  {
    type: 'ExcludeList',
    params: { identifiers: ['N0003', 'N0007', 'ABSENT'] },
    keeps: (_, universe) => universe.filter((name) => !['N0003', 'N0007'].includes(name)),
  },
  {
    type: 'TopN',
    params: { field: 'SCORE', count: 17 },
    keeps: (slow, universe, t) =>
      rankNames(createValues(universe, (name) => slow.latest('SCORE', name, t))).slice(0, 17),
  },
  {
    type: 'TopN',
    params: { field: 'SCORE', count: 50, ascending: true, missing: 'include' },
    keeps: (slow, universe, t) =>
      rankNames(
        createValues(universe, (name) => slow.latest('SCORE', name, t)),
        { ascending: true, include: true },
      ).slice(0, 50),
  },
  {
    type: 'TopN',
    params: { field: 'MARKET_CAP', count: 3, group_by: 'SECTOR' },
    keeps(slow, universe, t) {
      const caps = createValues(universe, (name) => slow.latest('MARKET_CAP', name, t));
      return computeByGroup(slow, universe, 'SECTOR').flatMap((names) =>
        rankNames(createPart(caps, names)).slice(0, 3),
      );
    },
  },
  {
    type: 'TopN',
    params: { field: { name: 'SCORE', window: 20, lag: 5, aggregate: 'median' }, count: 9 },
    keeps: (slow, universe, t) =>
      rankNames(createValues(universe, (name) => slow.over('SCORE', name, t - 5, 20, computeMedian))).slice(0, 9),
  },
  {
    type: 'BufferedTopN',
    params: { field: 'FREE_FLOAT_MARKET_CAP', count: 12 },
    keeps: (slow, universe, t) =>
      rankNames(createValues(universe, (name) => slow.latest('FREE_FLOAT_MARKET_CAP', name, t))).slice(0, 12),
  },
  {
    type: 'TopFraction',
    params: { field: 'CLOSE', fraction: 0.3, group_by: 'SECTOR', ascending: true },
    keeps(slow, universe, t) {
      const prices = createValues(universe, (name) => slow.latest('CLOSE', name, t));
      return computeByGroup(slow, universe, 'SECTOR').flatMap((names) =>
        rankNames(createPart(prices, names), { ascending: true }).slice(0, Math.ceil(0.3 * names.length)),
      );
    },
  },
  {
    type: 'CumulativeCoverage',
    params: { coverage: 0.7 },
    keeps(slow, universe, t) {
      const caps = createValues(universe, (name) => slow.latest('FREE_FLOAT_MARKET_CAP', name, t));
      const order = rankNames(caps);
      const total = order.reduce((sum, name) => sum + caps.get(name)!, 0);
      let reachedShare = 0;
      return order.filter((name) => {
        const takes = reachedShare < 0.7 * total;
        reachedShare += caps.get(name)!;
        return takes;
      });
    },
  },
  {
    type: 'CumulativeCoverage',
    params: { coverage: 0.6, rank_field: 'SCORE', ascending: true, group_by: 'SECTOR' },
    keeps(slow, universe, t) {
      const caps = createValues(universe, (name) => slow.latest('FREE_FLOAT_MARKET_CAP', name, t));
      const scores = createValues(universe, (name) => slow.latest('SCORE', name, t));
      return computeByGroup(slow, universe, 'SECTOR').flatMap((names) => {
        const order = rankNames(createPart(scores, names), { ascending: true });
        const total = order.reduce((sum, name) => sum + (caps.get(name) ?? 0), 0);
        let reachedShare = 0;
        return order.filter((name) => {
          const takes = reachedShare < 0.6 * total;
          reachedShare += caps.get(name) ?? 0;
          return takes;
        });
      });
    },
  },
  {
    type: 'CumulativeCoverage',
    params: { coverage: 0.6, crossing: 'exclude', group_by: 'SECTOR' },
    keeps(slow, universe, t) {
      const caps = createValues(universe, (name) => slow.latest('FREE_FLOAT_MARKET_CAP', name, t));
      return computeByGroup(slow, universe, 'SECTOR').flatMap((names) => {
        const order = rankNames(createPart(caps, names));
        const total = order.reduce((sum, name) => sum + caps.get(name)!, 0);
        let reachedShare = 0;
        return order.filter((name) => (reachedShare += caps.get(name)!) <= 0.6 * total);
      });
    },
  },
  {
    type: 'BufferedTopN',
    params: { field: 'SCORE', count: 3, group_by: 'SECTOR' },
    keeps(slow, universe, t) {
      const scores = createValues(universe, (name) => slow.latest('SCORE', name, t));
      return computeByGroup(slow, universe, 'SECTOR').flatMap((names) =>
        rankNames(createPart(scores, names)).slice(0, 3),
      );
    },
  },
  {
    type: 'MembershipFilter',
    params: { index_id: 'OTHER', in: false },
    // The index of the filter excludes every third security.
    keeps: (slow, universe) => universe.filter((name) => slow.identifiers.indexOf(name) % 3 !== 0),
  },
  {
    type: 'Quota',
    params: { field: 'SECTOR', quotas: { Energy: 2, Health: 5 }, rank_field: 'CLOSE' },
    keeps(slow, universe, t) {
      const prices = createValues(universe, (name) => slow.latest('CLOSE', name, t));
      const listInSector = (sector: string) => universe.filter((name) => slow.reference(name, 'SECTOR') === sector);
      return [
        ...rankNames(createPart(prices, listInSector('Energy'))).slice(0, 2),
        ...rankNames(createPart(prices, listInSector('Health'))).slice(0, 5),
      ];
    },
  },
];
