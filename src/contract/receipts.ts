import { z } from 'zod';
import { LIMITS } from '#domain/base/limits.js';
import { defineObject } from '#domain/base/schema.js';
import { defineDocumentRoutes } from './route.js';

const TextToVerify = defineObject(() => ({
  text: z.string().meta({
    description: `Markdown text, at most ${LIMITS.MAX_TEXT_BYTES} bytes and ${LIMITS.MAX_TEXT_NUMBERS} numbers. A footnote after a number cites its source: the address of a result and a JSON pointer.`,
  }),
})).meta({ id: 'TextToVerify' });
type TextToVerify = z.infer<typeof TextToVerify>;

const VerifiedNumberPayload = defineObject(() => ({
  start: z.int().min(0).meta({ description: 'Position of sign and digits in the text, in UTF-16 units.' }),
  end: z.int().min(0).meta({ description: 'Position after the last digit.' }),
  text: z.string().meta({ description: 'Sign and digits as written.' }),
  stated: z.number().nullable().meta({
    description: 'The number in the unit of the source: 18.4 % is 0.184. Null if its separators are ambiguous.',
  }),
  status: z.enum(['proven', 'different', 'unsourced', 'unreadable']).meta({
    description:
      '`proven`: the value of the source, rounded to the digits shown. `different`: `reason` says in what. `unsourced`: no footnote with an address. `unreadable`: the address has no number.',
  }),
  reason: z.string().nullable().meta({
    description:
      'For `different`: `value`, `sign`, `scale`, `subject` (the sentence names another document) or `period` (a date outside the window of the source). Otherwise a sentence, or null if the number is proven.',
  }),
  source: z.string().nullable().meta({
    description: 'Address and pointer. If the text cites an address that is not pinned: the pinned one.',
  }),
  true: z.number().nullable().meta({ description: 'Value of the source; null if it cannot be read.' }),
  rounding: z.string().nullable().meta({
    description: '`exact`, or the number of decimals shown, such as `3 decimals`. Null unless proven.',
  }),
})).meta({ id: 'VerifiedNumber' });

const VerifiedTextPayload = defineObject(() => ({
  numbers: z.array(VerifiedNumberPayload).readonly().meta({ description: 'Numbers in the order of the text.' }),
  proven: z.int().min(0).meta({ description: 'Count of the numbers that their sources prove.' }),
  different: z.int().min(0).meta({ description: 'Count of the numbers that differ from their sources.' }),
  unsourced: z.int().min(0).meta({ description: 'Count of the numbers without a source.' }),
  unreadable: z.int().min(0),
})).meta({ id: 'VerifiedText', description: 'Numbers of a text, compared with their sources.' });

/** Maximum size of the body: a character of a text can take six bytes in JSON. */
const BODY_BYTES_MAX = 6 * LIMITS.MAX_TEXT_BYTES + 1024;

export const receiptRoutes = defineDocumentRoutes('analytics', {
  verifyText: {
    method: 'POST',
    path: '/receipts/verify',
    scope: 'read',
    summary: 'Compares each number of a Markdown text with the result that its footnote cites.',
    description:
      'A footnote contains the address of a result, as in `X-Source`, and a JSON pointer: `divisor:/analytics/CORE-40/overview?run_id=8f2a#/metrics/total_return`. It belongs to the number before it. Units scale a number: %, percent, bp, bps, basis points, thousand, million, billion. Dates, years and numbers inside ids, code, headings and list numbers are not compared. The results are read with the permissions of the key.',
    body: {
      schema: TextToVerify,
      bytesMax: BODY_BYTES_MAX,
      example: { text: 'The index rose by 18.4 %.' },
    },
    success: { status: 200, description: 'The numbers and their status.', schema: VerifiedTextPayload },
  },
});
