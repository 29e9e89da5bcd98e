import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { defineAddress, targetFields, defineTargetKind } from '../target-kind.js';

const url = defineAddress(['https', 'http'], ({ username }) => (username === '' ? undefined : 'must hold no user'));

export const callback = defineTargetKind({
  help: 'A POST request with the file as its body, signed as callbacks of jobs are. The operator allows hosts with `--callback-hosts`.',
  secret: undefined,
  schema: defineObject(() => ({
    type: z.literal('callback'),
    ...targetFields,
    url: url.meta({ description: 'Receiver.', example: 'https://data.acme.example/divisor' }),
  })).meta({ id: 'CallbackTarget' }),
});
