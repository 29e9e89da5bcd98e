import { expect, test } from 'vitest';
import type { ExceededLimit, Finding } from '#clients/typescript/divisor.js';
import {
  countBindingBounds,
  countBindingConstraints,
  createExample,
  createExcessNote,
  createRowLabel,
  formatBindingBounds,
  formatFirstExcess,
  formatMetSoftLimits,
  formatOtherExcesses,
  formatRow,
  formatUncovered,
  formatUncoveredShare,
  listBindingSiblings,
  listLimitedGroups,
  listTightBounds,
  listUncoveredSecurities,
  listWeightBounds,
  removeExceeded,
} from '#console/pages/optimise/bounds.js';

const LABELS = [
  'PositionBounds[pos]:lower:A',
  'PositionBounds[pos]:lower:B',
  'PositionBounds[pos]:lower:C',
  'PositionBounds[pos]:lower:D',
  'PositionBounds[pos]:upper:E',
  'ActiveGroupBounds[sec]:lower:Health: Care',
  'TrackingError[near]:upper',
  'LongOnly[default]:lower:A',
  'FullInvestment[default]:eq',
  'Exclude[uncovered]:eq:F',
];

test('binding bounds are grouped by constraint of the request, with the names of up to six members', () => {
  expect(formatBindingBounds(LABELS)).toBe(
    'Position bounds: E at upper and A, B, C, D at lower; Active group bounds: Health: Care at lower; Tracking error',
  );
  const createBounds = (side: string) => [...'ABCDEFG'].map((name) => `PositionBounds[pos]:${side}:${name}`);
  expect(formatBindingBounds(createBounds('upper'))).toBe('Position bounds: A, B, C and 4 more at upper');
  expect(formatBindingBounds(createBounds('lower'))).toBe('Position bounds: 7 at lower');
  expect(countBindingConstraints(LABELS)).toBe(3);
  expect(countBindingConstraints(['LongOnly[default]:lower:A'])).toBe(0);
  expect(countBindingBounds(LABELS)).toBe(7);
  expect(listBindingSiblings('PositionBounds[pos]:lower:A', LABELS)).toHaveLength(4);
  expect(listBindingSiblings('TrackingError[near]:upper', LABELS)).toEqual(['TrackingError[near]:upper']);
});

test('the id of a constraint is shown only next to another constraint of its type', () => {
  const rows = ['PositionBounds[small]', 'PositionBounds[large]', 'Turnover[trades]'];
  expect(formatRow('PositionBounds[small]:upper:A', rows)).toBe('Position bounds (small), upper, A');
  expect(formatRow('Turnover[trades]:upper', rows)).toBe('Turnover, upper');
  expect(formatRow('Turnover[trades]:upper')).toBe('Turnover (trades), upper');
  expect(formatBindingBounds(['PositionBounds[small]:upper:A'], rows)).toBe('Position bounds (small): A at upper');
});

test('excluded securities have their share of the index, and the largest are named', () => {
  const weights = ['A', 'B', 'C', 'D', 'E'].map((identifier, i) => ({ identifier, weight: (i + 1) / 15 }));
  expect(formatUncovered(weights, new Set(['A', 'D', 'E', 'B']))).toBe(
    '4 of 5 securities (80.00% of the index) have no risk estimate and are excluded, the largest E 33.33%, D 26.67%, B 13.33%.',
  );
  expect(formatUncovered(weights, new Set(['A']))).toBe(
    '1 of 5 securities (6.67% of the index) has no risk estimate and is excluded: A 6.67%.',
  );
  expect(formatUncovered(weights, new Set())).toBeNull();
});

test('securities at a bound on their weight are listed with its side', () => {
  const labels = [...LABELS, 'ActiveBounds[near]:upper:G', 'RelativePositionBounds:lower:H'];
  expect(Object.fromEntries(listWeightBounds(labels))).toEqual({
    A: 'lower',
    B: 'lower',
    C: 'lower',
    D: 'lower',
    E: 'upper',
    G: 'upper',
    H: 'lower',
  });
});

test('the share of the index without a risk estimate is read from its finding', () => {
  const createWarning = (code: Finding['code'], message: string): Finding => ({
    severity: 'warning',
    code,
    message,
    path: '',
  });
  const uncovered = createWarning('NO_WEIGHT_DATA', '7 of 100 securities (11.88% of the index) have no risk estimate.');
  expect(formatUncoveredShare([uncovered])).toBe('11.88% of the index without a risk estimate');
  expect(formatUncoveredShare([createWarning('NO_WEIGHT_DATA', 'A has no price.')])).toBeNull();
  expect(formatUncoveredShare([])).toBeNull();
});

test('soft limits that a solution meets are named, hard and exceeded limits are not', () => {
  const rows = [
    { id: 'cap', type: 'PositionBounds', params: { upper: 0.05, soft: 1 } },
    { id: 'near', type: 'TrackingError', params: { upper: 0.02, soft: 1 } },
    { id: 'sec', type: 'GroupBounds', params: { upper: 0.3 } },
  ];
  expect(formatMetSoftLimits(rows, [EXCEEDED], [])).toBe('Position bounds');
  expect(formatMetSoftLimits(rows.slice(2), [], [])).toBeNull();
});

test('a group is at a limit if its active weight equals one that a bound limits in the solution', () => {
  const labels = ['ActiveGroupBounds[sec]:upper:Energy', 'PositionBounds[pos]:upper:A'];
  const solution = new Map([
    ['Energy', 0.005],
    ['Utilities', 0.001],
  ]);
  const shown = new Map([
    ['Energy', 0.004],
    ['Utilities', 0.005],
  ]);
  expect([...listLimitedGroups(labels, { solution, shown })]).toEqual(['Utilities']);
  expect([...listLimitedGroups(labels, { solution, shown: solution })]).toEqual(['Energy']);
});

test('securities without a risk estimate are those that the service excludes itself', () => {
  expect([...listUncoveredSecurities([...LABELS, 'Exclude[mine]:eq:G'])]).toEqual(['F']);
});

const EXCEEDED: ExceededLimit = {
  label: 'TrackingError[near]:upper',
  id: 'near',
  type: 'TrackingError',
  side: 'upper',
  unit: 'fraction',
  value: 0.0292,
  limit: 0.02,
};

test('a violated soft limit marks its figure, other violated limits are a sentence', () => {
  expect(createExcessNote([EXCEEDED], 'TrackingError')).toEqual({
    kind: 'warning',
    note: 'limit 2.00% exceeded (soft)',
  });
  expect(createExcessNote([EXCEEDED], 'Turnover')).toEqual({});
  expect(formatFirstExcess([EXCEEDED])).toBe('Forecast tracking error 2.92% exceeds 2.00%');
  expect(formatOtherExcesses([EXCEEDED])).toBeNull();
  const sector = { ...EXCEEDED, type: 'GroupBounds', label: 'GroupBounds[sec]:lower:Energy', id: 'sec' };
  expect(formatOtherExcesses([EXCEEDED, sector], [])).toBe('Group bounds, Energy 2.92%, limit 2.00%');
});

test('a violated soft bound is not among the bounds that hold a solution back', () => {
  expect(formatBindingBounds(removeExceeded(LABELS, [EXCEEDED]))).toBe(
    'Position bounds: E at upper and A, B, C, D at lower; Active group bounds: Health: Care at lower',
  );
  expect(removeExceeded(LABELS, [])).toEqual(LABELS);
});

test('a constraint without an id has one name in the bounds, costs and sentences of a run', () => {
  const rows = ['', '', 'tech'].map((id, index) => createRowLabel({ type: 'GroupBounds', id, index }));
  expect(rows.map((row) => formatRow(row, rows))).toEqual([
    'Group bounds (0)',
    'Group bounds (1)',
    'Group bounds (tech)',
  ]);
  expect(formatBindingBounds(['GroupBounds[1]:upper:Energy'], rows)).toBe('Group bounds (1): Energy at upper');
  expect(formatRow('PositionBounds[2]', [createRowLabel({ type: 'PositionBounds', id: '', index: 2 })])).toBe(
    'Position bounds',
  );
});

test('the initial bound of an optimisation leaves the weights of few securities a choice', () => {
  const readUpper = (count: number | null) => createExample(count).rows.map(({ params }) => params);
  expect(readUpper(20)).toEqual([{ upper: 0.08, soft: 1 }]);
  expect(createExample(20).text).toBe('near the index, soft limit of 8% per security');
  for (const count of [30, 500, null]) expect(readUpper(count)).toEqual([{ upper: 0.05, soft: 1 }]);
  expect(readUpper(1)).toEqual([{ upper: 1, soft: 1 }]);
});

test('a bound that fixes every weight of a full investment has a warning', () => {
  const createBound = (params: object) => ({ type: 'PositionBounds', params: { ...params } });
  const listMessages = (...rows: readonly object[]) =>
    listTightBounds(
      rows.map((row) => ({ ...row })),
      20,
    ).map(({ path, message }) => [path, message]);
  expect(listMessages({ type: 'LongOnly', params: {} }, createBound({ upper: 0.05 }))).toEqual([
    ['constraints[1].params.upper', '20 securities × 5.00% = 100.00%: every weight is fixed at 5.00%.'],
  ]);
  expect(listMessages(createBound({ upper: 0.04, soft: 1 }))).toEqual([
    ['constraints[0].params.upper', '20 securities × 4.00% = 80.00%: weights within this bound do not add up to 100%.'],
  ]);
  expect(listMessages(createBound({ upper: 0.06 }))).toEqual([]);
  expect(listMessages(createBound({ upper: 0.05, identifiers: ['A'] }))).toEqual([]);
  expect(listMessages(createBound({ upper: 0.05 }), { type: 'WeightSum', params: {} })).toEqual([]);
  expect(listTightBounds([createBound({ upper: 0.05 })], null)).toEqual([]);
});
