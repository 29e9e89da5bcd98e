import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { defineAddress, targetFields, defineTargetKind } from '../target-kind.js';

const url = defineAddress(['https', 'http'], ({ username }) =>
  username === '' ? undefined : 'must not contain a user',
);

export const callback = defineTargetKind({
  help: 'POST request with the file as its body, signed in the same way as callbacks of jobs. The operator allows hosts by `--callback-hosts`.',
  secret: undefined,
  schema: defineObject(() => ({
    type: z.literal('callback'),
    ...targetFields,
    url: url.meta({ description: 'Receiver.', example: 'https://data.acme.example/divisor' }),
  })).meta({ id: 'CallbackTarget' }),
});
