import { describe, expect, test } from 'vitest';
import { selectStats } from '#domain/outputs/report-templates.js';
import {
  countFigureColumns,
  createCoverLines,
  formatBlockSummary,
  formatBlockTitle,
  listFigures,
} from '#console/pages/reports/report-words.js';

const RENDER = {
  render_id: '20261127T061750-6d7d8483',
  template_id: 'MONTHLY',
  name: 'Monthly report',
  index_id: null,
  blocks: 4,
  bytes: 36_100,
  rendered_at: '2026-11-27T06:17:50.000Z',
  pages: 1,
};

describe('a report in a list', () => {
  test('states its index, its template and the date of its data', () => {
    const report = { ...RENDER, index_ids: ['CORE'], as_of: '2026-11-24' };
    expect(createCoverLines(report)).toEqual({
      title: 'CORE, MONTHLY',
      lines: ['Monthly report', 'Data to 2026-11-24'],
    });
  });

  test('states only its template and its name if its index and its date are unknown', () => {
    expect(createCoverLines(RENDER)).toEqual({ title: 'MONTHLY', lines: ['Monthly report'] });
  });
});

describe('a grid of figures', () => {
  test('lists its figures, then its own values', () => {
    const block = { kind: 'stat_grid', stats: ['total_return', 'sharpe_ratio'], values: { Manager: 'Desk' } };
    expect(listFigures(block)).toEqual(['Total return', 'Sharpe ratio', 'Manager']);
    expect(formatBlockSummary(block, false)).toBe('Total return, Sharpe ratio, Manager');
    expect(countFigureColumns(block)).toBe(3);
  });

  test('lists the figures that the renderer prints by default', () => {
    const printed = selectStats({ stats: null, values: null });
    expect(listFigures({ stats: [...printed] })).toEqual(listFigures({ stats: null, values: null }));
    expect(countFigureColumns({ kind: 'stat_grid', columns: 6 })).toBe(6);
    expect(countFigureColumns({ kind: 'stat_grid' })).toBe(4);
  });

  test('has no default figure if it has values', () => {
    expect(listFigures({ stats: null, values: { Manager: 'Desk' } })).toEqual(['Manager']);
  });
});

test('a text block is summarised by its first line without markup', () => {
  const block = { kind: 'text', text: '# Reviewed **quarterly**.\nSecond line.' };
  expect(formatBlockSummary(block, false)).toBe('Reviewed quarterly.');
  expect(formatBlockTitle(block)).toBe('Reviewed quarterly.');
  expect(formatBlockTitle({ ...block, title: 'Definitions' })).toBe('Definitions');
});

test('a header is summarised by its subtitle', () => {
  expect(formatBlockSummary({ kind: 'header', subtitle: 'Monthly report' }, false)).toBe('Monthly report');
});
