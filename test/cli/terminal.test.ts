import { describe, expect, test } from 'vitest';
import { alignRight, formatDuration, formatTable, type Screen, startStep } from '#cli/terminal.js';

/** Creates a simulated terminal and a clock. The terminal keeps the visible part of its last line. */
function createTerminal(columns = 200) {
  let line = '';
  let now = 0;
  const screen: Screen = {
    isTerminal: true,
    columns,
    write(text) {
      line = text.split('\r\u001b[2K').at(-1)!;
    },
  };
  return { screen, shown: () => line.trim(), at: (seconds: number) => void (now = seconds * 1000), now: () => now };
}

describe('a step on a terminal', () => {
  test('shows its progress, its rate since progress began, and the remaining time at that rate', () => {
    const { screen, shown, at, now } = createTerminal();
    const { progress, done } = startStep(screen, 'sweep', now);
    at(30);
    progress(0, 'waiting for a worker');
    expect(shown()).toMatch(/^sweep +\[ {20}\] {4}0% {2}waiting for a worker$/);
    at(100);
    progress(0.1, 'running');
    at(110);
    progress(0.3, 'running'); // 2% a second since the first progress report
    expect(shown()).toMatch(/^sweep +\[={6} {14}\] {3}30% {2}2\.0%\/s, 35 s left {2}running$/);
    progress(1, 'Done.');
    expect(shown()).toMatch(/100% {2}Done\.$/);
    at(145);
    done('written');
    expect(shown()).toMatch(/^sweep +145\.0 s {2}written$/);
  });

  test('shows the elapsed time of an answer without progress', () => {
    const { screen, shown, at, now } = createTerminal();
    const { waited } = startStep(screen, 'import', now);
    at(12);
    waited();
    expect(shown()).toMatch(/^import +12 s$/);
  });

  test('never shows 100% before the end, nor a rate before progress', () => {
    const { screen, shown, now } = createTerminal();
    const { progress } = startStep(screen, 'sweep', now);
    progress(0.999, 'nearly');
    expect(shown()).toMatch(/99% {2}nearly$/);
  });

  test('stays on one line of a narrow terminal', () => {
    const { screen, shown, now } = createTerminal(60);
    startStep(screen, 'sweep', now).progress(0.5, 'a message that is much longer than the rest of the line');
    expect(shown().length).toBeLessThan(60);
  });
});

test('a step on a pipe is reported once, when it is done', () => {
  const writtenTexts: string[] = [];
  const { progress, done } = startStep(
    { isTerminal: false, columns: 80, write: (text) => void writtenTexts.push(text) },
    'Backtest it',
    () => 0,
  );
  progress(0.5, 'running');
  done('total return 3.00%');
  expect(writtenTexts).toEqual([expect.stringMatching(/^ {2}Backtest it +0\.0 s {2}total return 3\.00%\n$/)]);
});

test.each([
  [0.2, '1 s'],
  [59, '59 s'],
  [60, '1 min 00 s'],
  [125, '2 min 05 s'],
  [3600, '1 h 00 min'],
  [4860, '1 h 21 min'],
])('%d seconds are %s', (seconds, text) => expect(formatDuration(seconds)).toBe(text));

test('a table has columns as wide as their widest cell, numbers aligned right, and no trailing blanks', () => {
  expect(
    formatTable(
      [
        ['name', alignRight('value')],
        ['a', alignRight('1,234')],
        ['longer', alignRight('5')],
      ],
      0,
    ),
  ).toBe('name    value\na       1,234\nlonger      5\n');
});
