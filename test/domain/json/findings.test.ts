import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type Finding, reportFindings } from '#domain/base/findings.js';
import { refuseWithFindings } from '#domain/base/refusals.js';
import { checkShape } from '#domain/base/schema.js';

const createFindings = (count: number, severity: Finding['severity']): Finding[] =>
  Array.from({ length: count }, (_, i) => ({
    severity,
    code: 'WRONG_TYPE',
    path: `list[${String(i).padStart(6, '0')}]`,
    message: 'wrong',
  }));

describe('a refusal', () => {
  test('lists all of 100 findings, and counts none', () => {
    const { detail, message } = refuseWithFindings('body', createFindings(100, 'error'));
    expect(detail).toEqual({ findings: createFindings(100, 'error') });
    expect(message).toBe('100 errors in the body.');
  });

  test('lists 100 of 74,000 findings, errors first, and counts the others', () => {
    const { detail, message } = refuseWithFindings('body', [
      ...createFindings(900, 'warning'),
      ...createFindings(73_100, 'error'),
    ]);
    expect(detail?.['more']).toBe(73_900);
    expect(detail?.['findings']).toEqual(createFindings(100, 'error'));
    expect(message).toBe('73100 errors in the body.');
    expect(JSON.stringify(detail).length).toBeLessThan(16_384);
  });

  test('has less than 256 kB if its findings repeat texts of megabytes, and names every path', () => {
    const long = '\u4e2d'.repeat(1_000_000);
    const findings = createFindings(100, 'error').map((finding) => ({
      ...finding,
      message: `Unknown field ${long}.`,
      row_id: long,
      path: `${finding.path}.${long}`,
    }));
    const { detail } = refuseWithFindings('body', findings);
    expect(Buffer.byteLength(JSON.stringify(detail))).toBeLessThan(256 * 1024);
    const listed = (detail as { findings: Finding[] }).findings;
    expect(listed.map(({ path }) => path.slice(0, 12))).toEqual(createFindings(100, 'error').map(({ path }) => path));
    expect(listed[0]?.message).toMatch(/^Unknown field \u4e2d+\.\.\.$/);
  });

  test('keeps messages of 600 characters in each of 100 findings', () => {
    const findings = createFindings(100, 'error').map((finding) => ({ ...finding, message: 'm'.repeat(600) }));
    expect(refuseWithFindings('body', findings).detail).toEqual({ findings });
  });

  test('of a report counts what the report left out', () => {
    const report = reportFindings(createFindings(250, 'error'));
    expect(report).toHaveLength(101);
    expect(report.at(-1)).toMatchObject({ severity: 'error', code: 'MORE_FINDINGS', count: 150 });
    expect(reportFindings(report)).toEqual(report);
    const { detail, message } = refuseWithFindings('document', report);
    expect(detail).toEqual({ findings: createFindings(100, 'error'), more: 150 });
    expect(message).toBe('250 errors in the document.');
  });
});

describe('a shape', () => {
  const Names = z.strictObject({ count: z.int() });

  test('suggests a similar name for the first 20 unknown members', () => {
    const value = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`count${i % 10}${'_'.repeat(i)}`, 1]));
    const { findings } = checkShape(Names, { count: 1, ...value });
    expect(findings).toHaveLength(30);
    expect(findings.map(({ message }) => message.includes('Did you mean count?'))).toEqual(
      Array.from({ length: 30 }, (_, i) => i < 20),
    );
  });

  test('with more errors than the parser can pass on is refused with those of its beginning', () => {
    const Tables = z.strictObject({ tables: z.array(z.strictObject({ rows: z.array(z.array(z.number())) })) });
    const { value, findings } = checkShape(Tables, { tables: [{ rows: Array.from({ length: 520_000 }, () => 1) }] });
    expect(value).toBeUndefined();
    expect(findings[0]).toMatchObject({ code: 'WRONG_TYPE', path: 'tables[0].rows[0]' });
    expect(findings.at(-1)).toMatchObject({ code: 'MORE_FINDINGS' });
    expect(refuseWithFindings('body', findings).message).toBe('More than 1000 errors in the body.');
  });
});
