import { refuseWithFindings } from '#domain/refusals/refusal.js';

/** Checks an address that a client wants word of its jobs at. @throws Refusal VALIDATION_FAILED, OVERLOADED */
export type AssertCallback = (url: string) => void;

/** For an application without callbacks. */
export const noCallbacks: AssertCallback = (url) => {
  throw refuseWithFindings('query', [
    {
      severity: 'error',
      code: 'CALLBACK_NOT_ALLOWED',
      path: 'callback',
      message: 'Callbacks are not configured on this service (--callback-hosts, DIVISOR_CALLBACK_SECRET).',
      value: url,
    },
  ]);
};
