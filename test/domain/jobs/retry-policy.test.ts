import { expect, test } from 'vitest';
import { parseRetryPolicies, RETRY_DEFAULTS, type RetryPolicies } from '#domain/outputs/jobs.js';

test('a policy of one kind precedes that of all kinds, and that precedes the defaults', () => {
  const getPolicy = parseRetryPolicies('losses=50, sweep.crashes=1,sweep.losses=7,backoff-max=5') as RetryPolicies;
  expect(getPolicy('backtest')).toEqual({ ...RETRY_DEFAULTS, losses: 50, 'backoff-max': 5 });
  expect(getPolicy('sweep')).toEqual({ ...RETRY_DEFAULTS, crashes: 1, losses: 7, 'backoff-max': 5 });
  expect((parseRetryPolicies('') as RetryPolicies)('risk')).toEqual({
    crashes: 3,
    losses: 20,
    releases: 1000,
    backoff: 1,
    'backoff-max': 60,
    deadline: 0,
  });
});

test.each([
  ['crashes', 'must be member=value or kind.member=value, with commas: crashes'],
  ['crashes=-1', 'must be member=value or kind.member=value, with commas: crashes=-1'],
  ['cook.crashes=1', 'must name a kind of job'],
  ['attempts=1', 'must name one of crashes, losses, releases, backoff, backoff-max, deadline: attempts=1'],
  ['crashes=0', 'must be 1 to 1000 for crashes: crashes=0'],
  ['deadline=9999999', 'must be 0 to 2592000 for deadline: deadline=9999999'],
])('the text %s is refused with what it must be', (text, clause) => {
  expect(parseRetryPolicies(text)).toContain(clause);
});
