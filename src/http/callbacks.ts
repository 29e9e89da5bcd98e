import { refuseWithFindings } from '#domain/refusals/refusal.js';

/** Checks the callback URL of a job. @throws Refusal VALIDATION_FAILED, OVERLOADED */
export type AssertCallback = (url: string) => void;

/** Refuses all callbacks, for an application without them. */
export const refuseCallbacks: AssertCallback = (url) => {
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
