import { expect, test } from 'vitest';
import {
  countBindingConstraints,
  createExcessNote,
  formatBindingBounds,
  formatFirstExcess,
  formatOtherExcesses,
  listUncoveredSecurities,
  removeExceeded,
  type ExceededLimit,
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

test('binding bounds are grouped by constraint of the request, with the number of many members', () => {
  expect(formatBindingBounds(LABELS)).toBe(
    'Position bounds (pos): E at upper, 4 at lower; Active group bounds (sec): Health: Care at lower; Tracking error (near)',
  );
  expect(countBindingConstraints(LABELS)).toBe(3);
  expect(countBindingConstraints(['LongOnly[default]:lower:A'])).toBe(0);
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
  expect(formatFirstExcess([EXCEEDED])).toBe('Tracking error 2.92% exceeds 2.00%');
  expect(formatOtherExcesses([EXCEEDED])).toBeNull();
  const sector = { ...EXCEEDED, type: 'GroupBounds', label: 'GroupBounds[sec]:lower:Energy', id: 'sec' };
  expect(formatOtherExcesses([EXCEEDED, sector])).toBe('Group bounds (sec), Energy 2.92%, limit 2.00%');
});

test('a violated soft bound is not among the bounds that hold a solution back', () => {
  expect(formatBindingBounds(removeExceeded(LABELS, [EXCEEDED]))).toBe(
    'Position bounds (pos): E at upper, 4 at lower; Active group bounds (sec): Health: Care at lower',
  );
  expect(removeExceeded(LABELS, [])).toEqual(LABELS);
});
