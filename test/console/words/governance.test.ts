import { expect, test } from 'vitest';
import {
  isIncomplete,
  listMissingParts,
  listMissingKinds,
  listOverdue,
  listUncoveredIndices,
} from '#console/pages/governance/open-work.js';

test('kinds without a procedure are listed in their order', () => {
  const kinds = listMissingKinds([]);
  expect(kinds[0]).toBe('cessation');
  const missingKinds = listMissingKinds([{ kind: 'errors' }, { kind: 'cessation' }, { kind: 'errors' }]);
  expect(missingKinds).toEqual(kinds.filter((kind) => kind !== 'cessation' && kind !== 'errors'));
  expect(listMissingKinds(kinds.map((kind) => ({ kind })))).toEqual([]);
});

test('an index is covered by a procedure that names it or that applies to every index', () => {
  const procedures = [
    { kind: 'errors', indices: ['CORE'] },
    { kind: 'errors', indices: ['WIDE'] },
    { kind: 'inputs', indices: null },
  ] as const;
  const ids = ['CORE', 'NARROW', 'WIDE'];
  expect(listUncoveredIndices('errors', procedures, ids)).toEqual(['NARROW']);
  expect(listUncoveredIndices('inputs', procedures, ids)).toEqual([]);
  expect(listUncoveredIndices('cessation', procedures, ids)).toEqual(ids);
});

test('an enabled client without an entitlement or a target is incomplete', () => {
  const client = { enabled: true, entitlements: [{}], targets: [{}] };
  expect(isIncomplete(client)).toBe(false);
  expect(isIncomplete({ ...client, targets: [] })).toBe(true);
  expect(isIncomplete({ ...client, entitlements: [] })).toBe(true);
  expect(isIncomplete({ ...client, enabled: false, targets: [] })).toBe(false);
});

test('a statement lists an unpublished version and the number of its empty sections', () => {
  expect(listMissingParts({ version: 9, published_version: 7, to_complete: ['purpose'] })).toEqual([
    'version 9 not published',
    '1 section to complete',
  ]);
  expect(listMissingParts({ version: 9, published_version: 9, to_complete: [] })).toEqual([]);
  expect(listMissingParts({ version: 9, published_version: null, to_complete: [] })).toEqual([]); // nothing is published
});

test('a procedure is overdue after its review date', () => {
  const procedures = [{ review_by: '2026-01-30' }, { review_by: '2026-01-31' }, { review_by: null }];
  expect(listOverdue(procedures, '2026-01-31')).toEqual([{ review_by: '2026-01-30' }]);
});
